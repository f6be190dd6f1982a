package catalog

import (
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/internal/order"
)

// Pauses between dials of a server behind a URL that is away. They double from the first, and are half a
// second or a tenth of how long it has been away, whichever is longer: so it is ready again soon after
// it is back, and costs little meanwhile. The time is that of the whole server: one connection dials,
// which is the probe, and its success ends the pause of all.
const (
	FirstDial   = 100 * time.Millisecond
	SteadyDial  = 500 * time.Millisecond
	LastDial    = 30 * time.Second
	DialFlap    = 5 * time.Second // a server that is ready for less has not come back
	dialedLater = 10              // the share of the absence that a pause is
)

// absence is a server behind a URL that nothing reaches.
type absence struct {
	why   *client.Ending
	since time.Time
	gap   time.Duration
	until time.Time
	probe tenant.Key // of the connection that dials
	dials bool
	times uint64 // that it was found away
	flaps int    // that it was back for less than DialFlap before
}

// awayDue says that a pause is over.
type awayDue struct {
	server string
	times  uint64
}

// grow begins the next pause.
func (a *absence) grow(now time.Time, draw func(time.Duration) time.Duration) time.Duration {
	last := min(max(SteadyDial<<min(a.flaps, 5), now.Sub(a.since)/dialedLater), LastDial)
	a.gap = min(max(2*a.gap, FirstDial), last)
	wait := a.gap*3/4 + draw(a.gap/4+1)
	a.until, a.dials = now.Add(wait), false
	a.times++
	return wait
}

// wait is how long it is until it is dialled next; the time of a dial counts as the shortest.
func (a *absence) wait(now time.Time) time.Duration { return max(a.until.Sub(now), FirstDial) }

// attended follows what a connection says of a server behind a URL.
func (c *Catalog) attended(s *server, r *client.Report) {
	now := c.p.Now()
	switch {
	case r.Away:
		c.away(s, r.Key, client.EndingFor(r.Key, r.Cause), now)
	case s.away == nil:
	case r.State == client.Ready:
		a := s.away
		s.away, s.back = nil, now
		s.flaps = a.flaps
		for key, conn := range order.By(s.conns, tenant.Key.Compare) {
			if key != r.Key && conn.report.Away {
				_ = c.p.Send(conn.ref, client.Redial{}) // one that is gone is gone
			}
		}
		if !s.sup.IsZero() {
			c.resume(s)
		}
	case r.State != client.Starting && r.Key == s.away.probe: // it ends otherwise
		c.undialled(s, r.Key)
	}
}

// away hears that a connection finds nobody at the URL.
func (c *Catalog) away(s *server, key tenant.Key, why *client.Ending, now time.Time) {
	a := s.away
	switch {
	case a == nil:
		a = &absence{since: now}
		if now.Sub(s.back) < DialFlap {
			a.flaps = min(s.flaps+1, 10)
			a.gap = FirstDial << a.flaps / 2
		}
		s.away = a
		for other, conn := range order.By(s.conns, tenant.Key.Compare) {
			if other != key && conn.report.State == client.Ready {
				_ = c.p.Send(conn.ref, client.Check{}) // one that is gone is gone
			}
		}
	case a.dials && a.probe != key || !a.dials && a.until.After(now): // another dials, or is going to
		if conn := s.conns[key]; conn != nil {
			_ = c.p.Send(conn.ref, client.Pause{For: a.wait(now)})
		}
		return
	}
	a.why = why
	c.awaitDial(s, a.grow(now, c.o.Draw))
}

// awaitDial has the server dialled after a pause, which all that wait for it hear of.
func (c *Catalog) awaitDial(s *server, wait time.Duration) {
	for _, conn := range order.By(s.conns, tenant.Key.Compare) {
		if conn.report.Away {
			_ = c.p.Send(conn.ref, client.Pause{For: wait}) // one that is gone is gone
		}
	}
	c.p.After(wait, awayDue{s.config.Name, s.away.times})
}

// redial has one of the connections that wait dial. Without any the next that is opened does.
func (c *Catalog) redial(m awayDue) {
	s := c.servers[m.server]
	if s == nil || s.away == nil || s.away.times != m.times || s.away.dials {
		return
	}
	for key, conn := range order.By(s.conns, tenant.Key.Compare) {
		if conn.report.Away && c.p.Send(conn.ref, client.Redial{}) == nil {
			s.away.probe, s.away.dials = key, true
			return
		}
	}
}

// undialled has another connection dial when the one that did is no more.
func (c *Catalog) undialled(s *server, key tenant.Key) {
	if a := s.away; a != nil && a.dials && a.probe == key {
		c.awaitDial(s, a.grow(c.p.Now(), c.o.Draw))
	}
}

// closedBy reports whether no further connection is to be opened because the server is away, and until
// when. The one that may be is the probe.
func (a *absence) closedBy(now time.Time) (wait time.Duration, closed bool) {
	if a == nil || !a.dials && !a.until.After(now) {
		return 0, false
	}
	return a.wait(now), true
}
