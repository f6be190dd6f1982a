package streamable

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// tenantConns is a tenant that has connections. The mutex of Connections guards it.
type tenantConns struct {
	name  string
	conns map[*connection]struct{}
	// idle holds candidates for eviction, longest idle first, as of the last pass over conns.
	idle []idleConn
}

type idleConn struct {
	conn  *connection
	since time.Time
}

func (h *tenantConns) count() int64 { return int64(len(h.conns)) }

// Claim assigns the connection of r to a tenant, after a request of that tenant was authenticated.
// If the tenant may have no more connections, it returns a text that says which limit is reached.
// most is an additional limit of the tenant; 0 means none. If all connections are in use, Claim
// evicts the longest idle connection of the tenant that is furthest above its share, with the
// streams on it that only wait. It never evicts a connection with a request in progress.
func Claim(r *http.Request, tenant string, most int) (full string) {
	conn := connectionOf(r)
	if conn == nil {
		return ""
	}
	if h := conn.tenant.Load(); h != nil && h.name == tenant {
		return ""
	}
	return conn.all.claim(conn, tenant, most)
}

// claimed reports whether the connection of r belongs to a tenant.
func claimed(r *http.Request) bool {
	conn := connectionOf(r)
	return conn != nil && conn.tenant.Load() != nil
}

func (c *Connections) claim(conn *connection, tenant string, most int) (full string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.ended {
		// The client has been told to try again: this request must have no effect.
		panic(http.ErrAbortHandler)
	}
	if conn.tenant.Load() != nil && conn.shared() {
		return "" // a proxy's connection carries requests of several tenants concurrently
	}
	c.release(conn)
	h := c.tenants[tenant]
	if h == nil {
		h = &tenantConns{name: tenant, conns: map[*connection]struct{}{}}
	}
	if most > 0 && h.count() >= int64(most) {
		full = fmt.Sprintf("tenant %s has all the %d connections that it may have (max_connections)",
			tenant, most)
	} else {
		full = c.admit(h)
	}
	if full != "" {
		if conn.place == nil { // it belonged to another tenant
			c.unauthenticated.add(conn, time.Now())
		}
		return full
	}
	if c.tenants == nil {
		c.tenants = map[string]*tenantConns{}
	}
	c.unauthenticated.remove(conn)
	c.tenants[tenant] = h
	h.conns[conn] = struct{}{}
	conn.tenant.Store(h)
	return ""
}

// admit makes room for one more connection of a tenant, or returns an error text.
func (c *Connections) admit(h *tenantConns) (full string) {
	all, strange := c.limits()
	if c.Divide == nil || all == 0 {
		return ""
	}
	total, now := all-strange, time.Now()
	for {
		d := c.Divide(total)
		if d.Admits(h.count(), 1, c.excess(d)) {
			return ""
		}
		if !c.evict(now, total, h) {
			c.pressure.none(now, h.name)
			return fmt.Sprintf("tenant %s has all the connections that it can have now: %d of the host's "+
				"%d are its own, and all of them are in use",
				h.name, h.count(), total)
		}
	}
}

// excess returns the number of connections of all tenants beyond their guaranteed shares.
func (c *Connections) excess(d Division) (n int64) {
	for _, h := range c.tenants {
		n += d.Excess(h.count())
	}
	return n
}

// evict closes the longest idle connection of the tenant that is furthest above its share of total.
// If that tenant has no idle connection, evict tries the next one. The tenant more is about to get
// one more connection, which counts; more may be nil.
func (c *Connections) evict(now time.Time, total int64, more *tenantConns) bool {
	if c.Divide == nil {
		return false
	}
	d := c.Divide(total)
	type candidate struct {
		*tenantConns
		excess int64
	}
	var above []candidate
	for _, h := range c.tenants {
		held := h.count()
		if h == more {
			held++
		}
		if excess := d.Excess(held); excess > 0 {
			above = append(above, candidate{h, excess})
		}
	}
	slices.SortFunc(above, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.excess, a.excess), cmp.Compare(b.count(), a.count()),
			cmp.Compare(a.name, b.name))
	})
	for _, h := range above {
		if more != nil && h.excess <= d.Excess(more.count()) && h.tenantConns != more {
			continue // it is no further above its share than the tenant that asks
		}
		held := h.count()
		conn := h.longestIdle()
		if conn == nil {
			continue
		}
		c.release(conn)
		if c.leaving == nil {
			c.leaving = map[*connection]time.Time{}
		}
		c.leaving[conn] = now
		c.pressure.full(now, h.name, held, total)
		c.refused(tooMany, conn, h.name)
		return true
	}
	return false
}

// release removes a connection from its tenant.
func (c *Connections) release(conn *connection) {
	h := conn.tenant.Load()
	if h == nil {
		return
	}
	conn.tenant.Store(nil)
	if delete(h.conns, conn); len(h.conns) == 0 {
		delete(c.tenants, h.name)
	}
}

// idlersAtOnce is how many of the longest idle connections one pass collects. A pass collects one
// in idlersAtOnce of all idle connections if that is more. A pass over all connections for each
// eviction would take too long.
const idlersAtOnce = 64

// longestIdle asks the longest idle connection of a tenant to end, and returns it. It returns nil
// if none is idle.
func (h *tenantConns) longestIdle() *connection {
	for looked := false; ; {
		for len(h.idle) > 0 {
			next := h.idle[0]
			h.idle = h.idle[1:]
			if next.conn.tenant.Load() == h && next.conn.askToClose(next.since) {
				return next.conn
			}
		}
		if looked {
			return nil
		}
		looked = true
		for conn := range h.conns {
			if since, ok := conn.idleSince(); ok {
				h.idle = append(h.idle, idleConn{conn, since})
			}
		}
		slices.SortFunc(h.idle, func(a, b idleConn) int { return a.since.Compare(b.since) })
		h.idle = slices.Clone(h.idle[:min(len(h.idle), max(idlersAtOnce, len(h.idle)/idlersAtOnce))])
	}
}
