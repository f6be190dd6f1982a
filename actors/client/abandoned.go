package client

import (
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// yield has an instance give up its abandoned questions, because calls wait. It is sent again while
// they do, so it is sheddable.
type yield struct{}

func (yield) Class() otp.Class { return otp.Sheddable }

// giveUp refuses the questions whose client is gone, or silent for too long, so that their calls end
// and others can run.
func (c *Connection) giveUp() {
	now := c.p.Now()
	for id, o := range order.Of(c.open) {
		d := c.dialogOf(o)
		if d == nil {
			continue
		}
		why := d.abandoned(now, c.o.QuestionWait())
		if why == "" {
			continue
		}
		at := c.where()
		at.Session = d.session
		c.o.Emit(telemetry.QuestionGivenUp{
			Where: at, Method: d.method, Cause: why, After: now.Sub(d.since),
		})
		c.dropQuestion(id)
		c.refuse(o.id, o.method, &protocol.Error{
			Condition: protocol.ConditionTimeout,
			Message:   "nobody answers this: " + why + ", and calls of others wait",
		})
	}
}
