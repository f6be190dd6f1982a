package client

import (
	"errors"
	"time"

	"mcpd/internal/sortedmap"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport/streamable"
)

// Pauses before the connection starts over with a server that has forgotten its session or is
// another, more often than Options.Intensity allows. A server that forgets each session before it
// was of use is given up when the last pause is reached: the connection ends, and its supervisor
// counts that.
const (
	FirstRenewalPause = 50 * time.Millisecond
	MaxRenewalPause   = time.Second
)

// over turns the end of the transport into the reason for which this incarnation exits. A session
// that the server has forgotten is no reason: the server is there, and takes another session.
// Neither is the end of a program that was probed: it is started once more, and asked to
// initialize.
func (c *Connection) over(err error) error {
	if c.handshake.Died() {
		c.o.Known.endsOnProbe.Store(true)
		c.abandon(c.blame(err))
		c.begin(0)
		return nil
	}
	if c.resumed && errors.Is(err, streamable.ErrSessionLost) { // the server has not kept the session
		c.begin(0)
		return nil
	}
	if c.remote() && !errors.Is(err, streamable.ErrSessionLost) && absent(err) {
		return c.away(err, true)
	}
	if v, ok := c.handshake.Again(); ok {
		c.past.InitializeRevision = v
		c.abandon(c.blame(err))
		c.begin(0)
		return nil
	}
	if !errors.Is(err, streamable.ErrSessionLost) ||
		c.state != Ready && c.renewals.gap == MaxRenewalPause {
		return c.final(err)
	}
	c.renew(err)
	return nil
}

// final returns the reason for which this incarnation exits with an error. A server whose end has a
// permanent cause is not started again. A server behind a URL that answers, but not so that it can
// be used, is dialled again at growing pauses, like one that does not answer.
func (c *Connection) final(err error) error {
	if err != nil && !otp.IsNormal(err) && c.greeting() {
		err = atStart{err}
	}
	switch {
	case err == nil:
		return nil
	case EndingOf(err).Permanent:
		return otp.ShutdownWith(c.blame(err))
	case c.remote() && c.state == Starting && !otp.IsNormal(err):
		return c.away(err, true)
	}
	return err
}

// renewals decides when the connection starts over.
type renewals struct {
	backoff
	atOnce slidingLimit
}

// wait returns the pause before the connection starts over. The last session was useful if the
// server was ready with it.
func (r *renewals) wait(now time.Time, useful bool) (wait time.Duration) {
	switch {
	case !useful:
		wait = r.afterFailure()
	case r.atOnce.take(now):
		r.gap = 0
	default:
		wait = r.next(now)
	}
	r.record(now.Add(wait))
	return wait
}

// renew starts over with a server that has forgotten everything, or is another. It does so at once,
// as a program that died is started again. It backs off when the last session was of no use, or
// when that happens too often.
func (c *Connection) renew(cause error) {
	wait := c.renewals.wait(c.p.Now(), c.state == Ready)
	c.abandon(c.blame(cause))
	c.begin(wait)
}

// recordEnd records and reports how a server was lost.
func (c *Connection) recordEnd(cause *Ending) {
	c.cause = cause
	c.tellEnded(cause)
	if c.state == Ready {
		c.lostAt = c.p.Now()
	}
}

// abandon settles what was under way with a server that is gone, and records why.
func (c *Connection) abandon(cause *Ending) {
	if !c.absence.away { // otherwise it was reported
		c.recordEnd(cause)
	}
	for _, a := range c.asked {
		a.timer.Stop()
	}
	for _, f := range c.calls.all() {
		f.settle(cause)
	}
	for id := range c.questions.All() {
		c.dropQuestion(id)
	}
	for _, d := range c.mrtrCalls {
		d.timer.Stop()
	}
	for _, l := range sortedmap.SortedBy(c.listens, jsonrpc.ID.Compare) {
		l.timer.Stop()
		c.settleListen(l, cause)
	}
	c.lost(c.o.Server, c.p.Now())
}
