package task

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/actors/storage"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/protocol/elicitation"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/tasks"
	"mcpd/store"
	"mcpd/supervisor/otp"
)

// estate is what outlives the actor of a task: all that it knows.
type estate struct {
	o     *Options
	a     Args
	entry *Entry

	task    *tasks.Task
	conn    otp.Ref
	waiting []tasks.Effect                  // requests for which there is no connection yet
	sent    map[uint64]uint64               // requests at the server: our number of each, its exchange
	puts    map[jsonrpc.ID]put              // what the client is asked
	asked   map[jsonrpc.ID]*client.Question // by a legacy server
	// elicitations are the pages that clients were asked to visit, and have not heard the end of.
	elicitations elicitation.Table[request.Owner]
	watchers     map[string]request.Owner // by session
	promised     *tasks.Effect            // the answer to the call, which waits for the task to be written down

	mu   sync.Mutex                   // guards open; an actor that hangs is abandoned while it runs
	open map[uint64]*request.Exchange // the client's requests without outcome
}

// put is a question that is put to the client.
type put struct {
	number uint64
	on     *request.Exchange
}

func newEstate(o *Options, a Args) *estate {
	a.Caller.Session, a.Caller.Holds = "task-"+a.Row, true
	return &estate{
		o: o, a: a, entry: &Entry{Principal: a.Caller.Principal, Server: a.Server, Dialect: a.Task.Down},
		sent: map[uint64]uint64{}, puts: map[jsonrpc.ID]put{}, asked: map[jsonrpc.ID]*client.Question{}, watchers: map[string]request.Owner{},
		open: map[uint64]*request.Exchange{},
	}
}

// goOn takes the task up after a crash, where that has left it.
func (t *Task) goOn() error {
	known := tasks.Known{Calls: slices.Sorted(maps.Keys(t.sent)), Asked: slices.SortedFunc(maps.Keys(t.asked), jsonrpc.ID.Compare)}
	for _, c := range t.waiting {
		known.Calls = append(known.Calls, c.Number)
	}
	for _, q := range order.By(t.puts, jsonrpc.ID.Compare) {
		known.Puts = append(known.Puts, q.number)
	}
	for id, x := range order.Of(t.open) {
		if x.Ended() { // its withdrawal may be what crashed the last incarnation
			t.take(id)
		} else if t.promised == nil || t.promised.Request != id {
			known.Requests = append(known.Requests, id)
		}
	}
	if t.promised != nil {
		t.promise(*t.promised)
	}
	t.entry.show(t.task)
	if err := t.perform(t.task.Recover(t.p.Now(), known)); err != nil {
		return t.p.Post(Drop{})
	}
	if !t.task.Status().Final() { // its connection has to know that it is there
		t.dial()
	}
	return nil
}

func (e *estate) at(id uint64) *request.Exchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open[id]
}

func (e *estate) take(id uint64) *request.Exchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.open[id]
	delete(e.open, id)
	return x
}

// Abandon settles what an actor that is no more has left: its place, the client's requests, and what is written down and under way, if it was
// given up.
func (e *estate) Abandon(reason error) {
	e.o.Index.remove(e.entry)
	e.mu.Lock()
	open := maps.Clone(e.open)
	clear(e.open)
	e.mu.Unlock()
	for _, x := range order.Of(open) {
		if x != nil && x.Sink != nil {
			complete(x, tasks.Effect{Err: protocol.InternalError(reason)})
		}
	}
	if !errors.Is(reason, otp.ErrShutdown) || errors.Is(reason, otp.ErrIntensity) {
		_ = e.o.Requests.Send(request.NewCancelOwner(e.o.Requests, e.a.Caller.Session))
		e.unwrite()
	}
}

// unwrite takes back what is written down.
func (e *estate) unwrite() {
	if e.lasts() {
		_ = e.o.Storage.Send(&storage.Keep{Tenant: e.o.Tenant, Change: store.Change{Bucket: store.Tasks(e.o.Tenant), Key: e.a.Row}})
	}
}
