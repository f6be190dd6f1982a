package tasks

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/rewrite"
)

// input is something that the server wants of the client and has no answer to.
type input struct {
	number uint64
	kind   mrtr.Kind
	params jsontext.Value // in the client's words
	key    string         // by which a client of the extension answers it
	at     uint64         // the client's request on whose stream it was put; 0 for none

	id     jsonrpc.ID // of a legacy server's request
	theirs string     // the key of a modern server's
	first  bool       // it comes before there is a task: the answers go into the next tools/call
	mute   error      // the client's revision has no words for it
}

// reply is an answer of such a first round.
type reply = mrtr.Response

// inquire is a request of a legacy server. What cannot be asked is refused here.
func (t *Task) inquire(in Event) {
	kind, known := mrtr.KindOf(in.Method)
	params, err := rewrite.Question(in.Method, t.o.Server, t.o.Client, unrelated(in.Params), "")
	switch {
	case t.status.Final():
		err = errOver
	case !known:
		err = protocol.MethodNotFound(in.Method)
	case err != nil:
		err = protocol.InvalidParams(err.Error())
	case len(t.inputs) >= mrtr.MaxInputs:
		err = protocol.Overloaded("client", 0)
	}
	if err != nil {
		t.do(Effect{Do: Reject, ID: in.ID, Err: err})
		return
	}
	t.add(input{kind: kind, params: params.Clone(), id: in.ID})
	t.put()
}

// take is a question of a modern server. What the client's revision has no words for is answered in its place.
func (t *Task) take(q mrtr.Input, first bool) {
	kind, _ := mrtr.KindOf(q.Method) // Parse knows no other
	in := input{kind: kind, theirs: q.Key, first: first}
	id := fmt.Sprintf("mcpd-task-%d", t.numbers+1)
	params, err := rewrite.Question(q.Method, t.o.Server, t.o.Client, q.Params, id)
	in.params, in.mute = params.Clone(), err
	t.add(in)
}

func (t *Task) add(in input) {
	t.numbers++
	t.kinds[in.kind]++
	t.unsaved = true
	in.number, in.key = t.numbers, fmt.Sprintf("%s-%d", in.kind, t.kinds[in.kind])
	t.inputs = append(t.inputs, in)
}

var errOver = protocol.InvalidParams("the task that this belongs to is over")

// drop takes back questions that need no answer of the client any more. A server that has not taken back its own is told.
func (t *Task) drop(which func(input) bool, tell bool) {
	t.inputs = slices.DeleteFunc(t.inputs, func(in input) bool {
		if !which(in) {
			return false
		}
		if tell && in.theirs == "" {
			t.do(Effect{Do: Reject, ID: in.id, Err: errOver})
		}
		if in.at != 0 {
			t.do(Effect{Do: Retract, Number: in.number})
		}
		return true
	})
	t.heed()
}

// heed gives a task that goes on its status: it waits for its client, or not.
func (t *Task) heed() {
	switch {
	case t.status.Final():
	case len(t.inputs) > 0:
		t.turn(InputRequired)
	default:
		t.turn(Working)
	}
}

// put asks the client, if it has a request open on whose stream it can be: the one that is to make the task, or the last of those that
// wait for the end, as the streams of the others may have been hung up without a word. What was put on one of them is taken back. A client
// of the extension looks for itself once it knows of the task.
func (t *Task) put() {
	for i := 0; i < len(t.inputs); i++ {
		if err := t.inputs[i].mute; err != nil {
			t.replied(i, nil, err)
			i = -1
		}
	}
	t.heed()
	at := t.creator
	if at == 0 && len(t.waiters) > 0 {
		at = t.waiters[len(t.waiters)-1]
	}
	if at == 0 {
		return
	}
	for i := range t.inputs {
		in := &t.inputs[i]
		if in.at == at {
			continue
		}
		if in.at != 0 { // an answer that is under way to the old number is none to the new one
			t.do(Effect{Do: Retract, Number: in.number})
			t.numbers++
			in.number = t.numbers
		}
		in.at = at
		params := in.params
		if t.o.Down == Core {
			params = t.related(params)
		}
		t.do(Effect{Do: Put, Number: in.number, Request: at, Method: in.kind.Method(), Params: params})
	}
}

// reply is the client's answer to a question that was put to it.
func (t *Task) reply(in Event) {
	i := slices.IndexFunc(t.inputs, func(q input) bool { return q.number == in.Number && q.at != 0 })
	if i < 0 {
		return
	}
	t.inputs[i].at = 0 // it is not open there any more
	t.replied(i, in.Result, in.Err)
	t.heed()
}

// replied settles a question.
func (t *Task) replied(i int, result jsontext.Value, err error) {
	in := t.inputs[i]
	t.inputs = slices.Delete(t.inputs, i, i+1)
	if err == nil {
		result, err = rewrite.Answer(in.kind.Method(), t.o.Client, t.o.Server, result)
	}
	if err == nil && !in.kind.Fits(result) {
		err = errors.New("the client's answer has not the shape of one")
	}
	if in.theirs == "" {
		if err != nil {
			t.do(Effect{Do: Reject, ID: in.id, Err: err})
		} else {
			t.do(Effect{Do: Answer, ID: in.id, Result: result})
		}
		return
	}
	if err == nil {
		result = in.kind.Bare(result)
	} else if refusal, ok := in.kind.Refusal(); ok {
		result = refusal
	} else { // there is no word for a refusal, so the client ends the call by not coming back (2026-07-28 §basic/patterns/mrtr)
		t.stop()
		t.finish(nil, &protocol.Error{
			Condition: protocol.ConditionInternal, Message: "the server needs " + in.kind.Method() + ", which was declined or failed", Cause: err,
		})
		return
	}
	answer := reply{Key: in.theirs, Value: result.Clone()}
	if !in.first {
		t.tell("tasks/update", mrtr.Retry{Responses: []reply{answer}}.Set(t.about()))
		return
	}
	t.round = append(t.round, answer)
	if !slices.ContainsFunc(t.inputs, func(in input) bool { return in.first }) {
		t.calling = t.call("tools/call", mrtr.Retry{Responses: t.round, State: t.state}.Set(t.o.Params))
	}
}

// update gives the task the answers of a client of the extension, or some of them: all or none. What is not asked is ignored.
func (t *Task) update(in Event) {
	answers, err := mrtr.ParseRetry(in.Params)
	for _, q := range t.inputs {
		if v, ok := answers.Get(q.key); ok && !q.kind.Fits(v) {
			err = protocol.InvalidParams("inputResponses." + q.key + " is no answer to " + q.kind.Method())
		}
	}
	if err != nil {
		t.refuse(in.Request, err)
		return
	}
	t.do(Effect{Do: Deliver, Request: in.Request, Result: jsontext.Value(`{"resultType":"complete"}`)})
	for i := len(t.inputs) - 1; i >= 0; i-- {
		if v, ok := answers.Get(t.inputs[i].key); ok {
			t.replied(i, v, nil)
		}
	}
	t.heed()
}
