package held

import (
	"time"
)

// expire handles the time-outs that are due.
func (c *Call) expire() {
	switch {
	case c.due.IsZero():
	case c.now.Before(c.due):
		if !c.progressAt.IsZero() && !c.now.Before(c.progressAt) {
			c.sendProgress()
		}
	case c.phase == Collecting:
		c.publish()
	default:
		c.abandon(Expired)
	}
}

// scheduleProgress schedules a progress notification to the server if a question has a progress
// token.
func (c *Call) scheduleProgress() {
	for _, q := range c.pending {
		if len(q.token) > 0 && c.progressAt.IsZero() {
			c.progressAt = c.now.Add(ProgressInterval)
		}
	}
}

// sendProgress sends the server progress of its questions.
func (c *Call) sendProgress() {
	for i := range c.pending {
		if q := &c.pending[i]; len(q.token) > 0 {
			c.do(Effect{Do: SendProgress, Params: q.progressParams()})
		}
	}
	c.progressAt = time.Time{}
	c.scheduleProgress()
}

// end enters a final phase and drops all content. A state that was given out earlier may still
// arrive. It names this call, which no longer exists, so the owner refuses the state without any
// record of it.
func (c *Call) end(as Phase) {
	c.phase, c.sink, c.pending, c.lastProgress = as, 0, nil, nil
	c.result, c.err = nil, nil
	c.due, c.progressAt = time.Time{}, time.Time{}
	if !c.forgotten {
		c.forgotten = true
		c.do(Effect{Do: Forget})
	}
}

// arm sets the timer if it is not set or is set too late. A timer that is set too early fires,
// finds nothing due, and is set again.
func (c *Call) arm() {
	at := c.due
	if !c.progressAt.IsZero() && c.progressAt.Before(at) {
		at = c.progressAt
	}
	if at.IsZero() || !c.armed.IsZero() && !at.Before(c.armed) {
		return
	}
	c.armed = at
	c.do(Effect{Do: Arm, At: at})
}
