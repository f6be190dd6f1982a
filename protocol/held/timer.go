package held

import (
	"time"
)

// expire does what is due.
func (c *Call) expire() {
	switch {
	case c.due.IsZero():
	case c.now.Before(c.due):
		if !c.reassure.IsZero() && !c.now.Before(c.reassure) {
			c.comforted()
		}
	case c.phase == Collecting:
		c.publish()
	default:
		c.abandon(Expired)
	}
}

// comfort begins to reassure the server if one of its questions asks for progress.
func (c *Call) comfort() {
	for _, q := range c.pending {
		if len(q.token) > 0 && c.reassure.IsZero() {
			c.reassure = c.now.Add(Reassurance)
		}
	}
}

// comforted tells the server that its questions are being dealt with.
func (c *Call) comforted() {
	for i := range c.pending {
		if q := &c.pending[i]; len(q.token) > 0 {
			c.do(Effect{Do: Reassure, Params: q.reassurance()})
		}
	}
	c.reassure = time.Time{}
	c.comfort()
}

// end enters a phase that is not left, and lets go of everything. A state that was given out while
// the call lived may still come back: it names this call, which is not there any more, so that its
// owner refuses it without anything being remembered.
func (c *Call) end(as Phase) {
	c.phase, c.sink, c.pending, c.latest = as, 0, nil, nil
	c.result, c.err = nil, nil
	c.due, c.reassure = time.Time{}, time.Time{}
	if !c.forgotten {
		c.forgotten = true
		c.do(Effect{Do: Forget})
	}
}

// arm asks for the timer when it is not set or set too late. One that is set too early fires, finds nothing due, and is set anew.
func (c *Call) arm() {
	at := c.due
	if !c.reassure.IsZero() && c.reassure.Before(at) {
		at = c.reassure
	}
	if at.IsZero() || !c.armed.IsZero() && !at.Before(c.armed) {
		return
	}
	c.armed = at
	c.do(Effect{Do: Arm, At: at})
}
