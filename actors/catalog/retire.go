package catalog

import (
	"errors"
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// retiring is the row of a connection that is being removed.
type retiring struct {
	server string
	key    tenant.Key
	sup    otp.Ref
}

// Messages that only the catalogue sends itself: the row's worker is to end, it is surely gone, and the row is; and that a supervisor was
// too busy to be asked.
type (
	ending  struct{ retiring }
	rested  struct{ retiring }
	retired struct{ retiring }
	busy    struct{ then any }
)

// unused ends a connection that nobody uses, unless somebody is on the way there.
func (c *Catalog) unused(m *client.Unused) {
	s, ok := c.servers[m.Server]
	if !ok {
		return
	}
	if conn := s.conns[m.Key]; conn != nil && conn.ref == m.From && len(conn.arriving) == 0 && !s.stays(m.Key) {
		if m.Why != "" {
			c.o.Emit(telemetry.UpstreamClosed{
				Where: telemetry.Where{Tenant: c.tenant.Name, Server: m.Server, Path: conn.ref.Path()}, Cause: m.Why,
			})
		}
		s.unneeded = m.Why
		c.drop(s, m.Key)
		c.retire(s, m.Key)
		c.show(s)
	}
}

// retire removes the row of a connection that has ended for good. A transient child leaves its row behind, under which no other of the
// same key could be started. The end is waited for first: its Down may be here before its supervisor has heard of it.
func (c *Catalog) retire(s *server, key tenant.Key) {
	s.retiring[key] = true
	c.ending(ending{retiring{s.config.Name, key, s.sup}})
}

// busyRetry is when a supervisor with a full mailbox is asked again: it works off some hundred requests in that time.
const busyRetry = 5 * time.Millisecond

// ending ends the worker. When many sessions end at once their connections do, and more requests come than a supervisor keeps.
func (c *Catalog) ending(m ending) {
	otp.TerminateChildAsync(c.p, m.sup, m.key.String(), func(err error) any {
		if errors.Is(err, otp.ErrOverloaded) {
			return busy{m}
		}
		return rested(m)
	})
}

// rested deletes the row. When that fails there is none, or its supervisor is gone and with it all its rows.
func (c *Catalog) rested(m rested) {
	otp.DeleteChildAsync(c.p, m.sup, m.key.String(), func(err error) any {
		if errors.Is(err, otp.ErrOverloaded) {
			return busy{m}
		}
		return retired(m)
	})
}

// retired starts a new connection for those who have asked for one meanwhile.
func (c *Catalog) retired(m retired) {
	s := c.servers[m.server]
	if s == nil {
		return
	}
	delete(s.retiring, m.key)
	if s.left[m.key] != nil && !s.closed(m.key, c.p.Now()) {
		c.restore(s, m.key)
	}
	c.open(s, m.key)
	c.eager(s)
	c.forget(s)
}
