package demo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/rewrite"
)

// input is something that a tool or prompt needs from the client.
type input struct {
	key    string // unique within the tool; 2026-07-28 requires this within the request or the task
	kind   mrtr.Kind
	params func(k *call) object
}

// capabilityFor maps a kind of input to the capability that a client must have declared to be asked
// for it.
var capabilityFor = map[mrtr.Kind]string{
	mrtr.Elicitation: "elicitation.form",
	mrtr.Sampling:    "sampling",
	mrtr.Roots:       "roots",
}

// ask requests inputs from the client and goes on when it has them all. A legacy call sends
// requests and waits. A modern call ends with the missing inputs. The client calls again and brings
// them, and the earlier steps are repeated, so only repeatable steps may come before an ask
// (2026-07-28 §basic/patterns/mrtr). A task shows the inputs that it waits for to the clients that
// look at it.
//
// If the client did not declare the capability for an input, it is not asked, and the call ends
// with an error.
type ask struct {
	inputs   []input
	sealed   bool // a modern client must return a state with its answers
	optional bool // an input is omitted if its capability is missing
}

func (a ask) do(c *core, k *call) ([]effect, bool) {
	var missing []input
	for _, in := range a.inputs {
		capability := capabilityFor[in.kind]
		switch err := k.refused[in.key]; {
		case err != nil:
			return c.failCall(k, fmt.Sprintf("the client refused %s: %v", in.kind.Method(), err),
				protocol.UserRejected()), false
		case k.answers[in.key] != nil:
		case k.client.Has(capability) && k.expressible(in):
			missing = append(missing, in)
		case !a.optional:
			return c.failCall(k, undeclared(capability), protocol.CapabilityRequired(capability)), false
		}
	}
	switch {
	case len(missing) == 0:
		return nil, true
	case k.task != nil:
		k.task.pending = missing
		return append(c.setStatus(k.task, inputRequired), c.askOn(k.task)...), false
	case k.version.Has(protocol.MultiRoundTrip):
		return c.require(k, a, missing), false
	}
	return c.question(k, missing, k.id), false
}

// questionParams is the question for an input in the form of the client's revision. Some revisions
// have no form for it.
func (k *call) questionParams(in input) (jsontext.Value, error) {
	return rewrite.Question(in.kind.Method(), protocol.LatestLegacy, k.version,
		encode(in.params(k)), "")
}

func (k *call) expressible(in input) bool {
	_, err := k.questionParams(in)
	return k.version.Has(protocol.MultiRoundTrip) || err == nil
}

// question sends the client a request for each input. The requests go on the stream of one of the
// client's requests, which has the id that is passed as on.
func (c *core) question(k *call, missing []input, on jsonrpc.ID) (effects []effect) {
	for _, in := range missing {
		params, _ := k.questionParams(in) // expressible has checked that this succeeds
		c.questions++
		// A string cannot be confused with the client's own ids, which are mostly numbers.
		q := question{jsonrpc.StringID("demo-" + strconv.FormatUint(c.questions, 10)), in.key, on}
		if k.task != nil {
			params = k.task.related(params)
		}
		k.open, c.asked[q.id] = append(k.open, q), k
		effects = append(effects, send{jsonrpc.Request(q.id, in.kind.Method(), params), on})
	}
	return append(effects, k.wait(protocol.InputTimeout))
}

// reply takes an answer to one of the server's requests. It ignores an answer that comes too late.
func (c *core) reply(m jsonrpc.Message) []effect {
	k := c.asked[m.ID]
	if k == nil {
		return nil
	}
	delete(c.asked, m.ID)
	i := slices.IndexFunc(k.open, func(q question) bool { return q.id == m.ID })
	key := k.open[i].key
	k.open = slices.Delete(k.open, i, i+1)
	if m.Error != nil {
		k.refused[key] = m.Error
	} else {
		k.answers[key] = m.Result
	}
	if len(k.open) > 0 {
		return nil
	}
	k.waiting = false
	effects := []effect{stopWait{k.number}}
	if k.task != nil {
		k.task.pending = nil
		effects = append(effects, c.setStatus(k.task, working)...)
	}
	return append(effects, c.run(k)...)
}

// require ends a modern call with a request for the inputs that it needs.
func (c *core) require(k *call, a ask, missing []input) []effect {
	required := mrtr.Required{Inputs: wanted(k, missing)}
	if a.sealed {
		state, err := c.stateOf(k)
		if err != nil {
			return c.fail(k, err)
		}
		required.State = state
	}
	return append(c.forget(k), send{jsonrpc.Response(k.id, c.signed(required.Result())), k.id})
}

// wanted converts inputs to the form for a modern client.
func wanted(k *call, missing []input) []mrtr.Input {
	inputs := make([]mrtr.Input, len(missing))
	for i, in := range missing {
		inputs[i] = mrtr.Input{Key: in.key, Method: in.kind.Method(), Params: encode(in.params(k))}
	}
	return inputs
}

// resume takes from a modern call the answers of earlier rounds. Answers to questions that were not
// asked are ignored. Answers that should have come with a state and did not are ignored too, so
// that the client is asked again.
func (c *core) resume(k *call) error {
	if !k.version.Has(protocol.MultiRoundTrip) {
		return nil
	}
	retry, err := mrtr.ParseRetry(k.params)
	if err != nil {
		return err
	}
	stated := len(retry.State) > 0
	if stated {
		if err := c.readState(k, retry.State); err != nil {
			return err
		}
	}
	for _, s := range k.steps {
		if a, ok := s.(ask); ok && (stated || !a.sealed) {
			if err := k.accept(retry, a.inputs); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxKept bounds in bytes an answer, or the arguments of a task, which the server keeps. A message
// may be megabytes, and many may be kept at a time. Forms and texts fit.
const maxKept = 64 << 10

// accept takes the answers to inputs, all or none.
func (k *call) accept(retry mrtr.Retry, inputs []input) error {
	found := map[string]jsontext.Value{}
	for _, in := range inputs {
		switch answer, ok := retry.Get(in.key); {
		case !ok:
		case !in.kind.Fits(answer):
			return protocol.InvalidParams(fmt.Sprintf("inputResponses.%s is not an answer to %s", in.key,
				in.kind.Method()))
		case len(answer) > maxKept:
			return protocol.TooLarge("inputResponses."+in.key, maxKept)
		default:
			found[in.key] = slices.Clone(answer)
		}
	}
	maps.Copy(k.answers, found)
	return nil
}
