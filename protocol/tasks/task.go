package tasks

import (
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// Options of a task.
type Options struct {
	ID             string // by which the client knows it
	Name           string // of the server, as the client is told it
	Down, Up       Dialect
	Client, Server protocol.Version // what is spoken on either side
	Params         jsontext.Value   // of the call, as the server is to have it, without what belongs to tasks
	TTL            time.Duration
	Cancels        bool // the server takes tasks/cancel
	// Rewrite turns a result into what this client sees of names and URIs. Nil keeps it as it is.
	Rewrite func(jsontext.Value) jsontext.Value
}

// Task is one task. It is made by New; its methods are for one goroutine at a time.
type Task struct {
	o       Options
	now     time.Time // of the step
	effects []Effect

	status           Status
	message          string
	created, updated time.Time
	ttl, poll        time.Duration
	result           jsontext.Value // Completed; Failed, where the tool says so itself
	err              error          // Failed
	creator          uint64         // the client's call, while it has no answer; 0 then
	waiters          []uint64       // its requests that wait for the end, oldest first

	own     jsontext.Value // the server's id of it, a JSON string; empty before there is one
	theirs  theirs         // what a server of the core says of it, for a client of the core
	numbers uint64         // of calls and questions so far
	calling uint64         // tools/call at the server; 0 for none, as the others
	polling uint64         // tasks/get
	getting uint64         // tasks/result
	told    []uint64       // what nobody waits for
	misses  int
	steps   int

	inputs []input
	seen   map[string]bool // the server's keys that were taken
	kinds  [4]int          // so that keys differ
	state  jsontext.Value  // of the server's round of questions, before it makes a task
	round  []reply         // what was answered of it

	due, armed time.Time // the next poll; what the timer was last set to
	forgotten  bool
	unsaved    bool // it is not as it was saved
}

// New is a task whose call has not begun.
func New(now time.Time, o Options) *Task {
	return &Task{o: o, status: Working, created: now, updated: now, ttl: min(o.TTL, MaxTTL), poll: DefaultPoll, seen: map[string]bool{}, unsaved: true}
}

// Options are what the task was made from.
func (t *Task) Options() Options { return t.o }

// Kept is how many bytes the task keeps: its call, its questions and its result.
func (t *Task) Kept() int {
	n := len(t.o.Params) + len(t.result) + len(t.state) + len(t.theirs.meta)
	for i := range t.inputs {
		n += len(t.inputs[i].params)
	}
	return n
}

// Made is when the task began.
func (t *Task) Made() time.Time { return t.created }

// Ends is when the task is forgotten, whatever has become of it.
func (t *Task) Ends() time.Time { return t.created.Add(t.ttl) }

// Step takes an event and returns what to do, in order. The effects are valid until the next call.
func (t *Task) Step(now time.Time, in Event) []Effect {
	clear(t.effects)
	t.effects, t.now = t.effects[:0], now
	if in.Op == Expire {
		t.armed = time.Time{}
	}
	switch t.expire(); {
	case t.forgotten && in.Op == Ask:
		t.refuse(in.Request, protocol.StateInvalid("taskId"))
	case t.forgotten:
	case in.Op == Start:
		t.start(in.Request)
	case in.Op == Ask:
		t.ask(in)
	case in.Op == Leave:
		t.leave(in.Request)
	case in.Op == Answered:
		t.answered(in)
	case in.Op == Inquire:
		t.inquire(in)
	case in.Op == Withdraw:
		t.drop(func(i input) bool { return i.id == in.ID }, false)
	case in.Op == Reply:
		t.reply(in)
	case in.Op == Notify:
		t.notified(in.Params)
	case in.Op == Miss:
		t.missed(in)
	case in.Op == Resume:
		t.resume(in.Lives)
	}
	t.arm()
	return t.effects
}

func (t *Task) do(e Effect) { t.effects = append(t.effects, e) }

func (t *Task) refuse(request uint64, err error) {
	t.do(Effect{Do: Deliver, Request: request, Err: err})
}

// start sends the call to the server. Where the server decides whether it makes a task, and the client is promised one, nobody waits for
// that.
func (t *Task) start(request uint64) {
	params := t.o.Params
	switch {
	case t.o.Down == None:
		t.waiters = append(t.waiters, request)
	case t.o.Down == Core && t.o.Up == Extension:
		t.do(Effect{Do: Deliver, Request: request, Result: t.creation()})
	default:
		t.creator = request
	}
	if _, asked := splice.Get(params, "task"); t.o.Up == Core && !asked {
		params, _ = splice.Set(params, millis(t.ttl), "task", "ttl")
	}
	t.calling = t.call("tools/call", params)
}

// call sends the server a request.
func (t *Task) call(method string, params jsontext.Value) uint64 {
	t.numbers++
	t.do(Effect{Do: Call, Number: t.numbers, Method: method, Params: params, At: t.Ends()})
	return t.numbers
}

// about is the params of a request about the task.
func (t *Task) about() jsontext.Value {
	params, _ := splice.Set(nil, t.own, "taskId")
	return params
}

// expire ends what is over and polls what is due.
func (t *Task) expire() {
	switch {
	case t.forgotten:
	case !t.now.Before(t.Ends()):
		t.stop()
		t.finish(nil, &protocol.Error{Condition: protocol.ConditionTimeout, Message: "the task was not done within its ttl"})
		t.forget()
	case !t.due.IsZero() && !t.now.Before(t.due):
		t.due = time.Time{}
		t.polling = t.call("tasks/get", t.about())
	}
}

func (t *Task) forget() {
	if !t.forgotten {
		t.forgotten = true
		t.do(Effect{Do: Forget})
	}
}

// arm sets the timer to the end, or to the next poll if that is before.
func (t *Task) arm() {
	at := t.Ends()
	if !t.due.IsZero() && t.due.Before(at) {
		at = t.due
	}
	if t.forgotten || at.Equal(t.armed) {
		return
	}
	t.armed = at
	t.do(Effect{Do: Arm, At: at})
}

// ask answers a request of the client about the task.
func (t *Task) ask(in Event) {
	switch in.Method {
	case "tasks/get":
		o := t.withMeta(t.Object())
		if t.o.Down == Extension {
			o, _ = splice.Set(t.Detail(), complete, "resultType")
		}
		t.do(Effect{Do: Deliver, Request: in.Request, Result: o})
	case "tasks/result":
		t.waiters = append(t.waiters, in.Request)
		if t.status.Final() {
			t.deliver()
		} else {
			t.put()
		}
	case "tasks/update":
		t.update(in)
	case "tasks/cancel":
		t.cancel(in.Request)
	}
}

// cancel ends the task for the client; the server is asked to stop, and may not.
func (t *Task) cancel(request uint64) {
	if t.status.Final() && t.o.Down == Core {
		t.refuse(request, protocol.InvalidParams("the task is "+string(t.status)+" already"))
		return
	}
	if !t.status.Final() {
		t.stop()
		t.end(Cancelled)
	}
	result := t.Object()
	if t.o.Down == Extension {
		result = jsontext.Value(`{"resultType":"complete"}`)
	}
	t.do(Effect{Do: Deliver, Request: request, Result: result})
}

// stop takes back what the server is asked, and cancels its task.
func (t *Task) stop() {
	if t.status.Final() {
		return
	}
	t.theirs.updated = nil // it ends otherwise than the server has said
	for _, number := range []uint64{t.calling, t.polling, t.getting} {
		if number != 0 {
			t.do(Effect{Do: Recall, Number: number})
		}
	}
	if len(t.own) > 0 && t.o.Cancels {
		t.tell("tasks/cancel", t.about())
	}
}

// tell sends the server what is not waited for.
func (t *Task) tell(method string, params jsontext.Value) {
	t.told = append(t.told, t.call(method, params))
}

// leave forgets a request of the client. One that was to make a task, or is the only one to hear of it, takes the task with it.
func (t *Task) leave(request uint64) {
	sole := t.o.Down == None && !t.status.Final()
	if request == t.creator || sole && slices.Contains(t.waiters, request) {
		t.creator, t.waiters = 0, nil
		t.stop()
		t.end(Cancelled)
		t.forget()
		return
	}
	t.waiters = slices.DeleteFunc(t.waiters, func(w uint64) bool { return w == request })
	for i := range t.inputs {
		if t.inputs[i].at == request {
			t.inputs[i].at = 0 // it ended with the request that it was put on
		}
	}
	t.put()
}

// turn gives the task another status.
func (t *Task) turn(s Status) {
	if t.status == s {
		return
	}
	t.status, t.updated, t.unsaved = s, t.now, true
	if t.creator == 0 { // nobody knows of it before
		t.do(Effect{Do: Tell})
	}
}

// finish is the outcome of the call, in the server's words. Where it comes instead of a task, a client of the extension has it as the
// answer; one of the core was promised a task.
func (t *Task) finish(result jsontext.Value, err error) {
	if t.status.Final() {
		return
	}
	if err == nil {
		result, err = t.said(result)
	}
	if t.creator != 0 {
		if err != nil || t.o.Down == Extension {
			t.do(Effect{Do: Deliver, Request: t.creator, Result: result, Err: err})
			t.creator = 0
			t.end(Failed)
			t.forget()
			return
		}
		t.create()
	}
	failed, _ := splice.Get(result, "isError")
	t.result, t.err = result, err
	if err != nil || t.o.Down == Core && failed.Kind() == 't' {
		t.end(Failed)
	} else {
		t.end(Completed)
	}
}

// create tells the client that there is a task.
func (t *Task) create() {
	if t.creator == 0 {
		return
	}
	request := t.creator
	t.creator = 0
	t.do(Effect{Do: Deliver, Request: request, Result: t.creation()})
	for i := range t.inputs {
		t.inputs[i].at = 0
	}
}

var errCancelled = &protocol.Error{Condition: protocol.ConditionInternal, Message: "the task was cancelled"}

// end is where a task ends: its server is let go, and whoever waits for it answered.
func (t *Task) end(s Status) {
	t.due = time.Time{}
	t.calling, t.polling, t.getting = 0, 0, 0
	t.turn(s)
	t.drop(func(input) bool { return true }, true)
	t.release()
	t.deliver()
}

// deliver answers those who wait for the end.
func (t *Task) deliver() {
	for _, w := range t.waiters {
		switch {
		case t.status == Cancelled:
			t.refuse(w, errCancelled)
		case t.err != nil:
			t.refuse(w, t.err)
		case t.o.Down == Core:
			t.do(Effect{Do: Deliver, Request: w, Result: t.related(t.result)})
		default:
			t.do(Effect{Do: Deliver, Request: w, Result: t.result})
		}
	}
	t.waiters = nil
	if t.o.Down == None && t.status.Final() {
		t.forget()
	}
}

// release lets the server go when it has nothing more to answer.
func (t *Task) release() {
	if t.status.Final() && len(t.told) == 0 {
		t.do(Effect{Do: Release})
	}
}

// refusal is the error that the server itself gave, if it is one.
func refusal(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
