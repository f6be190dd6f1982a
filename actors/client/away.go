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

// A server behind a URL may be away: no connection to it can be made, its stream has ended, or a
// gateway before it says that it is not there. The connection is then in backoff, and does not dial
// by itself. The catalogue lets one connection to the server dial at a time, and tells the others
// when the server is back. An in-flight request goes on for as long as its own network connection
// holds.

const (
	// AwayGrace is how long calls wait for a server that is away: as long as a restart takes. Later
	// calls are refused at once, and their callers are told when the server is dialled again.
	AwayGrace = 3 * time.Second
	// AwayAlone is how long a connection to an absent server waits to be told to dial. After that it
	// dials by itself.
	AwayAlone = 2 * time.Minute
	// leastRetry is the shortest time that a refused caller is told to wait.
	leastRetry = 100 * time.Millisecond
)

// Redial tells a connection whose server is away to dial. The catalogue sends it.
type Redial struct{}

// Pause tells a connection whose server is away how long it is until some connection dials. The
// catalogue sends it.
type Pause struct{ For time.Duration }

// Check makes a connection probe its server, which another connection has not found. The catalogue
// sends it.
type Check struct{}

// graceOver is the message that calls have waited for AwayGrace. aloneDialDue is the message that
// nobody has told a connection to dial for AwayAlone.
type (
	graceOver    struct{}
	aloneDialDue struct{ times uint64 }
)

// absence records how long the server has been away. It lasts until the connection is ready.
type absence struct {
	away   bool // away, as far as is known; false while the connection starts over
	asking bool // it is being probed
	since  time.Time
	until  time.Time // when it is dialled again, as far as that is known
	times  uint64    // how often it was found away
}

// remote reports whether the server is behind a URL.
func (c *Connection) remote() bool {
	return !c.piped() || c.o.Transport == tenant.HTTP.String() || c.o.Transport == tenant.SSE.String()
}

// absent reports whether an error means that nothing answers at a URL.
func absent(err error) bool {
	if status, ok := errors.AsType[*streamable.StatusError](err); ok {
		return status.Gateway()
	}
	return transport.IsUnreachable(err) || transport.IsConnectionLost(err)
}

// unreached reports whether a request has failed because the server is away. While the server is in
// use, only a refused connection shows that: a cut connection or a missing answer may concern this
// one request alone.
func (c *Connection) unreached(err error) bool {
	return err != nil && c.remote() &&
		(transport.IsUnreachable(err) || c.state != Ready && absent(err))
}

// away enters backoff, unless the connection is in backoff already. Gone says that the transport
// has ended, and everything in flight with it.
func (c *Connection) away(err error, gone bool) error {
	if EndingOf(err).Permanent || c.removed && gone { // a removed server is not dialled again
		return otp.ShutdownWith(c.blame(err))
	}
	a := &c.absence
	if a.away && !a.asking && !gone {
		return nil
	}
	now := c.p.Now()
	if a.since.IsZero() {
		a.since = now
		c.p.After(AwayGrace, graceOver{})
	}
	a.times++
	c.p.After(AwayAlone, aloneDialDue{a.times})
	cause := c.blame(err)
	if gone || c.state == Starting {
		c.leave()
		c.abandon(cause)
		c.reset()
	} else {
		c.recordEnd(cause)
	}
	a.away, a.asking = true, false
	c.enter(Backoff, cause)
	c.maybeRefuse()
	return nil
}

// redialNow dials. If there is a session with the server, it first asks whether the server still
// knows the session: a short outage must not lose what the server keeps in it.
func (c *Connection) redialNow() error {
	a := &c.absence
	switch {
	case !a.away || a.asking:
		return nil
	case c.up == nil || c.facts.Version == 0 || c.info().Stateless && c.calls.len() == 0:
		a.away = false
		if c.up != nil {
			c.leave()
			c.abandon(EndingOf(c.cause))
		}
		c.begin(0)
		return nil
	}
	a.asking = true
	return c.request(c.probeMethod(), nil, c.o.RequestTimeout(),
		func(_ jsontext.Value, err error) error {
			switch {
			case !a.asking: // it was found away again
				return nil
			case protocol.ConditionOf(err) == protocol.ConditionTimeout:
				return c.away(err, false)
			}
			c.openToCalls()
			c.gap = true // nobody heard what the server has announced meanwhile
			c.treatAllAsChanged()
			return nil
		})
}

// probeMethod returns a request that every server of the agreed era answers.
func (c *Connection) probeMethod() string { return era.ProbeMethod(c.facts.Version.Era()) }

// check probes the server. If the server is away, the failed request shows it.
func (c *Connection) check() error {
	if c.state != Ready || !c.remote() {
		return nil
	}
	return c.request(
		c.probeMethod(),
		nil,
		c.o.RequestTimeout(),
		func(jsontext.Value, error) error { return nil },
	)
}

// pausedFor records when the server is dialled again.
func (c *Connection) pausedFor(wait time.Duration) {
	c.absence.until = c.p.Now().Add(wait)
	c.maybeRefuse()
}

// overdue reports whether calls no longer wait for the server.
func (c *Connection) overdue() bool {
	return !c.absence.since.IsZero() && c.p.Now().Sub(c.absence.since) >= AwayGrace
}

// maybeRefuse refuses the calls that have waited for long enough. It also grants the subscription
// intents, which are carried out when the server is back.
func (c *Connection) maybeRefuse() {
	if !c.overdue() {
		return
	}
	c.refuseAll()
	c.stepInterest(interest.Event{Op: interest.GiveUp})
}

// refuseAll refuses all queued calls.
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

// handleAbsence handles what the catalogue says of a server that is away, and the timers of the
// absence.
func (c *Connection) handleAbsence(msg any) (err error, handled bool) {
	switch m := msg.(type) {
	case Redial:
		return c.redialNow(), true
	case Pause:
		c.pausedFor(m.For)
	case Check:
		return c.check(), true
	case graceOver:
		c.maybeRefuse()
	case aloneDialDue:
		if m.times == c.absence.times {
			return c.redialNow(), true
		}
	default:
		return nil, false
	}
	return nil, true
}

// Class returns otp.Reserved (reserved), so a full mailbox does not refuse the message: there is
// one for each Report.
func (Redial) Class() otp.Class { return otp.Reserved }

// Class returns otp.Reserved, as for Redial.
func (Pause) Class() otp.Class { return otp.Reserved }

// Class returns otp.Reserved, as for Redial.
func (Check) Class() otp.Class { return otp.Reserved }
