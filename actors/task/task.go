// Package task holds the actor of one task that the host keeps for a client: a task of 2025-11-25,
// one of the 2026-07-28 extension, or one on behalf of a client that knows neither. The actor
// follows the server's task over the principal's shared connection, which lasts as long as the
// task. Package protocol/tasks makes the decisions; this package executes them.
package task

import (
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/actors/storage"
	"mcpd/gateway/quota"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/tasks"
	"mcpd/supervisor/otp"
)

// Task is the behaviour of tenants/<t>/task_sup/<row>/task.
type Task struct {
	otp.Base
	p        *otp.Process
	timer    otp.Timer
	dialling bool
	*carriedState
}

// New makes the actor of a task.
func New(o *Options, a Args) *Task { return &Task{carriedState: newCarriedState(o, a)} }

// Messages that the task sends to itself.
type (
	connected struct {
		ref otp.Ref
		err error
	}
	expired struct{}
	replied struct {
		id  jsonrpc.ID
		err error
	}
)

// Init reserves the memory and the place in the index of a new task. It fails if the tenant has no
// room for it, or if the principal or the tenant has too many tasks and none of them can be
// dropped. After a crash it continues the task. A task that lost its carried state in a crash has
// failed.
func (t *Task) Init(p *otp.Process) error {
	t.p, t.a.Caller.Ref = p, p.Self()
	if e, ok := p.CarriedState().(*carriedState); ok {
		t.carriedState = e
		return t.goOn()
	}
	switch {
	case p.Incarnation() > 1:
		t.task = tasks.FailedByCrash(p.Now(), t.a.Task)
	case t.a.loaded != nil:
		t.task = t.a.loaded
	default:
		t.task = tasks.New(p.Now(), t.a.Task)
	}
	t.entry.Made, t.entry.actor = t.task.Created(), p.Self()
	if t.a.loaded == nil {
		t.makeRoom(t.task.Bytes())
	}
	reservation, full := t.o.Kept.Reserve(quota.Tasks, t.task.Bytes())
	switch {
	case full != nil && t.a.loaded == nil:
		return full.ClientError()
	case full != nil: // it exists already
		reservation = t.o.Kept.Count(quota.Tasks, t.task.Bytes())
	}
	t.entry.reservation = reservation
	if err := t.o.Index.add(t.entry); err != nil {
		reservation.Release()
		return err
	}
	p.SetCarriedState(t.carriedState)
	switch {
	case p.Incarnation() > 1:
		return t.goOn()
	case t.a.loaded != nil:
		t.entry.show(t.task)
		return t.step(tasks.Event{Op: tasks.Resume, ServerAlive: t.a.lives})
	}
	return nil
}

// Receive handles one message.
func (t *Task) Receive(_ *otp.Process, msg any) error {
	switch m := msg.(type) {
	case *request.Forward:
		return t.request(m.Exchange)
	case *request.Withdraw:
		if t.take(m.ID) != nil {
			return t.step(tasks.Event{Op: tasks.ClientCancel, Request: m.ID})
		}
	case *client.Answer:
		return t.replied(m)
	case *client.Question:
		t.asked[m.ID] = m
		return t.step(tasks.Event{Op: tasks.ServerAsk, ID: m.ID, Method: m.Method, Params: m.Params})
	case *client.ElicitationCompleted:
		t.completed(m)
	case *client.TaskStatus:
		return t.step(tasks.Event{Op: tasks.Notify, Params: m.Params})
	case *client.Withdrawn:
		delete(t.asked, m.Question)
		return t.step(tasks.Event{Op: tasks.Withdraw, ID: m.Question})
	case *finished:
		return t.finished(m)
	case connected:
		return t.connected(m)
	case replied:
		if q, ok := t.puts[m.id]; ok {
			delete(t.puts, m.id)
			return t.step(tasks.Event{Op: tasks.Reply, Number: q.number, Err: m.err})
		}
	case Watch:
		t.watch(m)
	case written:
		t.written()
	case Drop:
		return otp.Normal
	case expired:
		return t.step(tasks.Event{Op: tasks.Expire})
	}
	return nil
}

// request handles a request of the client: the call that becomes a task, or a request about the
// task.
func (t *Task) request(x *request.Exchange) error {
	// From here on the call may be executed. If Write fails, its client was told that it was not
	// executed.
	if x.Method == "tools/call" && !x.Write() {
		return otp.Normal
	}
	t.mu.Lock()
	t.open[x.ID] = x
	t.mu.Unlock()
	if x.Method == "tools/call" {
		return t.step(tasks.Event{Op: tasks.Start, Request: x.ID})
	}
	return t.step(tasks.Event{Op: tasks.Ask, Request: x.ID, Method: x.Method, Params: x.Params})
}

// replied handles the answer of the client's session to a question.
func (t *Task) replied(m *client.Answer) error {
	q, ok := t.puts[m.Question]
	if !ok {
		return nil
	}
	delete(t.puts, m.Question)
	in := tasks.Event{Op: tasks.Reply, Number: q.number, Result: m.Result}
	if m.Err != nil {
		in.Err = m.Err
	}
	return t.step(in)
}

