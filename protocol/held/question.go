package held

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// question is a request of the server without an answer.
type question struct {
	id        jsonrpc.ID
	kind      mrtr.Kind
	input     mrtr.Input
	published bool           // the client was asked, so it may answer
	token     jsontext.Value // progress token of the server; empty for none
	progress  int
}

// ask accepts a question of the server, or rejects it.
func (c *Call) ask(in Event) (question, bool) {
	kind, err := c.admit(in)
	if err != nil {
		c.do(Effect{Do: Reject, ID: in.ID, Err: err})
		return question{}, false
	}
	c.questionCounts[kind]++
	key := fmt.Sprintf("%s-%d", kind, c.questionCounts[kind]) // unique within the call
	token, _ := protocol.ProgressToken(in.Params)
	return question{id: in.ID, kind: kind, input: mrtr.Embed(key, in.Method, in.Params),
		token: token}, true
}

// admit returns an error if a question may not be asked. The client does not learn of a rejected
// question.
func (c *Call) admit(in Event) (mrtr.Kind, error) {
	kind, known := mrtr.KindOf(in.Method)
	switch {
	case !known, !mrtr.MayAsk(c.method):
		return 0, protocol.MethodNotFound(in.Method)
	case c.phase == Parked, c.phase.Over():
		return 0, protocol.InvalidParams("the call to which this question belongs is over")
	case len(c.pending) >= mrtr.MaxInputs:
		return 0, protocol.QueueFull("questions of one call")
	}
	return kind, c.allowed(in.Method, in.Params)
}

// allowed returns an error if the client must not be asked that question. The error has the code
// that a legacy client would send: -32601 for an undeclared capability, and -32602 for an
// undeclared mode (2025-11-25 §client).
func (c *Call) allowed(method string, params jsontext.Value) error {
	err := protocol.Gate{Version: c.version, Client: c.client}.CheckInput(method, params)
	if errors.Is(err, protocol.ConditionCapabilityRequired) {
		return protocol.MethodNotFound(method)
	}
	return err
}

// answerForClient answers a question in place of the client, which declined the question or whose
// call ends.
func (c *Call) answerForClient(q question, declined bool) {
	switch q.kind {
	case mrtr.Elicitation:
		result, _ := q.kind.Refusal()
		if declined {
			result = jsontext.Value(`{"action":"decline"}`)
		}
		c.do(Effect{Do: Answer, ID: q.id, Result: result})
	case mrtr.Sampling:
		c.do(Effect{Do: Reject, ID: q.id, Err: protocol.UserRejected()})
	case mrtr.Roots:
		err := protocol.InternalError(errors.New("the client does not answer"))
		if declined {
			err = protocol.MethodNotFound(q.input.Method)
		}
		c.do(Effect{Do: Reject, ID: q.id, Err: err})
	}
}

// progressParams returns progress of a question. It says only that the question is still open.
func (q *question) progressParams() jsontext.Value {
	q.progress++
	params := append(jsontext.Value(`{"progressToken":`), q.token...)
	params = append(params, `,"progress":`...)
	return append(strconv.AppendInt(params, int64(q.progress), 10), '}')
}
