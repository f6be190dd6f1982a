package catalog

import (
	"maps"
	"slices"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/telemetry"
)

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
