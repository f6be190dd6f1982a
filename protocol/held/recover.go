package held

import (
	"errors"
	"slices"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// OwnerState is the owner's information about a call after a crash.
type OwnerState struct {
	Server string
	Sinks  []RequestNumber // the client's requests without an outcome
	Asked  []jsonrpc.ID    // the server's requests without an answer
}

var errLostInCrash = errors.New("lost in a crash")

// Waits reports whether the call waits for a retry of its client, and until when.
func (c *Call) Waits() (until time.Time, ok bool) {
	return c.stateExpiry, c.phase == Published || c.phase == Parked
}

// Recover restores a consistent state after a crash in the middle of a step. It continues the
// requests that both the call and its owner know, and ends all others, so that no peer waits
// forever.
func (c *Call) Recover(now time.Time, k OwnerState) []Effect {
	clear(c.effects)
	c.effects, c.now, c.armed = c.effects[:0], now, time.Time{}
	for _, id := range k.Asked {
		if !slices.ContainsFunc(c.pending, func(q question) bool { return q.id == id }) {
			c.do(Effect{Do: Reject, ID: id, Err: protocol.InternalError(errLostInCrash)})
		}
	}
	c.pending = slices.DeleteFunc(c.pending, func(q question) bool {
		return !slices.Contains(k.Asked, q.id) || q.kind < mrtr.Elicitation || q.kind > mrtr.Roots
	})
	switch {
	case c.forgotten:
		c.do(Effect{Do: Forget})
	// The client's request was answered already, and no state for a retry exists.
	case c.sink != 0 && !slices.Contains(k.Sinks, c.sink):
		c.abandon(Cancelled)
	case c.phase == Collecting && len(c.pending) == 0:
		c.phase, c.due = Running, time.Time{}
	}
	for _, sink := range k.Sinks {
		switch {
		case sink == c.sink:
		// The client may not have received the questions.
		case c.phase == Published && len(c.pending) > 0:
			c.do(Effect{Do: Publish, Sink: sink, Round: c.round, Inputs: c.inputs(), At: c.stateExpiry})
		default:
			c.do(Effect{Do: Refuse, Sink: sink, Err: protocol.LostInCrash(k.Server, errLostInCrash)})
		}
	}
	c.expire()
	c.arm()
	return c.effects
}
