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

// quarantined reports that a connection, or a whole server, is quarantined.
func (c *Catalog) quarantined(s *server, e recovery.Effect) {
	keys, connection := []tenant.Key{e.Key}, e.Key.String()
	if e.Key == (tenant.Key{}) {
		keys, connection = s.keys(), ""
	}
	if e.First {
		c.tellQuarantined(s, keys, e.Ending, e.Wait)
	}
	c.o.Emit(telemetry.UpstreamQuarantined{
		Where: telemetry.Where{
			Tenant: c.tenant.Name, Server: s.config.Name, Incident: e.Ending.Incident,
		},
		Connection: connection, Class: e.Ending.Class(), Cause: e.Ending.Text, Stderr: e.Ending.Stderr,
		Retry: e.Wait,
	})
	c.storeQuarantine(s)
}

// Causes of the end of a quarantine.
const (
	byProbe    = "probe"
	byReload   = "reload"
	byOperator = "operator"
)

// announceRelease reports the end of a quarantine, and restores the connections of sessions.
func (c *Catalog) announceRelease(s *server, by string) {
	c.o.Emit(telemetry.UpstreamReleased{
		Where: telemetry.Where{Tenant: c.tenant.Name, Server: s.config.Name}, By: by,
	})
	c.announceBehind(s, s.keys())
	c.storeAndResume(s)
}

// storeAndResume stores that a server may be started, and restores the connections of sessions.
func (c *Catalog) storeAndResume(s *server) {
	c.storeQuarantine(s)
	c.resume(s)
}

// tellQuarantined tells the sessions on some connections that the server is quarantined, with the
// cause. It also tells when the server is tried again, unless an operator has to release it. They
// are told once, when the quarantine begins.
func (c *Catalog) tellQuarantined(
	s *server, keys []tenant.Key, cause *client.Ending, retry time.Duration,
) {
	refusal := client.QuarantinedError("", s.config.Name, cause)
	refusal.RetryAfter = retry
	for some := range slices.Chunk(keys, maxSources) {
		n := &notification.Dispatch{
			Server: s.config.Name, Method: notification.Quarantined, Why: refusal,
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
	c.announceBehind(s, keys)
}

// keys are all connections to a server to which sessions may listen, in order.
func (s *server) keys() []tenant.Key {
	all := map[tenant.Key]bool{}
	for key := range s.conns {
		all[anyRevision(key.First())] = true
	}
	for key := range s.carried {
		all[anyRevision(key.First())] = true
	}
	for key := range s.lists {
		all[anyRevision(key)] = true
	}
	return slices.SortedFunc(maps.Keys(all), tenant.Key.Compare)
}

// place is the key of a server's quarantine in the store.
func (c *Catalog) place(name string) string { return c.tenant.Name + "/" + name }

// quarantineChange is the stored quarantine state of a server; a nil value deletes it.
func (c *Catalog) quarantineChange(s *server) store.Change {
	change := store.Change{Bucket: store.Quarantines, Key: c.place(s.config.Name)}
	if !s.unconfigured {
		change.Value = s.recovery.Save(s.config.Identity())
	}
	return change
}

// storeQuarantine stores the quarantine state, without waiting.
func (c *Catalog) storeQuarantine(s *server) {
	if to := c.quarantineChange(s); to.Value != nil || s.quarantineStored {
		s.quarantineStored = to.Value != nil
		c.change(to)
	}
}

func (c *Catalog) change(to store.Change) {
	if c.o.Storage != nil {
		// without a storage actor nothing survives the host
		_ = c.p.Send(c.o.Storage(), &storage.Keep{Tenant: c.tenant.Name, Change: to})
	}
}

// restoreQuarantines restores the quarantines that an earlier host stored. An unreadable record, or
// one of a server whose declaration has changed, is deleted.
func (c *Catalog) restoreQuarantines() {
	if c.o.Quarantined == nil {
		return
	}
	for key, value := range c.o.Quarantined() {
		name, mine := strings.CutPrefix(key, c.place(""))
		if !mine {
			continue
		}
		c.read("quarantine", store.Change{Bucket: store.Quarantines, Key: key, Value: value}, func() {
			if s := c.servers[name]; s == nil ||
				s.recovery.Restore(s.config.Identity(), value, c.p.Now()) != nil {
				c.change(store.Change{Bucket: store.Quarantines, Key: key})
			} else {
				s.quarantineStored = true
				c.applyRecovery(s, recovery.Event{Op: recovery.Restore})
				c.publishState(s)
			}
		})
	}
}
