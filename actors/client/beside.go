package client

import (
	"slices"
	"time"

	"mcpd/actors/request"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
)

// A call whose user is being asked lasts for minutes. When every instance of a server has such a
// call, the calls that wait for their turn are written beside it: otherwise a few users who do not
// answer would keep everybody else from the server. A question that could then be of more than one
// call is refused, so a question still never reaches the wrong user.

const (
	// MaxAskers bounds the tools and prompts of which it is remembered that they ask their user.
	MaxAskers = 256
	// askerName is the longest name that is remembered, in bytes.
	askerName = 256
	// askersRetry is when a caller is told to try again that was refused because users are asked.
	askersRetry = 5 * time.Second
)

// writeBeside writes the calls that wait for their turn beside a call whose user has been asked for
// a while, here or on another instance. A call of which it is known that it asks its user goes on
// waiting: its question would be refused.
func (c *Connection) writeBeside() {
	for i := 0; i < len(c.queue) && c.state == Ready && !c.stuffed && !c.interest.Holds() && !c.asksFirst(); {
		x := c.queue[i]
		if c.free(x) || c.mayGrow(x) {
			return
		}
		to, since := c.passableAt()
		switch wait := Patience - c.p.Now().Sub(since); {
		case since.IsZero():
			return
		case wait > 0:
			c.lookAgain(wait)
			return
		case c.askers[asker(x)] && !x.Resent(), to != nil && x.Stays:
			i++
		case to == nil:
			c.queue = slices.Delete(c.queue, i, i+1)
			c.write(x)
		case c.hand(x, to):
			c.queue = slices.Delete(c.queue, i, i+1)
		default:
			to.asks = nil // it has ended
		}
	}
}

// passableAt is the instance on which a call can be written beside one whose user is asked, and since
// when the user is. Nil is this connection, which comes first. A zero time is for no instance at all.
func (c *Connection) passableAt() (to *instance, since time.Time) {
	if since, ok := c.askedSince(); ok {
		return nil, since
	}
	for _, i := range c.instances {
		if d := i.asks; i.busy && d != nil && !d.passable.IsZero() &&
			(since.IsZero() || d.passable.Before(since)) {
			to, since = i, d.passable
		}
	}
	return to, since
}

// mayGrow reports whether another instance can be had for a call that waits for its turn.
func (c *Connection) mayGrow(x *request.Exchange) bool {
	return c.primary == (otp.Ref{}) && c.o.Instances > 1 && !x.Stays && !c.denied && len(c.instances)+1 < c.most()
}

// askedSince is when the newest question was asked that a call in flight waits for. It reports
// false unless all calls in flight either wait for their user or were themselves written beside one
// that does.
func (c *Connection) askedSince() (since time.Time, ok bool) {
	waits := map[uint64]time.Time{}
	for _, o := range c.open {
		if o.drive == nil && o.late == nil && o.since.After(waits[o.call]) {
			waits[o.call] = o.since
		}
	}
	for _, f := range c.calls.all() {
		at, asked := waits[f.x.ID]
		switch {
		case f.beside || !interactive(f.x.Method):
		case !asked:
			return time.Time{}, false
		case at.After(since):
			since, ok = at, true
		}
	}
	return since, ok
}

// unaddressed refuses a question that could be of several calls, or of none.
func (c *Connection) unaddressed() error {
	if c.hasBeside() {
		return &protocol.Error{
			Condition:  protocol.ConditionOverloaded,
			RetryAfter: askersRetry,
			Message: "another user is being asked, " +
				"and this does not say during which call it is asked",
		}
	}
	return protocol.InvalidParams(
		"no call is in flight that it could belong to, and this does not say which client it is for",
	)
}

func (c *Connection) hasBeside() bool {
	for _, f := range c.calls.all() {
		if f.beside {
			return true
		}
	}
	return false
}

// noteAsker remembers that calls such as x ask their user.
func (c *Connection) noteAsker(x *request.Exchange) {
	if f := c.flightOf(x.ID); f != nil {
		f.beside = false // others may be written beside it from now on
	}
	if c.exclusive() {
		c.remember(asker(x))
	}
}

// remember notes a tool or prompt that asks its user.
func (c *Connection) remember(asker string) {
	if asker == "" || len(c.askers) >= MaxAskers {
		return
	}
	if c.askers == nil {
		c.askers = map[string]bool{}
	}
	c.askers[asker] = true
}

// asker names the tool, prompt or resource of a call; empty when the name is too long to be
// remembered.
func asker(x *request.Exchange) string {
	member := "name"
	if x.Method == "resources/read" {
		member = "uri"
	}
	name, _ := splice.GetString(x.Params, member)
	if len(name) > askerName {
		return ""
	}
	return x.Method + " " + name
}

// waitsBeside is the call of a question whose answer has to wait: the server would go on with the
// call, and could ask again while others are written beside it. Nil where it need not.
func (c *Connection) waitsBeside(o *open) *flight {
	f := c.flightOf(o.call)
	if f == nil || o.drive != nil || f.beside || !c.hasBeside() {
		return nil
	}
	return f
}

// lateBytes are those of the answers to questions of a call that wait.
func (c *Connection) lateBytes(call uint64) (n int) {
	for _, o := range c.open {
		if o.call == call && o.late != nil {
			n += o.late.size()
		}
	}
	return n
}

// answerLate passes on the answers that waited for the end of the calls beside their own.
func (c *Connection) answerLate() {
	for _, o := range order.Of(c.open) {
		if a := o.late; a != nil && c.waitsBeside(o) == nil {
			c.answer(a)
		}
	}
}
