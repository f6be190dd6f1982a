package client

import (
	"fmt"
	"slices"
	"time"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// A delayed call is one that waits for users who are asked something during other calls, because the
// server has as many instances as it may. It does not wait for ever: abandoned questions are given up
// for it, and after QuestionWait the call is refused with the reason.

// yieldGrace is how long an instance may take to end a call whose question was given up, before calls
// that wait for it are refused.
const yieldGrace = time.Second

// press has abandoned questions given up for delayed calls, and refuses the calls that have waited
// for too long.
func (c *Connection) press() {
	delayed, dialogs := c.delayed()
	if len(delayed) == 0 {
		if c.waiting != nil {
			c.waiting = nil
			c.showWaits()
		}
		return
	}
	now := c.p.Now()
	c.noteDelayed(delayed, dialogs)
	c.giveUp()
	for _, i := range c.instances {
		if i.asks != nil {
			_ = c.p.Send(i.Ref, yield{})
		}
	}
	for _, x := range delayed {
		waited := now.Sub(c.waiting[x.ID])
		if waited < c.o.QuestionWait()+yieldGrace {
			continue
		}
		c.queue = slices.DeleteFunc(c.queue, func(o *request.Exchange) bool { return o == x })
		c.settled(x)
		refusal := c.usersAsked(waited, dialogs).Unanswered(c.o.Server, false)
		told := protocol.Translate(refusal, x.Version)
		c.o.Emit(request.Rejected(c.about(x), x.Method, x.Params, x.Sink, refusal, told))
		complete(x, nil, refusal)
	}
	c.lookAgain(Patience)
}

// delayed are the delayed calls, and the dialogs that they wait for.
func (c *Connection) delayed() (calls []*request.Exchange, dialogs []dialog) {
	if len(c.queue) == 0 || c.state != Ready || c.primary != (otp.Ref{}) || c.stuffed {
		return nil, nil
	}
	if dialogs = c.dialogs(); len(dialogs) == 0 {
		return nil, nil
	}
	own := c.dialog() != nil
	for _, x := range c.queue {
		// a call that stays waits for this connection only
		if !c.free(x) && !c.mayGrow(x) && (own || !x.Stays) {
			calls = append(calls, x)
		}
	}
	return calls, dialogs
}

// noteDelayed notes since when calls are delayed. It logs once who waits for whom.
func (c *Connection) noteDelayed(calls []*request.Exchange, dialogs []dialog) {
	now, before := c.p.Now(), c.waiting
	c.waiting = map[uint64]time.Time{}
	for _, x := range calls {
		c.waiting[x.ID] = now
		if since, known := before[x.ID]; known {
			c.waiting[x.ID] = since
		}
	}
	if before == nil {
		c.o.Emit(telemetry.CallsWait{
			Where: c.about(calls[0]), Count: uint32(len(calls)), Method: calls[0].Method,
			Cause: telemetry.Clean(inWords(dialogs, now), telemetry.MaxValue),
			For:   c.o.QuestionWait(),
		})
	}
	if len(before) != len(c.waiting) {
		c.showWaits()
	}
}

// usersAsked is the refusal of a call that was delayed for too long.
func (c *Connection) usersAsked(waited time.Duration, dialogs []dialog) *protocol.Error {
	return &protocol.Error{
		Condition: protocol.ConditionTimeout, RetryAfter: askersRetry,
		Message: fmt.Sprintf("server %s has as many instances as there may be, %d, and waits for "+
			"the answers of %d other users; this call has waited for %s",
			c.o.Server, c.most(), len(dialogs), waited.Round(time.Second)),
	}
}

// about is where a call belongs, for the log.
func (c *Connection) about(x *request.Exchange) telemetry.Where {
	at := c.where()
	at.Session = x.Session
	return at
}
