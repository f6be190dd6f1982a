package client

import (
	"slices"

	"mcpd/actors/internal/mend"
	"mcpd/actors/request"
	"mcpd/supervisor/otp"
)

// repair makes what a crashed incarnation left sound again.
func (c *carry) repair() []otp.Dropped {
	mend.Map(&c.clients)
	lost := c.interest.Repair()
	c.repairCalls(&lost)
	c.clients.repair(&lost)
	for range c.elicitations.Repair(func(to request.Owner) bool { return to == nil }) {
		lost.Drop("elicitation", "of nobody", nil)
	}
	c.instances.Repair(&lost)
	c.listing.repair()
	return lost
}

// repairCalls drops the calls that can have no outcome, and those that are there twice: one that
// may have been written is not queued.
func (c *carry) repairCalls(lost *mend.Losses) {
	queued := map[uint64]bool{}
	c.queue = slices.DeleteFunc(c.queue, func(x *request.Exchange) bool {
		if !whole(x) {
			c.dropCall(lost, x)
			return true
		}
		return lost.If(c.written.Has(x) || mend.Again(queued, x.ID), "call", "twice")
	})
}

// whole reports whether a call can go on and have an outcome.
func whole(x *request.Exchange) bool {
	return x != nil && x.ID != 0 && x.Sink != nil && x.Owner != nil && x.Method != ""
}

// dropCall gives a call the only outcome that is left for it, unless it goes on under its own id.
func (c *carry) dropCall(lost *mend.Losses, x *request.Exchange) {
	if x == nil || x.Sink == nil || c.holds(x) {
		lost.Drop("call", "unsound", nil)
		return
	}
	lost.Drop("call", "unsound", dropped{c, x})
}

func (c *carry) holds(x *request.Exchange) bool {
	return whole(x) && (c.written.Has(x) || slices.Contains(c.queue, x))
}

// dropped is a call of which nobody knows any more whether it was executed.
type dropped struct {
	c *carry
	x *request.Exchange
}

// Fail says so.
func (d dropped) Fail(err error) {
	complete(d.x, nil, LostTo(d.x.Principal, d.c.o.Server, d.x.Method, true, err))
}