// finished handles the outcome of a request to the server. The outcome of a cancelled request is
// ignored.
func (t *Task) finished(m *finished) error {
	if _, ok := t.sent[m.number]; !ok {
		return nil
	}
	delete(t.sent, m.number)
	if m.missed != nil {
		return t.step(tasks.Event{Op: tasks.Lost, Number: m.number, Err: m.missed})
	}
	in := tasks.Event{Op: tasks.Answered, Number: m.number, Result: m.m.Result}
	if m.m.Error != nil {
		in.Err = m.m.Error
	} else if full := t.o.Index.room(t.o.Kept, len(in.Result)); full != nil {
		err := full.ClientError()
		err.Message = "the server has answered, and there was no room to keep its result: " + err.Message
		in.Result, in.Err = nil, err.WithoutAnswer(t.a.Server, true)
	}
	return t.step(in)
}

// step passes an event to the state machine and performs the effects.
func (t *Task) step(in tasks.Event) error { return t.perform(t.task.Step(t.p.Now(), in)) }

func (t *Task) perform(effects []tasks.Effect) error {
	for _, e := range effects {
		switch e.Do {
		case tasks.Call:
			t.call(e)
		case tasks.Recall:
			t.recall(e.Number)
		case tasks.Answer:
			t.answer(e.ID, &client.Answer{Question: e.ID, Result: e.Result})
		case tasks.Reject:
			t.answer(e.ID, &client.Answer{Question: e.ID, Err: protocol.Translate(e.Err, t.a.Task.Server)})
		case tasks.Deliver:
			t.deliver(e)
		case tasks.Put:
			t.put(e)
		case tasks.Retract:
			t.retract(e.Number)
		case tasks.Tell:
			t.tell(e.Params)
		case tasks.Release:
			_ = t.p.Send(t.conn, client.Detach{Ref: t.p.Self()})
		case tasks.Arm:
			t.timer.Stop()
			t.timer = t.p.After(e.At.Sub(t.p.Now()), expired{})
		case tasks.Forget:
			t.written()
			return otp.Normal
		}
	}
	t.entry.reservation.Resize(t.task.Bytes())
	if t.lasts() && t.task.Unsaved() {
		_ = t.p.Send(t.o.Storage, &storage.Keep{Tenant: t.o.Tenant, Change: t.change()})
	}
	return nil
}

// deliver answers a request of the client. From the first response on, list requests include the
// task.
func (t *Task) deliver(e tasks.Effect) {
	t.entry.show(t.task)
	if x := t.at(e.Request); x != nil && x.Method == "tools/call" && t.lasts() && t.task.Unsaved() {
		t.promise(e)
		return
	}
	x := t.take(e.Request)
	if x == nil {
		return
	}
	if tells := x.Method == "tasks/result" || x.Method == "tasks/cancel" ||
		x.Method == "tasks/get" && t.a.Task.ClientDialect == tasks.Extension; tells &&
		t.task.Status().Final() {
		t.entry.stage.Store(delivered)
	}
	t.recordPages(x, e.Err)
	complete(x, e)
}

func complete(x *request.Exchange, e tasks.Effect) {
	o := request.Outcome{Result: e.Result, Err: e.Err}
	// A task may end before its call is answered. The error then says whether the call may have been
	// executed, as after the time-out of the call.
	if late, ok := errors.AsType[*protocol.Error](e.Err); ok &&
		late.Condition == protocol.ConditionTimeout && x.Method == "tools/call" {
		o.Err = late.WithoutAnswer(x.Server, x.BeginEnd()).MarkRetryable(x.Method)
	}
	x.Settle(o)
}

// put sends the client a question on the stream of one of its requests.
func (t *Task) put(e tasks.Effect) {
	x := t.at(e.Request)
	if x == nil {
		return
	}
	id := jsonrpc.StringID("task-" + t.a.Row + "-" + strconv.FormatUint(e.Number, 10))
	t.puts[id] = put{e.Number, x}
	if page, ok := mrtr.ElicitationID(e.Method, e.Params); ok {
		t.elicitations.Add(page, x.Session, x.Owner)
	}
	q := &client.Question{
		From: t.p.Self(), Server: t.a.Server, ID: id, Method: e.Method, Params: e.Params, Exchange: x,
	}
	if err := t.p.Send(x.Owner, q); err != nil {
		// It is sent as a message, because a step must not start another step, and because a crash does
		// not lose a message.
		_ = t.p.Send(t.p.Self(), replied{id, err})
	}
}

func (t *Task) retract(number uint64) {
	for id, q := range sortedmap.SortedBy(t.puts, jsonrpc.ID.Compare) {
		if q.number == number {
			delete(t.puts, id)
			_ = t.p.Send(q.on.Owner, &client.Withdrawn{From: t.p.Self(), Question: id, Call: q.on.ID})
		}
	}
}

// tell sends the state of the task to its followers, in the server's words if there are any.
func (t *Task) tell(words jsontext.Value) {
	t.entry.show(t.task)
	if t.a.Task.ClientDialect == tasks.Core {
		if len(words) == 0 {
			words = t.task.Object()
		}
		_ = t.p.Send(t.a.Owner, &Changed{ID: t.a.Task.ID, Params: words})
	}
	for session, by := range sortedmap.Sorted(t.watchers) {
		if t.p.Send(by, &Changed{ID: t.a.Task.ID, Params: t.task.Detail()}) != nil {
			delete(t.watchers, session)
		}
	}
}

func (t *Task) watch(m Watch) {
	t.watchers[m.Session] = m.By
	if t.task.Status().Final() {
		_ = t.p.Send(m.By, &Changed{ID: t.a.Task.ID, Params: t.task.Detail()})
	}
}

// caller describes the task for the catalogue.
func (t *Task) caller() catalog.ConnectRequest {
	return catalog.ConnectRequest{Caller: t.a.Caller, Server: t.a.Server, Shared: true}
}
