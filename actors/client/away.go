package client

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client/internal/era"
	"mcpd/actors/client/internal/interest"
	"mcpd/actors/request"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// A server behind a URL may be away: no connection to it can be made, its stream has ended, or what
// stands before it says that it is not there. The connection is in backoff then, and does not dial by
// itself: the catalogue has one connection of all to the server dial at a time, and tells the others
// when it is back. What is in flight goes on for as long as its own line holds.

const (
	// AwayGrace is how long calls wait for a server that is away: as long as a restart takes. Later
	// ones are refused at once, and told when the server is dialled again.
	AwayGrace = 3 * time.Second
	// AwayAlone is when a connection dials a server that is away although nobody has told it to.
	AwayAlone = 2 * time.Minute
	// leastRetry is the least that a refused caller is told to wait.
	leastRetry = 100 * time.Millisecond
)

// Redial tells a connection whose server is away to dial. The catalogue sends it.
type Redial struct{}

// Pause tells a connection whose server is away how long it is until some connection dials. The
// catalogue sends it.
type Pause struct{ For time.Duration }

// Check has a connection see whether its server is there, which another has not found. The catalogue
// sends it.
type Check struct{}

// graceOver says that calls have waited for AwayGrace, and unled that nobody has told a connection to
// dial for AwayAlone.
type (
	graceOver struct{}
	unled     struct{ times uint64 }
)

// absence is how long the server has been away. It lasts until the connection is ready.
type absence struct {
	is     bool // away, as far as is known; false while all begins anew
	asking bool // it is being asked for a sign
	since  time.Time
	until  time.Time // when it is dialled again, as far as that is known
	times  uint64    // that it was found away
}

// remote reports whether the server is behind a URL.
func (c *Connection) remote() bool {
	return !c.piped() || c.o.Transport == tenant.HTTP.String() || c.o.Transport == tenant.SSE.String()
}

// absent reports whether an error says that nothing answers at a URL.
func absent(err error) bool {
	if status, ok := errors.AsType[*streamable.StatusError](err); ok {
		return status.Gateway()
	}
	return transport.Unreached(err) || transport.Severed(err)
}

// unreached reports whether a request has failed because the server is away. Of one that is in use only
// a refused connection says so: what was cut, or had no answer, may be the one request's own trouble.
func (c *Connection) unreached(err error) bool {
	return err != nil && c.remote() && (transport.Unreached(err) || c.state != Ready && absent(err))
}

// away goes into backoff, if it is not in it. Gone says that the transport has ended, and with it all
// that was in flight.
func (c *Connection) away(err error, gone bool) error {
	if EndingOf(err).Permanent || c.removed && gone { // it is not dialled again
		return otp.ShutdownWith(c.blame(err))
	}
	a := &c.absence
	if a.is && !a.asking && !gone {
		return nil
	}
	now := c.p.Now()
	if a.since.IsZero() {
		a.since = now
		c.p.After(AwayGrace, graceOver{})
	}
	a.times++
	c.p.After(AwayAlone, unled{a.times})
	cause := c.blame(err)
	if gone || c.state == Starting {
		c.leave()
		c.abandon(cause)
		c.reset()
	} else {
		c.ends(cause)
	}
	a.is, a.asking = true, false
	c.enter(Backoff, cause)
	c.maybeRefuse()
	return nil
}

// redialNow dials. A server with which there is a session is asked whether it knows that still: what it
// keeps there is not to be lost for a moment in which nobody could reach it.
func (c *Connection) redialNow() error {
	a := &c.absence
	switch {
	case !a.is || a.asking:
		return nil
	case c.up == nil || c.facts.Version == 0 || c.info().Stateless && c.calls.len() == 0:
		a.is = false
		if c.up != nil {
			c.leave()
			c.abandon(EndingOf(c.cause))
		}
		c.begin(0)
		return nil
	}
	a.asking = true
	return c.request(c.sign(), nil, c.o.RequestTimeout(), func(_ jsontext.Value, err error) error {
		switch {
		case !a.asking: // it was found away again
			return nil
		case protocol.ConditionOf(err) == protocol.ConditionTimeout:
			return c.away(err, false)
		}
		c.inUse()
		c.gap = true // what the server has announced meanwhile was heard by nobody
		c.missedAny()
		return nil
	})
}

// sign is a request that every server of the era that was agreed on answers.
func (c *Connection) sign() string { return era.Question(c.facts.Version.Era()) }

// check asks the server for a sign. When it is away, that is found out on the way there.
func (c *Connection) check() error {
	if c.state != Ready || !c.remote() {
		return nil
	}
	return c.request(
		c.sign(),
		nil,
		c.o.RequestTimeout(),
		func(jsontext.Value, error) error { return nil },
	)
}

// pausedFor takes note of when the server is dialled again.
func (c *Connection) pausedFor(wait time.Duration) {
	c.absence.until = c.p.Now().Add(wait)
	c.maybeRefuse()
}

// overdue reports whether calls do not wait for the server any longer.
func (c *Connection) overdue() bool {
	return !c.absence.since.IsZero() && c.p.Now().Sub(c.absence.since) >= AwayGrace
}

// maybeRefuse refuses the calls that have waited for long enough, and grants the wishes: they are made
// when the server is back.
func (c *Connection) maybeRefuse() {
	if !c.overdue() {
		return
	}
	c.refuseAll()
	c.interested(interest.Event{Op: interest.GiveUp})
}

// refuseAll refuses all calls that wait.
func (c *Connection) refuseAll() {
	for len(c.queue) > 0 {
		c.refuseAway(c.pop())
	}
}

// refuseAway refuses a call, and says when the server is tried again.
func (c *Connection) refuseAway(x *request.Exchange) {
	err := c.lostError(x, x.Executed(), c.cause)
	if e, ok := errors.AsType[*protocol.Error](err); ok && !c.removed {
		e.RetryAfter = max(c.absence.until.Sub(c.p.Now()), leastRetry)
	}
	c.settled(x)
	c.dropQuestionsOf(x.ID)
	complete(x, nil, err)
}

// leads handles what the catalogue says of a server that is away.
func (c *Connection) leads(msg any) (err error, handled bool) {
	switch m := msg.(type) {
	case Redial:
		return c.redialNow(), true
	case Pause:
		c.pausedFor(m.For)
	case Check:
		return c.check(), true
	case graceOver:
		c.maybeRefuse()
	case unled:
		if m.times == c.absence.times {
			return c.redialNow(), true
		}
	default:
		return nil, false
	}
	return nil, true
}

// Class lets what the catalogue says of an absence in however full the mailbox is: each is for one
// Report.
func (Redial) Class() otp.Class { return otp.Owed }

// Class is that of Redial.
func (Pause) Class() otp.Class { return otp.Owed }

// Class is that of Redial.
func (Check) Class() otp.Class { return otp.Owed }
