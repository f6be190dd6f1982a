package catalog

import (
	"mcpd/actors/capability"
	"mcpd/actors/catalog/internal/recovery"
	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
)

// report handles what a connection reports about itself and its server.
func (c *Catalog) report(r *client.Report) {
	s, ok := c.servers[r.Server]
	if !ok {
		return
	}
	conn, steady := s.conns[r.Key], false
	var before client.Lists
	if conn != nil {
		before = conn.report.Lists
		if conn.report.Incarnation > r.Incarnation {
			return // late report of an earlier incarnation
		}
		steady = s.noteReport(conn, r, c.p.Now())
	}
	defer c.countLists(s) // once the report is learnt
	if !s.current(r.Key) {
		return
	}
	in := recovery.Event{
		Op: recovery.Report, Key: r.Key, State: r.State, At: r.At,
		There: conn != nil, Away: r.Away, Steady: steady,
	}
	if r.Cause != nil {
		in.Ending = client.EndingFor(r.Key, r.Cause)
	}
	c.applyRecovery(s, in)
	if r.State == client.Ready {
		switch {
		case r.Key.Instance > 0:
			c.instanceLists(s, r.Key, r.Changed, before, r.Lists)
		case r.Key.Share == tenant.BySession:
			if conn != nil {
				c.ownLists(s, r.Key, conn)
			}
			c.announce(r, r.Changed) // a list of one session's own connection concerns no other session
		default:
			c.learn(s, r)
		}
		if r.Early {
			for _, w := range c.waiting {
				c.introduce(s, w.call.Req)
			}
		}
	}
	c.publishState(s)
	c.answerWaiters()
}

// declare tells the capability registry what a server offers.
func (c *Catalog) declare(server string, facts client.Facts) {
	// the registry's memory is not charged to a tenant
	within := facts.Capabilities.Limit(merge.MaxCapabilities)
	_ = c.p.Send(c.o.Registry, &capability.Declared{
		Tenant: c.tenant.Name, Server: server, Capabilities: within.Raw(),
	})
}
