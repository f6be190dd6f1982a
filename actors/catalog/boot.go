package catalog

import (
	"errors"
	"time"

	"mcpd/actors/catalog/internal/recovery"
	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/internal/sortedmap"
	"mcpd/supervisor/otp"
)

// boot starts the supervisor of every server that has none and whose supervisor is not being
// started, in configuration order.
func (c *Catalog) boot() {
	c.booting = false
	for _, config := range c.tenant.Servers {
		if s := c.servers[config.Name]; s.sup == (otp.Ref{}) && !s.starting && !s.removing {
			c.supervise(config.Name)
		}
	}
}

// EarlyBoot is how long the catalogue waits before it looks for its pool again. The pool starts
// after the catalogue.
const EarlyBoot = 5 * time.Millisecond

// bootLater schedules boot, once for all servers.
func (c *Catalog) bootLater() {
	if !c.booting {
		c.booting = true
		c.p.After(EarlyBoot, boot{})
	}
}

func (c *Catalog) supervise(name string) {
	pool, ok := c.o.Upstreams()
	if !ok {
		c.bootLater()
		return
	}
	c.servers[name].starting = true
	otp.StartChildArgsAsync(c.p, pool, name, c.servers[name].config, func(ref otp.Ref, err error) any {
		return supervised{name, ref, err}
	})
}

func (c *Catalog) supervised(m supervised) {
	s := c.servers[m.server]
	s.starting = false
	if m.ref, m.err = started(m.ref, m.err); m.err != nil {
		c.bootLater()
		return
	}
	s.sup = m.ref
	c.places[m.ref] = place{m.server, nil}
	c.p.Monitor(m.ref)
	for key := range sortedmap.SortedBy(s.awaitingStart, tenant.Key.Compare) {
		c.open(s, key)
	}
	c.resume(s)
	c.forget(s)
}

// down handles the end of a supervisor or a connection.
func (c *Catalog) down(m otp.Down) {
	at, ok := c.places[m.Ref]
	if !ok {
		return
	}
	s := c.servers[at.server]
	switch {
	case at.key == nil:
		c.orphaned(s)
	case !otp.IsNormal(m.Reason) && !errors.Is(m.Reason, otp.ErrNoProc):
		c.p.Monitor(m.Ref) // it is being restarted in place
		return
	default:
		last := s.conns[*at.key].report
		cause := last.Cause
		if cause == nil {
			cause = m.Reason
		}
		c.drop(s, *at.key)
		c.retire(s, *at.key)
		if (last.GaveUp || errors.Is(m.Reason, otp.ErrIntensity)) && s.current(*at.key) {
			c.applyRecovery(s, recovery.Event{
				Op: recovery.GiveUp, Key: *at.key, Ending: client.EndingFor(*at.key, cause),
			})
		}
	}
	c.forget(s)
	c.publishState(s)
	c.answerWaiters()
}

// orphaned starts a server's supervisor again. The supervisor ends with its pool, or because of a
// bug.
func (c *Catalog) orphaned(s *server) {
	delete(c.places, s.sup)
	s.sup = otp.Ref{}
	for key := range sortedmap.SortedBy(s.conns, tenant.Key.Compare) {
		c.drop(s, key)
	}
	c.publishState(s)
	c.bootLater()
}
