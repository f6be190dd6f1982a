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

// input is a question of the server to the client that has no answer yet.
type input struct {
	number  uint64
	kind    mrtr.Kind
	params  jsontext.Value // translated to the client's revision
	key     string         // the key for the answer of an extension client
	request uint64         // the client's request on whose stream the question was sent; 0 for none

	id            jsonrpc.ID // of a legacy server's request
	upstreamKey   string     // the key of a modern server's question
	first         bool       // the question precedes the task: the answers go into the next tools/call
	inexpressible error      // set if the client's revision cannot express the question
}

// reply is an answer to a question that precedes the task.
type reply = mrtr.Response

// inquire handles a question of a legacy server. It refuses a question that the client cannot
// receive.
func (t *Task) inquire(in Event) {
	kind, known := mrtr.KindOf(in.Method)
	params, err := rewrite.Question(in.Method, t.o.Server, t.o.Client, withoutTaskID(in.Params), "")
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
	t.sendQuestions()
}

// addQuestion accepts a question of a modern server. If the client's revision cannot express the
// question, put later answers it in the client's place.
func (t *Task) addQuestion(q mrtr.Input, first bool) {
	kind, _ := mrtr.KindOf(q.Method) // Parse allows no other methods
	in := input{kind: kind, upstreamKey: q.Key, first: first}
	id := fmt.Sprintf("mcpd-task-%d", t.numbers+1)
	params, err := rewrite.Question(q.Method, t.o.Server, t.o.Client, q.Params, id)
	in.params, in.inexpressible = params.Clone(), err
	t.add(in)
}

func (t *Task) add(in input) {
	t.numbers++
	t.kinds[in.kind]++
	t.unsaved = true
	in.number, in.key = t.numbers, fmt.Sprintf("%s-%d", in.kind, t.kinds[in.kind])
	t.inputs = append(t.inputs, in)
}

var errOver = protocol.InvalidParams("the task to which this question belongs is over")

// removeQuestions removes questions that need no answer of the client any more. If tell is set, it
// rejects the requests of a legacy server.
func (t *Task) removeQuestions(which func(input) bool, tell bool) {
	t.inputs = slices.DeleteFunc(t.inputs, func(in input) bool {
		if !which(in) {
			return false
		}
		if tell && in.upstreamKey == "" {
			t.do(Effect{Do: Reject, ID: in.id, Err: errOver})
		}
		if in.request != 0 {
			t.do(Effect{Do: Retract, Number: in.number})
		}
		return true
	})
	t.updateStatus()
}

// updateStatus sets the status of a running task: whether it waits for its client.
func (t *Task) updateStatus() {
	switch {
	case t.status.Final():
	case len(t.inputs) > 0:
		t.setStatus(InputRequired)
	default:
		t.setStatus(Working)
	}
}

// sendQuestions sends the open questions to the client if there is an open request on whose stream
// they can go. That is the request that creates the task, or the latest request that waits for the
// outcome. The streams of earlier requests may have been closed silently, so questions there are
// retracted. A client of the extension polls for questions once it knows the task.
func (t *Task) sendQuestions() {
	for i := 0; i < len(t.inputs); i++ {
		if err := t.inputs[i].inexpressible; err != nil {
			t.replied(i, nil, err)
			i = -1
		}
	}
	t.updateStatus()
	at := t.creator
	if at == 0 && len(t.waiters) > 0 {
		at = t.waiters[len(t.waiters)-1]
	}
	if at == 0 {
		return
	}
	for i := range t.inputs {
		in := &t.inputs[i]
		if in.request == at {
			continue
		}
		// A late answer to the old number must not count as an answer to the new one.
		if in.request != 0 {
			t.do(Effect{Do: Retract, Number: in.number})
			t.numbers++
			in.number = t.numbers
		}
		in.request = at
		params := in.params
		if t.o.ClientDialect == Core {
			params = t.withTaskID(params)
		}
		t.do(Effect{Do: Put, Number: in.number, Request: at, Method: in.kind.Method(), Params: params})
	}
}

// reply handles the client's answer to a question that was sent to it.
func (t *Task) reply(in Event) {
	i := slices.IndexFunc(t.inputs, func(q input) bool {
		return q.number == in.Number && q.request != 0
	})
	if i < 0 {
		return
	}
	t.inputs[i].request = 0 // the question is no longer open there
	t.replied(i, in.Result, in.Err)
	t.updateStatus()
}

// replied settles a question.
func (t *Task) replied(i int, result jsontext.Value, err error) {
	in := t.inputs[i]
	t.inputs = slices.Delete(t.inputs, i, i+1)
	if err == nil {
		result, err = rewrite.Answer(in.kind.Method(), t.o.Client, t.o.Server, result)
	}
	if err == nil && !in.kind.Fits(result) {
		err = errors.New("the client's answer does not have the expected shape")
	}
	if in.upstreamKey == "" {
		if err != nil {
			t.do(Effect{Do: Reject, ID: in.id, Err: err})
		} else {
			t.do(Effect{Do: Answer, ID: in.id, Result: result})
		}
		return
	}
	if err == nil {
		result = in.kind.EmbeddedAnswer(result)
	} else if refusal, ok := in.kind.Refusal(); ok {
		result = refusal
	} else {
		// Such a question cannot be refused. A client ends the call by not sending a retry (2026-07-28
		// §basic/patterns/mrtr).
		t.stop()
		t.finish(nil, &protocol.Error{
			Condition: protocol.ConditionInternal,
			Message:   "the server needs " + in.kind.Method() + ", which was declined or failed", Cause: err,
		})
		return
	}
	answer := reply{Key: in.upstreamKey, Value: result.Clone()}
	if !in.first {
		t.sendIgnored("tasks/update", mrtr.Retry{Responses: []reply{answer}}.Set(t.about()))
		return
	}
	t.round = append(t.round, answer)
	if !slices.ContainsFunc(t.inputs, func(in input) bool { return in.first }) {
		t.toolCall = t.call("tools/call", mrtr.Retry{Responses: t.round, State: t.state}.Set(t.o.Params))
	}
}

// update applies the answers of an extension client. It applies none of them if one is malformed.
// The client may answer only some of the questions. Answers to unknown questions are ignored.
func (t *Task) update(in Event) {
	answers, err := mrtr.ParseRetry(in.Params)
	for _, q := range t.inputs {
		if v, ok := answers.Get(q.key); ok && !q.kind.Fits(v) {
			err = protocol.InvalidParams("inputResponses." + q.key + " is not an answer to " +
				q.kind.Method())
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
	t.updateStatus()
}
