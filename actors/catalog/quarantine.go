package catalog

import (
	"maps"
	"slices"
	"strings"
	"time"

	"mcpd/actors/catalog/internal/recovery"
	"mcpd/actors/client"
	"mcpd/actors/notification"
	"mcpd/actors/storage"
	"mcpd/gateway/tenant"
	"mcpd/store"
	"mcpd/telemetry"
)

// quarantined makes known that a connection, or all of a server, is quarantined.
func (c *Catalog) quarantined(s *server, e recovery.Effect) {
	keys, connection := []tenant.Key{e.Key}, e.Key.String()
	if e.Key == (tenant.Key{}) {
		keys, connection = s.keys(), ""
	}
	if e.First {
		c.tellQuarantined(s, keys, e.Ending, e.Wait)
	}
	c.o.Emit(telemetry.UpstreamQuarantined{
		Where:      telemetry.Where{Tenant: c.tenant.Name, Server: s.config.Name, Incident: e.Ending.Incident},
		Connection: connection, Class: e.Ending.Class(), Cause: e.Ending.Text, Stderr: e.Ending.Stderr, Retry: e.Wait,
	})
	c.note(s)
}

// By what a quarantine ends.
const (
	byProbe    = "probe"
	byReload   = "reload"
	byOperator = "operator"
)

// released tells that a quarantine is over, and starts what sessions had used.
func (c *Catalog) released(s *server, by string) {
	c.o.Emit(telemetry.UpstreamReleased{Where: telemetry.Where{Tenant: c.tenant.Name, Server: s.config.Name}, By: by})
	c.tellBehind(s, s.keys())
	c.allowed(s)
}

// allowed stores that a server may be started, and starts what sessions had used.
func (c *Catalog) allowed(s *server) {
	c.note(s)
	c.resume(s)
}

// tellQuarantined tells the sessions that use some connections to a server that it is quarantined, why
// and, unless an operator has to release it, when it is tried again. They are told once, when the
// quarantine begins.
func (c *Catalog) tellQuarantined(
	s *server, keys []tenant.Key, cause *client.Ending, retry time.Duration,
) {
	why := client.PutAwayTo("", s.config.Name, cause)
	why.RetryAfter = retry
	for some := range slices.Chunk(keys, maxSources) {
		n := &notification.Dispatch{
			Server: s.config.Name, Method: notification.Quarantined, Why: why,
		}
		for _, key := range some {
			n.Sources = append(n.Sources, notification.Source{Key: anyRevision(key.First())})
		}
		if c.p.Send(c.o.Dispatcher, n) != nil {
			c.drops.Drop(c.p, c.o.Emit, telemetry.NotificationDropped{
				Where:  telemetry.Where{Tenant: c.tenant.Name, Server: s.config.Name},
				Method: n.Method, Reason: "queue_full", Count: 1,
			})
		}
	}
	c.tellBehind(s, keys)
}

// keys are all connections to a server that sessions may listen to, in order.
func (s *server) keys() []tenant.Key {
	all := map[tenant.Key]bool{}
	for key := range s.conns {
		all[anyRevision(key.First())] = true
	}
	for key := range s.left {
		all[anyRevision(key.First())] = true
	}
	for key := range s.lists {
		all[anyRevision(key)] = true
	}
	return slices.SortedFunc(maps.Keys(all), tenant.Key.Compare)
}

// place is where a server's quarantine is in the store.
func (c *Catalog) place(name string) string { return c.tenant.Name + "/" + name }

// noted is what is stored of a server; a nil value is for nothing.
func (c *Catalog) noted(s *server) store.Change {
	change := store.Change{Bucket: store.Quarantines, Key: c.place(s.config.Name)}
	if !s.gone {
		change.Value = s.recovery.Save(s.config.Identity())
	}
	return change
}

// note has it written down, without waiting.
func (c *Catalog) note(s *server) {
	if to := c.noted(s); to.Value != nil || s.noted {
		s.noted = to.Value != nil
		c.change(to)
	}
}

func (c *Catalog) change(to store.Change) {
	if c.o.Storage != nil {
		_ = c.p.Send(c.o.Storage(), &storage.Keep{Tenant: c.tenant.Name, Change: to}) // where there is no storage nothing survives
	}
}

// requarantine takes over what an earlier host has stored. What is not readable, or of a server that is declared otherwise now, is forgotten.
func (c *Catalog) requarantine() {
	if c.o.Quarantined == nil {
		return
	}
	for key, value := range c.o.Quarantined() {
		name, mine := strings.CutPrefix(key, c.place(""))
		if !mine {
			continue
		}
		c.read("quarantine", store.Change{Bucket: store.Quarantines, Key: key, Value: value}, func() {
			if s := c.servers[name]; s == nil || s.recovery.Recall(s.config.Identity(), value, c.p.Now()) != nil {
				c.change(store.Change{Bucket: store.Quarantines, Key: key})
			} else {
				s.noted = true
				c.follow(s, recovery.Event{Op: recovery.Restore})
				c.show(s)
			}
		})
	}
}
