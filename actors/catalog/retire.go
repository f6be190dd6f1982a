package catalog

import (
	"errors"
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// retiringRow is the row of a connection that is being removed.
type retiringRow struct {
	server string
	key    tenant.Key
	sup    otp.Ref
}

// Messages of the catalogue to itself while it removes a row: the worker must end, the worker has
// ended, the row is gone. The message busy repeats a request because the supervisor was overloaded.
type (
	endWorker   struct{ retiringRow }
	workerEnded struct{ retiringRow }
	rowRemoved  struct{ retiringRow }
	busy        struct{ then any }
)

// unused ends a connection that no session uses, unless a session is arriving.
func (c *Catalog) unused(m *client.Unused) {
	s, ok := c.servers[m.Server]
	if !ok {
		return
	}
	if conn := s.conns[m.Key]; conn != nil && conn.ref == m.From && len(conn.arriving) == 0 &&
		!s.keptIdle(m.Key) {
		if m.Why != "" {
			c.o.Emit(telemetry.UpstreamClosed{
				Where: telemetry.Where{Tenant: c.tenant.Name, Server: m.Server, Path: conn.ref.Path()},
				Cause: m.Why,
			})
		}
		s.unneeded = m.Why
		c.drop(s, m.Key)
		c.retire(s, m.Key)
		c.publishState(s)
	}
}

// retire removes the row of a connection that has ended for good. A transient child leaves its row
// behind, which prevents the start of another child with the same key. The end of the worker is
// awaited first, because its Down may arrive here before its supervisor handles it.
func (c *Catalog) retire(s *server, key tenant.Key) {
	s.retiring[key] = true
	c.ending(endWorker{retiringRow{s.config.Name, key, s.sup}})
}

// busyRetry is the pause before an overloaded supervisor is asked again. It handles some hundred
// requests in that time.
const busyRetry = 5 * time.Millisecond

// ending ends the worker. When many sessions end at once so do their connections, and the requests
// can exceed the supervisor's mailbox.
func (c *Catalog) ending(m endWorker) {
	otp.TerminateChildAsync(c.p, m.sup, m.key.String(), func(err error) any {
		if errors.Is(err, otp.ErrOverloaded) {
			return busy{m}
		}
		return workerEnded(m)
	})
}

// rested deletes the row. If that fails there is no row, or the supervisor is gone with all its
// rows.
func (c *Catalog) rested(m workerEnded) {
	otp.DeleteChildAsync(c.p, m.sup, m.key.String(), func(err error) any {
		if errors.Is(err, otp.ErrOverloaded) {
			return busy{m}
		}
		return rowRemoved(m)
	})
}

// retired starts a new connection for callers that asked for one meanwhile.
func (c *Catalog) retired(m rowRemoved) {
	s := c.servers[m.server]
	if s == nil {
		return
	}
	delete(s.retiring, m.key)
	if s.carried[m.key] != nil && !s.closed(m.key, c.p.Now()) {
		c.restore(s, m.key)
	}
	c.open(s, m.key)
	c.eager(s)
	c.forget(s)
}
