package tasks

import (
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// Options are the settings of a task.
type Options struct {
	ID                           string // the client's id of the task
	Name                         string // the server's name in messages to the client
	ClientDialect, ServerDialect Dialect
	Client, Server               protocol.Version // the revisions on both sides
	// params of the call to the server, without members about tasks
	Params jsontext.Value
	// TTL is the time for which the task is kept, from its creation. It is at most MaxTTL, 24 hours.
	TTL     time.Duration
	Cancels bool // the server supports tasks/cancel
	// Rewrite translates the names and URIs in a result for this client. Nil leaves the result
	// unchanged.
	Rewrite func(jsontext.Value) jsontext.Value
}

// Task is the state machine of one task. Create it with New. It is not safe for concurrent use.
type Task struct {
	o       Options
	now     time.Time // time of the current step
	effects []Effect

	status           Status
	message          string
	created, updated time.Time
	ttl, poll        time.Duration
	result           jsontext.Value // Completed; or Failed, if the tool itself reported the failure
	err              error          // Failed
	creator          uint64         // the client's tools/call until it is answered; then 0
	waiters          []uint64       // the client's requests that wait for the outcome, oldest first

	upstreamID jsontext.Value // the server's id of the task, a JSON string; empty if there is none yet
	upstream   upstreamData   // data of a server with core tasks, for a client with core tasks
	numbers    uint64         // number of calls and questions so far
	toolCall   uint64         // tools/call at the server; 0 for none, as in the next two fields
	pollCall   uint64         // tasks/get
	resultCall uint64         // tasks/result
	ignored    []uint64       // requests whose answers are ignored
	misses     int
	steps      int

	inputs []input
	seen   map[string]bool // the server's keys that were accepted
	kinds  [4]int          // number of questions by kind, for unique keys
	state  jsontext.Value  // of the server's questions that precede the task
	round  []reply         // the answers to those questions

	due, armed time.Time // the next poll; the time to which the timer is set
	forgotten  bool
	unsaved    bool // changed since the last Save
}

// New returns a task whose call has not started.
func New(now time.Time, o Options) *Task {
	return &Task{
		o: o, status: Working, created: now, updated: now, ttl: min(o.TTL, MaxTTL), poll: DefaultPoll,
		seen: map[string]bool{}, unsaved: true,
	}
}

// Options returns the settings of the task.
func (t *Task) Options() Options { return t.o }

// Bytes is the number of bytes that the task holds: its call, its questions and its result.
func (t *Task) Bytes() int {
	n := len(t.o.Params) + len(t.result) + len(t.state) + len(t.upstream.meta)
	for i := range t.inputs {
		n += len(t.inputs[i].params)
	}
	return n
}

// Created is the creation time of the task.
func (t *Task) Created() time.Time { return t.created }

// Expires is the time at which the task is dropped, in any state.
func (t *Task) Expires() time.Time { return t.created.Add(t.ttl) }

// Step takes an event and returns its effects, in order. The effects are valid until the next call
// of Step.
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
	case in.Op == ClientCancel:
		t.leave(in.Request)
	case in.Op == Answered:
		t.answered(in)
	case in.Op == ServerAsk:
		t.inquire(in)
	case in.Op == Withdraw:
		t.removeQuestions(func(i input) bool { return i.id == in.ID }, false)
	case in.Op == Reply:
		t.reply(in)
	case in.Op == Notify:
		t.notified(in.Params)
	case in.Op == Lost:
		t.missed(in)
	case in.Op == Resume:
		t.resume(in.ServerAlive)
	}
	t.arm()
	return t.effects
}

func (t *Task) do(e Effect) { t.effects = append(t.effects, e) }

func (t *Task) refuse(request uint64, err error) {
	t.do(Effect{Do: Deliver, Request: request, Err: err})
}

// start sends the call to the server. If the client asked for a core task and the server decides
// whether to create one, the client receives its task at once.
func (t *Task) start(request uint64) {
	params := t.o.Params
	switch {
	case t.o.ClientDialect == None:
		t.waiters = append(t.waiters, request)
	case t.o.ClientDialect == Core && t.o.ServerDialect == Extension:
		t.do(Effect{Do: Deliver, Request: request, Result: t.creation()})
	default:
		t.creator = request
	}
	if _, asked := jsonedit.Get(params, "task"); t.o.ServerDialect == Core && !asked {
		params, _ = jsonedit.Set(params, millis(t.ttl), "task", "ttl")
	}
	t.toolCall = t.call("tools/call", params)
}

// call sends a request to the server.
func (t *Task) call(method string, params jsontext.Value) uint64 {
	t.numbers++
	t.do(Effect{Do: Call, Number: t.numbers, Method: method, Params: params, At: t.Expires()})
	return t.numbers
}

// about returns the params of a request about the task.
func (t *Task) about() jsontext.Value {
	params, _ := jsonedit.Set(nil, t.upstreamID, "taskId")
	return params
}

// expire ends a task whose time is over, and polls if a poll is due.
func (t *Task) expire() {
	switch {
	case t.forgotten:
	case !t.now.Before(t.Expires()):
		t.stop()
		t.finish(nil, &protocol.Error{
			Condition: protocol.ConditionTimeout, Message: "the task was not done within its ttl",
		})
		t.forget()
	case !t.due.IsZero() && !t.now.Before(t.due):
		t.due = time.Time{}
		t.pollCall = t.call("tasks/get", t.about())
	}
}

