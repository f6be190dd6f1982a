package task

import (
	"sync/atomic"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/tasks"
	"mcpd/supervisor/otp"
)

// call sends a request to the server, and asks for a connection first if there is none.
func (t *Task) call(e tasks.Effect) {
	if !t.conn.Alive() {
		t.waiting = append(t.waiting, e)
		t.dial()
		return
	}
	t.submit(e)
}

// makeRoom drops tasks whose outcome was fetched until there is room for n bytes, or no such task
// is left.
func (t *Task) makeRoom(n int) {
	for !t.o.Kept.Fits(n) && t.o.Index.Spare() {
	}
}

func (t *Task) submit(e tasks.Effect) {
	t.makeRoom(len(e.Params)) // the request counts in addition to the task
	x := &request.Exchange{
		ID: t.o.NextID.Add(1), Session: t.a.Caller.Session, Principal: t.a.Caller.Principal,
		Uncounted: true, Owner: t.p.Self(), Client: &t.a.Caller.Info, Version: t.a.Task.Server,
		Downstream: jsonrpc.IntID(e.Number),
		Server:     t.a.Server, Upstream: t.conn, Method: e.Method, Params: e.Params,
		NeedsConnection: true,
		Arrived:         t.p.Now(), Timeout: t.o.Timeout(), MaxTimeout: t.o.Timeout(),
		Sink: &sink{to: t.p.Self(), number: e.Number},
	}
	// these last as long as the task, at most
	if e.Method == "tools/call" || e.Method == "tasks/result" {
		x.Timeout = e.At.Sub(x.Arrived) + grace
		x.MaxTimeout = x.Timeout
	}
	t.sent[e.Number] = x.ID
	if err := t.p.Send(t.o.Requests, x.Submit()); err != nil {
		x.Settle(request.Outcome{Err: protocol.Overloaded("tenant", time.Second)})
	}
}

// grace is how much longer the request manager waits than the task lasts. The end of the task then
// ends its requests at the server.
const grace = time.Second

// recall cancels a request to the server.
func (t *Task) recall(number uint64) {
	exchange, ok := t.sent[number]
	delete(t.sent, number)
	if ok {
		_ = t.p.Send(t.o.Requests, request.NewCancel(t.o.Requests, exchange))
		return
	}
	for i, e := range t.waiting {
		if e.Number == number {
			t.waiting = append(t.waiting[:i:i], t.waiting[i+1:]...)
			return
		}
	}
}

func (t *Task) dial() {
	if t.dialling {
		return
	}
	t.dialling = true
	otp.CallAsync(t.p, t.o.Catalog, t.caller(), func(ref otp.Ref, err error) any {
		return connected{ref, err}
	})
}

// connected sends the requests that waited for a connection, or fails them.
func (t *Task) connected(m connected) error {
	t.dialling = false
	waiting := t.waiting
	t.waiting = nil
	t.conn = m.ref
	for _, e := range waiting {
		if m.err == nil {
			t.submit(e)
			continue
		}
		if err := t.step(tasks.Event{Op: tasks.Answered, Number: e.Number, Err: m.err}); err != nil {
			return err
		}
	}
	return nil
}

// answer answers a question of the server.
func (t *Task) answer(id jsonrpc.ID, a *client.Answer) {
	if q := t.asked[id]; q != nil {
		delete(t.asked, id)
		a.SendTo(t.p, q.From, t.o.Kept)
	}
}

// sink takes the outcome of a request to the server. Messages before the outcome are dropped: tasks
// have no progress here.
type sink struct {
	to     otp.Ref
	number uint64
	done   atomic.Bool
}

// Send drops a notification.
func (s *sink) Send(jsonrpc.Message) error { return nil }

// Finish tells the task the outcome.
func (s *sink) Finish(m jsonrpc.Message) bool {
	if !s.done.CompareAndSwap(false, true) {
		return false
	}
	_ = s.to.Send(&finished{number: s.number, m: m, to: s.to})
	return true
}
