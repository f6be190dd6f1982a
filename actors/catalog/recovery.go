package catalog

import (
	"time"

	"mcpd/actors/catalog/internal/recovery"
	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/internal/order"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// LastDial is the longest pause between two dials of a server behind a URL that is away.
const LastDial = recovery.LastDial

// Messages that only the catalogue sends itself: pauses are over.
type (
	retry struct {
		server string
		key    tenant.Key
	}
	awayDue struct {
		server string
		times  uint64
	}
)

// follow does what is to be done because of something that happened to a connection.
func (c *Catalog) follow(s *server, in recovery.Event) {
	name := s.config.Name
	for _, e := range s.recovery.Step(c.p.Now(), c.o.Draw, in) {
		switch e.Do {
		case recovery.Quarantined:
			c.quarantined(s, e)
		case recovery.CrashLoop:
			c.o.Emit(telemetry.UpstreamCrashLoop{
				Where:    telemetry.Where{Tenant: c.tenant.Name, Server: name, Incident: e.Ending.Incident},
				Restarts: uint32(s.config.Intensity.Restarts), Within: s.config.Intensity.Within,
				Retry: e.Wait, Class: e.Ending.Class(), Cause: e.Ending.Text, Starts: e.Ending.Starts,
			})
		case recovery.Released:
			c.released(s, byProbe)
		case recovery.Retry:
			c.p.After(e.Wait, retry{name, e.Key})
		case recovery.Fail:
			c.drop(s, e.Key)
			c.retire(s, e.Key)
			c.follow(s, recovery.Event{Op: recovery.GiveUp, Key: e.Key, Ending: e.Ending})
		case recovery.Resume:
			c.resume(s)
		case recovery.Wait:
			c.p.After(e.Wait, awayDue{name, e.Times})
		default:
			c.lead(s, e)
		}
	}
}

// lead tells connections what to do about a server that is away. One that is gone is gone.
func (c *Catalog) lead(s *server, e recovery.Effect) {
	for key, conn := range order.By(s.conns, tenant.Key.Compare) {
		away, other := conn.report.Away, key != e.Key
		switch {
		case e.Do == recovery.Check && other && conn.report.State == client.Ready:
			_ = c.p.Send(conn.ref, client.Check{})
		case e.Do == recovery.Hold && !other, e.Do == recovery.HoldAll && away:
			_ = c.p.Send(conn.ref, client.Pause{For: e.Wait})
		case e.Do == recovery.Redial && other && away:
			_ = c.p.Send(conn.ref, client.Redial{})
		case e.Do == recovery.Dial && away && c.p.Send(conn.ref, client.Redial{}) == nil:
			s.recovery.Dials(key) // without any the next that is opened does
			return
		}
	}
}

// again lets a connection be started after its pause: at once for sessions that had used it, and
// else when somebody asks for it. Until then its server is still seen as it was, unless the
// connection was that of a session which may be gone.
func (c *Catalog) again(m retry) {
	s := c.servers[m.server]
	if s == nil {
		return
	}
	c.resume(s)
	if m.key.Share == tenant.BySession && s.left[m.key] == nil {
		s.recovery.Over(m.key, c.p.Now())
	}
	c.show(s)
}

// resume starts the connections that sessions had used, and those that are to be there in any case,
// as far as they may be: of what is quarantined as a whole one, which is the probe. A program that
// never came to its handshake, and has nothing to go on with for its sessions, is started again when
// one of them calls.
func (c *Catalog) resume(s *server) {
	if s.sup == (otp.Ref{}) {
		return
	}
	for key, left := range order.By(s.left, tenant.Key.Compare) {
		idles := s.recovery.Vain(key) && len(left.URIs)+len(left.Levels)+len(left.Holds) == 0
		if !idles && !s.closed(key, c.p.Now()) {
			c.restore(s, key)
		}
	}
	c.eager(s)
}

// closed reports whether a connection is not to be started.
func (s *server) closed(key tenant.Key, now time.Time) bool {
	return s.recovery.Closed(key, s.is(key), now)
}

// is is what is known of a connection while something is decided about it.
func (s *server) is(key tenant.Key) recovery.Seen {
	conn, opening := s.conns[key], len(s.opening[key]) > 0
	return recovery.Seen{
		There: conn != nil, Ready: conn != nil && conn.report.State == client.Ready, Opening: opening,
		Trying: len(s.opening) > 0 || s.in[client.Starting]+s.in[client.Backoff]+s.in[""] > 0,
	}
}

// why is what may be told a caller of a server's failure: why it cannot work for anybody; or how its
// own connection ended, or that of its lists, either of which may hold what the server wrote on its
// behalf.
func (s *server) why(caller Caller) error {
	if why := s.recovery.Why(s.at(s.key(caller)), s.at(ListKey(s.config, caller))); why != nil {
		return why
	}
	return nil
}
