package streamable

import (
	"fmt"
	"net/netip"
	"time"
)

// pressTime is how long it is told that connections were short.
const pressTime = 10 * time.Second

// pressure is when connections were last short, and for whom.
type pressure struct {
	shared, strange        time.Time
	refused                time.Time
	asker                  string // who was
	tenant                 string
	held, total, strangers int64
	from                   netip.Prefix
}

// full takes note of a tenant that has taken up more than its share.
func (p *pressure) full(now time.Time, tenant string, held, total int64) {
	p.shared, p.tenant, p.held, p.total = now, tenant, held, total
}

// none takes note of a tenant for which no connection was idle.
func (p *pressure) none(now time.Time, asker string) { p.refused, p.asker = now, asker }

// unknown takes note of an address whose connections, which have not authenticated, ended.
func (p *pressure) unknown(now time.Time, from netip.Prefix, bound int64) {
	p.strange, p.from, p.strangers = now, from, bound
}

// Pressure says whether connections are short, or were lately, why, and whose they are. Empty is
// that they are not.
func (c *Connections) Pressure() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, now := &c.pressure, time.Now()
	switch {
	case now.Sub(p.refused) < pressTime:
		why := fmt.Sprintf("tenant %s is refused connections: all are in use", p.asker)
		if most := c.largest(); most != nil {
			why += fmt.Sprintf(", and tenant %s has the most, %d", most.name, most.held())
		}
		return why
	case now.Sub(p.shared) < pressTime:
		return fmt.Sprintf("tenant %s has %d of the %d connections that there are for tenants: its longest idle streams end for others",
			p.tenant, p.held, p.total)
	case now.Sub(p.strange) < pressTime:
		return fmt.Sprintf("connections without an authenticated request take more than %d KiB: the oldest end, the last of %s",
			p.strangers>>10, p.from)
	}
	return c.crowded()
}

// crowded says who has the most, when what is not reserved for tenants that need it is all taken.
func (c *Connections) crowded() string {
	all, strange := c.most()
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
	return fmt.Sprintf("tenant %s has %d of the %d connections that there are for tenants: what is not reserved for others is taken",
		most.name, most.held(), all-strange)
}

// largest is the tenant that has the most connections; nil for none.
func (c *Connections) largest() (most *holder) {
	for _, h := range c.tenants {
		if most == nil || h.held() > most.held() || h.held() == most.held() && h.name < most.name {
			most = h
		}
	}
	return most
}
