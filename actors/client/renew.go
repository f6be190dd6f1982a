package client

import (
	"errors"
	"time"

	"mcpd/internal/order"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport/streamable"
)

// Pauses before all is begun anew with a server that has forgotten its session or is another, more
// often than Options.Intensity says. One that forgets each session before it was of use is not
// asked any more when the last is reached: the connection ends then, which is counted.
const (
	FirstRenewal = 50 * time.Millisecond
	LastRenewal  = time.Second
)

// over turns the end of the transport into the reason this incarnation exits with. A session that
// the server has forgotten is no reason: there is a server, and it takes another. Nor is the end of
// a program that was probed: it is started once more and greeted.
func (c *Connection) over(err error) error {
	if c.handshake.Died() {
		c.o.Known.dies.Store(true)
		c.abandon(c.blame(err))
		c.begin(0)
		return nil
	}
	if c.resumed && errors.Is(err, streamable.ErrSessionLost) { // the server has not kept it
		c.begin(0)
		return nil
	}
	if c.remote() && !errors.Is(err, streamable.ErrSessionLost) && absent(err) {
		return c.away(err, true)
	}
	if v, ok := c.handshake.Again(); ok {
		c.past.Greets = v
		c.abandon(c.blame(err))
		c.begin(0)
		return nil
	}
	if !errors.Is(err, streamable.ErrSessionLost) ||
		c.state != Ready && c.renewals.gap == LastRenewal {
		return c.final(err)
	}
	c.renew(err)
	return nil
}

// final is the reason for which this incarnation exits with an error: one whose cause is permanent is
// not started again. A server behind a URL that answers, but not so that it can be used, is dialled
// again at growing pauses, as one that does not answer.
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

// renewals says when all is begun anew.
type renewals struct {
	pace
	atOnce allowance
}

// wait is how long it takes until then, where the last time was of use or not.
func (r *renewals) wait(now time.Time, useful bool) (wait time.Duration) {
	switch {
	case !useful:
		wait = r.afterFailure()
	case r.atOnce.take(now):
		r.gap = 0
	default:
		wait = r.next(now)
	}
	r.did(now.Add(wait))
	return wait
}

// renew begins anew with a server that has forgotten everything, or is another: at once, as a
// program that died is started again, or less and less at once when it was of no use or that
// happens too often.
func (c *Connection) renew(why error) {
	wait := c.renewals.wait(c.p.Now(), c.state == Ready)
	c.abandon(c.blame(why))
	c.begin(wait)
}

// ends remembers and tells how a server was lost.
func (c *Connection) ends(cause *Ending) {
	c.cause = cause
	c.tellEnded(cause)
	if c.state == Ready {
		c.lostAt = c.p.Now()
	}
}

// abandon settles what was under way with a server that is no more, and remembers why.
func (c *Connection) abandon(cause *Ending) {
	if !c.absence.is { // else it was told
		c.ends(cause)
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
	for _, d := range c.drives {
		d.timer.Stop()
	}
	for _, l := range order.By(c.listens, jsonrpc.ID.Compare) {
		l.timer.Stop()
		c.settleListen(l, cause)
	}
	c.lost(c.o.Server, c.p.Now())
}
