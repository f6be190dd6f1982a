package held

import (
	"errors"
	"slices"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// Known is what the owner of a call has in hand after a crash.
type Known struct {
	Server string
	Sinks  []Sink       // the client's requests that have no outcome
	Asked  []jsonrpc.ID // the server's that have no answer
}

var errForgotten = errors.New("lost in a crash")

// Waits reports until when the call waits for its client to come back, if it does.
func (c *Call) Waits() (until time.Time, ok bool) {
	return c.until, c.phase == Published || c.phase == Parked
}

// Recover goes on after a crash in the midst of a step. What the call and its owner agree on goes on; what only one of them knows is ended, so
// that nobody is left waiting.
func (c *Call) Recover(now time.Time, k Known) []Effect {
	clear(c.effects)
	c.effects, c.now, c.armed = c.effects[:0], now, time.Time{}
	for _, id := range k.Asked {
		if !slices.ContainsFunc(c.pending, func(q question) bool { return q.id == id }) {
			c.do(Effect{Do: Reject, ID: id, Err: protocol.InternalError(errForgotten)})
		}
	}
	c.pending = slices.DeleteFunc(c.pending, func(q question) bool {
		return !slices.Contains(k.Asked, q.id) || q.kind < mrtr.Elicitation || q.kind > mrtr.Roots
	})
	switch {
	case c.forgotten:
		c.do(Effect{Do: Forget})
	case c.sink != 0 && !slices.Contains(k.Sinks, c.sink): // who waited was answered, and comes back with nothing
		c.abandon(Cancelled)
	case c.phase == Collecting && len(c.pending) == 0:
		c.phase, c.due = Running, time.Time{}
	}
	for _, sink := range k.Sinks {
		switch {
		case sink == c.sink:
		case c.phase == Published && len(c.pending) > 0: // its client may not have been asked
			c.do(Effect{Do: Publish, Sink: sink, Round: c.round, Inputs: c.inputs(), At: c.until})
		default:
			c.do(Effect{Do: Refuse, Sink: sink, Err: protocol.Forgotten(k.Server, errForgotten)})
		}
	}
	c.expire()
	c.arm()
	return c.effects
}
