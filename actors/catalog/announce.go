package catalog

import (
	"cmp"
	"errors"

	"mcpd/actors/client"
	"mcpd/actors/notification"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// newsDue says that the time of a change may have come.
type newsDue struct{}

// announce tells sessions that lists of a server have changed, once of those that have an
// announcement in common: those that see this server alone at once, and those that see all servers
// as one when the burst is over.
func (c *Catalog) announce(r *client.Report, lists []merge.Kind) {
	told := map[string]bool{}
	for _, k := range lists {
		n := &notification.Dispatch{Server: r.Server, Key: r.Key, Method: k.Changed()}
		if told[n.Method] {
			continue
		}
		told[n.Method] = true
		c.changes.Note(n.Method, anyRevision(r.Key), c.p.Now())
		if c.p.Send(c.o.Dispatcher, n) != nil {
			c.drops.Drop(c.p, c.o.Emit, telemetry.NotificationDropped{
				Where: telemetry.Where{
					Tenant: c.tenant.Name,
					Server: r.Server,
				},
				Method: n.Method, Reason: "queue_full", Count: 1,
			})
		}
	}
	c.announceLater()
}

// announceLater sees to it that changes are announced in their time.
func (c *Catalog) announceLater() {
	if !c.announcing {
		c.announceAll()
	}
}

// announceAll announces the changes whose time has come, each once to whoever uses any of the
// connections it came over. One that the dispatcher has no room for is announced later.
func (c *Catalog) announceAll() {
	now := c.p.Now()
	due, wait := c.changes.Due(now, tenant.Key.Compare)
	for _, change := range due {
		err := c.p.Send(
			c.o.Dispatcher,
			&notification.Dispatch{Method: change.List, Keys: change.Of},
		)
		if errors.Is(err, otp.ErrOverloaded) {
			for _, key := range change.Of {
				c.changes.Note(change.List, key, now)
			}
			wait = cmp.Or(wait, merge.ChangesQuiet)
		}
	}
	if c.announcing = wait > 0; c.announcing {
		c.p.After(wait, newsDue{})
	}
}
