package client

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
	"mcpd/protocol/tasks"
	"mcpd/supervisor/otp"
)

// A server that nothing needs may sleep: its transport is closed, and the next call dials it again.
// The users of the connection notice only the time that this takes. Everything that clients had
// asked for is asked for again, as after any other end of a server. The lists are compared with
// those from before, and the session of a server behind a URL is resumed: see park.

// AnswerTime is how long a server that asked a client something, by a result, is kept for the
// answer: the question may refer to what the server has in memory.
const AnswerTime = 5 * time.Minute

// idleTimerDue says that it is time to check whether the server may sleep (the idle timer).
type idleTimerDue struct{}

func (c *Connection) asleep() bool { return c.state == Stopped }

// staysAwake keeps the server from sleeping for d from now on.
func (c *Connection) staysAwake(d time.Duration) { c.staysAwakeAfter(c.p.Now(), d) }

// staysAwakeAfter keeps the server from sleeping for d after a given moment.
func (c *Connection) staysAwakeAfter(from time.Time, d time.Duration) {
	if until := from.Add(d); c.until.Before(until) {
		c.until = until
	}
}

// needs takes note of an answer: the server is in use. A task that it has begun, or a question,
// needs the server for longer.
func (c *Connection) needs(result jsontext.Value) {
	if c.o.Idle == 0 {
		return
	}
	c.staysAwake(c.o.Idle)
	switch kind, _ := jsonedit.GetString(result, "resultType"); kind {
	case "task":
		c.staysAwake(tasks.RetentionOf(result))
	case "input_required":
		c.staysAwake(AnswerTime)
	}
}

// needed reports whether the server has work in progress or something to announce. Lists do not
// count: a server that sleeps does not change them, and the changes of another program are seen
// when the server is back.
func (c *Connection) needed() bool {
	inHand := c.calls.len() + len(c.queue) + len(c.mrtrCalls) + c.questions.Len() + c.instances.Len() +
		len(c.heldRefusals) + len(c.pendingNotifications)
	// The last condition is a request of the host itself that is not a listen.
	return inHand > 0 || c.clients.anyHolds() || !c.interest.Idle() || len(c.asked) > len(c.listens)
}

// maybeSleep ends a server that nothing needs. Instances are ended by the connection that hands
// them calls.
func (c *Connection) maybeSleep() {
	if c.o.Idle == 0 || c.state != Ready || c.primary != (otp.Ref{}) {
		return
	}
	if c.needed() {
		c.staysAwake(c.o.Idle)
	}
	c.staysAwakeAfter(c.shortcut.usedLast(), c.o.Idle)
	if wait := c.until.Sub(c.p.Now()); wait > 0 {
		c.idleTimer = c.p.After(wait, idleTimerDue{})
		return
	}
	c.sleep(closedIdle)
}

// wake starts a sleeping server again.
func (c *Connection) wake() {
	if c.asleep() {
		c.begin(0)
	}
}
