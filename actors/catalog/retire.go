package catalog

import (
	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
)

// Messages that only the catalogue sends itself: the row's worker is surely gone, and the row is.
type (
	rested struct {
		server string
		key    tenant.Key
		sup    otp.Ref
	}
	retired struct {
		server string
		key    tenant.Key
	}
)

// unused ends a connection that nobody uses, unless somebody is on the way there.
func (c *Catalog) unused(m *client.Unused) {
	s, ok := c.servers[m.Server]
	if !ok {
		return
	}
	if conn := s.conns[m.Key]; conn != nil && conn.ref == m.From && conn.attached == m.Attached {
		delete(s.conns, m.Key)
		c.retire(s, m.Key)
		c.settle(s)
	}
}

// retire removes the row of a connection that has ended for good. A transient child leaves its row behind, under which no other of the
// same key could be started. The end is waited for first: its Down may be here before its supervisor has heard of it.
func (c *Catalog) retire(s *server, key tenant.Key) {
	s.retiring[key] = true
	next := rested{s.config.Name, key, s.sup}
	otp.TerminateChildAsync(c.p, s.sup, key.String(), func(error) any { return next })
}

// rested deletes the row. When that fails there is none, or its supervisor is gone and with it all its rows.
func (c *Catalog) rested(m rested) {
	otp.DeleteChildAsync(c.p, m.sup, m.key.String(), func(error) any { return retired{m.server, m.key} })
}

// retired starts a new connection for those who have asked for one meanwhile.
func (c *Catalog) retired(m retired) {
	s := c.servers[m.server]
	delete(s.retiring, m.key)
	if waiting := s.opening[m.key]; len(waiting) > 0 && s.sup != (otp.Ref{}) {
		c.open(s, m.key, waiting[0].caller.Capabilities)
	}
}
