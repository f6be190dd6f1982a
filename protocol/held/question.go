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

// question is a request of the server that has no answer yet.
type question struct {
	id        jsonrpc.ID
	kind      mrtr.Kind
	input     mrtr.Input
	published bool           // the client was asked, so it may answer
	token     jsontext.Value // by which the server wants progress; empty for not
	reassured int
}

// ask takes on a question of the server, or rejects it.
func (c *Call) ask(in Event) (question, bool) {
	kind, err := c.admit(in)
	if err != nil {
		c.do(Effect{Do: Reject, ID: in.ID, Err: err})
		return question{}, false
	}
	c.asked[kind]++
	key := fmt.Sprintf("%s-%d", kind, c.asked[kind]) // never used again in this call
	token, _ := protocol.ProgressToken(in.Params)
	return question{id: in.ID, kind: kind, input: mrtr.Embed(key, in.Method, in.Params), token: token}, true
}

// admit says why a question may not be asked. None of these reaches the client.
func (c *Call) admit(in Event) (mrtr.Kind, error) {
	kind, known := mrtr.KindOf(in.Method)
	switch {
	case !known, !mrtr.MayAsk(c.method):
		return 0, protocol.MethodNotFound(in.Method)
	case c.phase == Parked, c.phase.Over():
		return 0, protocol.InvalidParams("the call that this belongs to is over")
	case len(c.pending) >= mrtr.MaxInputs:
		return 0, protocol.QueueFull("questions of one call")
	}
	return kind, c.allowed(in.Method, in.Params)
}

// allowed says, in a legacy client's words, why the client must not be asked that: 2025-11-25 has -32601 for what was not declared, and
// -32602 for a mode of it.
func (c *Call) allowed(method string, params jsontext.Value) error {
	err := protocol.Gate{Version: c.version, Client: c.client}.CheckInput(method, params)
	if errors.Is(err, protocol.ConditionCapabilityRequired) {
		return protocol.MethodNotFound(method)
	}
	return err
}

// give answers a question for the client, which will not: it declined, or the call ends.
func (c *Call) give(q question, declined bool) {
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

// reassurance is progress of a question: that somebody is at it, and no more.
func (q *question) reassurance() jsontext.Value {
	q.reassured++
	params := append(jsontext.Value(`{"progressToken":`), q.token...)
	params = append(params, `,"progress":`...)
	return append(strconv.AppendInt(params, int64(q.reassured), 10), '}')
}
