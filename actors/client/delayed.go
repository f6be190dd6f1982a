package client

import (
	"fmt"
	"slices"
	"time"

	"mcpd/actors/client/internal/questions"
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// A delayed call waits for users who are asked something during other calls, because the server has
// as many instances as it may. It does not wait for ever: abandoned questions are given up for it,
// and after QuestionWait the call is refused with the reason.

// refuseDelayed logs once which calls wait for which users. It makes instances give up abandoned
// questions for delayed calls, and refuses the calls that have waited for too long.
func (c *Connection) refuseDelayed() {
	delayed, dialogs := c.delayed()
	now, ids := c.p.Now(), make([]uint64, len(delayed))
	for i, x := range delayed {
		ids[i] = x.ID
	}
	begins, changed := c.dialogs.Delay(now, ids)
	if begins {
		c.o.Emit(telemetry.CallsWait{
			Where: c.about(delayed[0]), Count: uint32(len(delayed)), Method: delayed[0].Method,
			Cause: telemetry.Clean(questions.InWords(dialogs, now), telemetry.MaxValue),
			For:   c.o.QuestionWait(),
		})
	}
	if changed {
		c.showWaits()
	}
	if len(delayed) == 0 {
		return
	}
	c.giveUp()
	for ref := range c.instances.Asking() {
		_ = c.p.Send(ref, yield{})
	}
	for _, x := range delayed {
		waited, _ := c.dialogs.Delayed(now, x.ID)
		if waited < c.o.QuestionWait()+questions.Grace {
			continue
		}
		c.queue = slices.DeleteFunc(c.queue, func(o *request.Exchange) bool { return o == x })
		c.settled(x)
		refusal := c.usersAsked(waited, dialogs).WithoutAnswer(c.o.Server, false)
		told := protocol.Translate(refusal, x.Version)
		c.o.Emit(request.Rejected(c.about(x), x.Method, x.Params, x.Sink, refusal, told))
		complete(x, nil, refusal)
	}
	c.lookAgain(Patience)
}

// delayed returns the delayed calls, and the dialogs that they wait for.
func (c *Connection) delayed() (calls []*request.Exchange, dialogs []questions.Dialog) {
	if len(c.queue) == 0 || c.state != Ready || c.primary != (otp.Ref{}) || c.admission.inputFull {
		return nil, nil
	}
	if dialogs = c.allDialogs(); len(dialogs) == 0 {
		return nil, nil
	}
	own := c.dialog() != nil
	for _, x := range c.queue {
		// A call that has to stay waits for this connection only.
		if !c.mayWrite(x) && !c.mayGrow(x) && (own || !x.NeedsConnection) {
			calls = append(calls, x)
		}
	}
	return calls, dialogs
}

// usersAsked returns the refusal of a call that was delayed for too long.
func (c *Connection) usersAsked(waited time.Duration, dialogs []questions.Dialog) *protocol.Error {
	return &protocol.Error{
		Condition: protocol.ConditionTimeout, RetryAfter: askersRetry,
		Message: fmt.Sprintf("server %s has its maximum number of instances, %d, and waits for "+
			"the answers of %d other users; this call has waited for %s",
			c.o.Server, c.view().Most(), len(dialogs), waited.Round(time.Second)),
	}
}

// about returns where a call belongs, for the log.
func (c *Connection) about(x *request.Exchange) telemetry.Where {
	at := c.where()
	at.Session = x.Session
	return at
}