func (t *Task) forget() {
	if !t.forgotten {
		t.forgotten = true
		t.do(Effect{Do: Forget})
	}
}

// arm sets the timer to the end of the task, or to an earlier poll.
func (t *Task) arm() {
	at := t.Expires()
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
		if t.o.ClientDialect == Extension {
			o, _ = jsonedit.Set(t.Detail(), complete, "resultType")
		}
		t.do(Effect{Do: Deliver, Request: in.Request, Result: o})
	case "tasks/result":
		t.waiters = append(t.waiters, in.Request)
		if t.status.Final() {
			t.deliver()
		} else {
			t.sendQuestions()
		}
	case "tasks/update":
		t.update(in)
	case "tasks/cancel":
		t.cancel(in.Request)
	}
}

// cancel ends the task for the client. It asks the server to stop, which the server may ignore.
func (t *Task) cancel(request uint64) {
	if t.status.Final() && t.o.ClientDialect == Core {
		t.refuse(request, protocol.InvalidParams("the task is "+string(t.status)+" already"))
		return
	}
	if !t.status.Final() {
		t.stop()
		t.end(Cancelled)
	}
	result := t.Object()
	if t.o.ClientDialect == Extension {
		result = jsontext.Value(`{"resultType":"complete"}`)
	}
	t.do(Effect{Do: Deliver, Request: request, Result: result})
}

// stop recalls the requests to the server, and cancels the server's task.
func (t *Task) stop() {
	if t.status.Final() {
		return
	}
	t.upstream.updated = nil // the task ends in another way than the server reported
	for _, number := range []uint64{t.toolCall, t.pollCall, t.resultCall} {
		if number != 0 {
			t.do(Effect{Do: Recall, Number: number})
		}
	}
	if len(t.upstreamID) > 0 && t.o.Cancels {
		t.sendIgnored("tasks/cancel", t.about())
	}
}

// sendIgnored sends a request to the server whose answer is ignored.
func (t *Task) sendIgnored(method string, params jsontext.Value) {
	t.ignored = append(t.ignored, t.call(method, params))
}

// leave handles the cancellation of a client's request. It ends the task if that request would have
// created the task, or is the only one that waits for the outcome.
func (t *Task) leave(request uint64) {
	sole := t.o.ClientDialect == None && !t.status.Final()
	if request == t.creator || sole && slices.Contains(t.waiters, request) {
		t.creator, t.waiters = 0, nil
		t.stop()
		t.end(Cancelled)
		t.forget()
		return
	}
	t.waiters = slices.DeleteFunc(t.waiters, func(w uint64) bool { return w == request })
	for i := range t.inputs {
		if t.inputs[i].request == request {
			t.inputs[i].request = 0 // the question ended with its request
		}
	}
	t.sendQuestions()
}

// setStatus changes the status of the task.
func (t *Task) setStatus(s Status) {
	if t.status == s {
		return
	}
	t.status, t.updated, t.unsaved = s, t.now, true
	if t.creator == 0 { // before that the client does not know the task
		t.do(Effect{Do: Tell})
	}
}

// finish handles the outcome of the call, in the server's revision. If the outcome arrives in place
// of a task, an extension client receives it as the answer. A core client receives a task, because
// it asked for one.
func (t *Task) finish(result jsontext.Value, err error) {
	if t.status.Final() {
		return
	}
	if err == nil {
		result, err = t.translateResult(result)
	}
	if t.creator != 0 {
		if err != nil || t.o.ClientDialect == Extension {
			t.do(Effect{Do: Deliver, Request: t.creator, Result: result, Err: err})
			t.creator = 0
			t.end(Failed)
			t.forget()
			return
		}
		t.create()
	}
	failed, _ := jsonedit.Get(result, "isError")
	t.result, t.err = result, err
	if err != nil || t.o.ClientDialect == Core && failed.Kind() == 't' {
		t.end(Failed)
	} else {
		t.end(Completed)
	}
}

// create answers the client's call with the task.
func (t *Task) create() {
	if t.creator == 0 {
		return
	}
	request := t.creator
	t.creator = 0
	t.do(Effect{Do: Deliver, Request: request, Result: t.creation()})
	for i := range t.inputs {
		t.inputs[i].request = 0
	}
}

var errCancelled = &protocol.Error{
	Condition: protocol.ConditionInternal, Message: "the task was cancelled",
}

// end ends the task. It releases the server and answers the waiting requests.
func (t *Task) end(s Status) {
	t.due = time.Time{}
	t.toolCall, t.pollCall, t.resultCall = 0, 0, 0
	t.setStatus(s)
	t.removeQuestions(func(input) bool { return true }, true)
	t.release()
	t.deliver()
}

// deliver answers the requests that wait for the outcome.
func (t *Task) deliver() {
	for _, w := range t.waiters {
		switch {
		case t.status == Cancelled:
			t.refuse(w, errCancelled)
		case t.err != nil:
			t.refuse(w, t.err)
		case t.o.ClientDialect == Core:
			t.do(Effect{Do: Deliver, Request: w, Result: t.withTaskID(t.result)})
		default:
			t.do(Effect{Do: Deliver, Request: w, Result: t.result})
		}
	}
	t.waiters = nil
	if t.o.ClientDialect == None && t.status.Final() {
		t.forget()
	}
}

// release releases the server if no answer of it is outstanding.
func (t *Task) release() {
	if t.status.Final() && len(t.ignored) == 0 {
		t.do(Effect{Do: Release})
	}
}

// serverError returns the error that the server itself sent; nil for any other error.
func serverError(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
