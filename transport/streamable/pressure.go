package streamable

import (
	"fmt"
	"net/netip"
	"time"
)

// shortageTime is how long a shortage of connections is reported after it occurred.
const shortageTime = 10 * time.Second

// shortage records the last shortages of connections and the tenants or addresses involved.
type shortage struct {
	shared, strange        time.Time
	refused                time.Time
	asker                  string // tenant that was refused
	tenant                 string
	held, total, strangers int64
	from                   netip.Prefix
}

// full records a tenant that exceeded its share.
func (p *shortage) full(now time.Time, tenant string, held, total int64) {
	p.shared, p.tenant, p.held, p.total = now, tenant, held, total
}

// none records a tenant for which no connection was idle.
func (p *shortage) none(now time.Time, asker string) { p.refused, p.asker = now, asker }

// unknown records an address whose unauthenticated connections were closed.
func (p *shortage) unknown(now time.Time, from netip.Prefix, bound int64) {
	p.strange, p.from, p.strangers = now, from, bound
}

// Pressure describes a current or recent shortage of connections, its reason, and the tenant or
// address that holds them. It returns "" if there is none.
func (c *Connections) Pressure() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, now := &c.pressure, time.Now()
	switch {
	case now.Sub(p.refused) < shortageTime:
		reason := fmt.Sprintf("tenant %s is refused connections: all are in use", p.asker)
		if most := c.largest(); most != nil {
			reason += fmt.Sprintf(", and tenant %s has the most, %d", most.name, most.count())
		}
		return reason
	case now.Sub(p.shared) < shortageTime:
		return fmt.Sprintf("tenant %s has %d of the %d connections that there are for tenants: its "+
			"longest idle streams end for others",
			p.tenant, p.held, p.total)
	case now.Sub(p.strange) < shortageTime:
		return fmt.Sprintf("connections without an authenticated request take more than %d KiB: the "+
			"oldest end, the last of %s",
			p.strangers>>10, p.from)
	}
	return c.crowded()
}

// crowded names the tenant with the most connections if all connections that are not reserved for
// others are taken.
func (c *Connections) crowded() string {
	all, strange := c.limits()
	if c.Divide == nil || all == 0 {
		return ""
	}
	d := c.Divide(all - strange)
	if c.excess(d) < d.Free() {
		return ""
	}
	most := c.largest()
	if most == nil {
		return ""
	}
	return fmt.Sprintf("tenant %s has %d of the %d connections that there are for tenants: what is "+
		"not reserved for others is taken",
		most.name, most.count(), all-strange)
}

// largest returns the tenant with the most connections, or nil if there is none.
func (c *Connections) largest() (most *tenantConns) {
	for _, h := range c.tenants {
		if most == nil || h.count() > most.count() || h.count() == most.count() && h.name < most.name {
			most = h
		}
	}
	return most
}
