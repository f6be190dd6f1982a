package client

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
	"mcpd/protocol/tasks"
	"mcpd/supervisor/otp"
)

// A server that nothing needs may sleep: its transport is closed, and dialled again by the next
// call. Who uses the connection notices nothing but the time that takes. What clients had asked for
// is asked for again, as after any other end of a server, its lists are compared with those
// from before, and the session of a server behind a URL is gone on with: see park.

// AnswerTime is how long a server that asked a client something, by a result, is kept for the
// answer: what it asked may refer to what it has in memory.
const AnswerTime = 5 * time.Minute

// drowsed says that it is to be looked at whether the server may sleep.
type drowsed struct{}

func (c *Connection) asleep() bool { return c.state == Stopped }

// staysAwake sees to it that the server does not sleep for so long.
func (c *Connection) staysAwake(d time.Duration) { c.staysAwakeAfter(c.p.Now(), d) }

// staysAwakeAfter does so from a moment on.
func (c *Connection) staysAwakeAfter(from time.Time, d time.Duration) {
	if until := from.Add(d); c.until.Before(until) {
		c.until = until
	}
}

// needs takes note of an answer: the server is in use, and a task that it has begun, or a question,
// needs it for longer.
func (c *Connection) needs(result jsontext.Value) {
	if c.o.Idle == 0 {
		return
	}
	c.staysAwake(c.o.Idle)
	switch kind, _ := splice.GetString(result, "resultType"); kind {
	case "task":
		c.staysAwake(tasks.KeptFor(result))
	case "input_required":
		c.staysAwake(AnswerTime)
	}
}

// needed reports whether the server has something in hand, or is to tell of something. Lists are no
// such thing: a server that sleeps does not change them, and what another program changed is seen
// when it is back.
func (c *Connection) needed() bool {
	inHand := c.calls.len() + len(c.queue) + len(c.drives) + c.questions.Len() + c.instances.Len() +
		len(c.doubted) + len(c.untold)
	// the host itself asks something, which no listen is
	return inHand > 0 || c.clients.hold() || !c.interest.Idle() || len(c.asked) > len(c.listens)
}

// maybeSleep ends a server that nothing needs. Those which another connection hands its calls are
// ended by that.
func (c *Connection) maybeSleep() {
	if c.o.Idle == 0 || c.state != Ready || c.primary != (otp.Ref{}) {
		return
	}
	if c.needed() {
		c.staysAwake(c.o.Idle)
	}
	c.staysAwakeAfter(c.way.usedLast(), c.o.Idle)
	if wait := c.until.Sub(c.p.Now()); wait > 0 {
		c.drowsy = c.p.After(wait, drowsed{})
		return
	}
	c.sleep(closedIdle)
}

// wake begins anew with a server that sleeps.
func (c *Connection) wake() {
	if c.asleep() {
		c.begin(0)
	}
}
