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

// change is one changed list of a server, as those hear of it who see the server alone.
type change struct {
	server, method string
	key            tenant.Key // of the connection that says so
	source         notification.Source
}

func (c change) notice() *notification.Dispatch {
	return &notification.Dispatch{
		Server: c.server, Key: c.key, Method: c.method, Sources: []notification.Source{c.source},
	}
}

// announce tells sessions that lists of a server have changed, once of those that have an
// announcement in common. Those that see this server alone hear of it at once, unless the server has
// several instances, which may all say the same. Those that see all servers as one hear of it when
// the burst is over.
func (c *Catalog) announce(r *client.Report, lists []merge.Kind) {
	told, source := map[string]bool{}, c.source(r)
	for _, k := range lists {
		one := change{r.Server, k.Changed(), r.Key, source}
		if told[one.method] {
			continue
		}
		told[one.method] = true
		c.gather(one.method, source)
		switch {
		case c.hasInstances(r.Server, r.Key):
			c.gatherAlone(one)
		case c.p.Send(c.o.Dispatcher, one.notice()) != nil:
			c.drops.Drop(c.p, c.o.Emit, telemetry.NotificationDropped{
				Where:  telemetry.Where{Tenant: c.tenant.Name, Server: r.Server},
				Method: one.method, Reason: "queue_full", Count: 1,
			})
		}
	}
	c.announceLater()
}

// hasInstances reports whether a connection to a server hands calls to other instances of the server.
func (c *Catalog) hasInstances(server string, key tenant.Key) bool {
	s := c.servers[server]
	return s != nil && len(s.instances(key.First())) > 0
}

// gatherAlone takes note of a change of a server with several instances. Each server, connection and
// list is a burst of its own.
func (c *Catalog) gatherAlone(one change) {
	c.alone.Note(one.method+" "+one.server+" "+one.key.String(), one, c.p.Now())
}

// source is where lists have changed. A change of what all sessions of a principal are shown names
// the server: those with connections of their own hear the same over these, or did already.
func (c *Catalog) source(r *client.Report) notification.Source {
	source := notification.Source{Key: anyRevision(r.Key)}
	s := c.servers[r.Server]
	if s != nil && r.Key.Share != tenant.BySession && s.perSession() {
		source.Server = r.Server
	}
	return source
}

// perSession reports whether sessions have connections of their own to a server. One that was found to
// speak HTTP+SSE is shared by a principal's sessions unless the configuration says otherwise.
func (s *server) perSession() bool {
	if s.channel && s.config.Share == tenant.ByDefault {
		return false
	}
	return s.config.Share.Applied(s.config.Link()) == tenant.BySession
}

// maxSources bounds the servers that one change in the list of all servers names.
const maxSources = 64

// gather takes note of a change for those who see all servers as one. When many servers have changed
// they are not named any more, so that everybody is told.
func (c *Catalog) gather(method string, source notification.Source) {
	if c.changes.Len(method) >= maxSources {
		source.Server = ""
	}
	c.changes.Note(method, source, c.p.Now())
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
	due, wait := c.changes.Due(now, notification.Source.Compare)
	for _, change := range due {
		err := c.p.Send(c.o.Dispatcher, &notification.Dispatch{Method: change.List, Sources: change.Of})
		if errors.Is(err, otp.ErrOverloaded) {
			for _, source := range change.Of {
				c.changes.Note(change.List, source, now)
			}
			wait = cmp.Or(wait, merge.ChangesQuiet)
		}
	}
	alone, later := c.alone.Due(now, func(a, b change) int { return a.source.Compare(b.source) })
	for _, burst := range alone {
		for _, one := range burst.Of {
			if errors.Is(c.p.Send(c.o.Dispatcher, one.notice()), otp.ErrOverloaded) {
				c.gatherAlone(one)
				later = cmp.Or(later, merge.ChangesQuiet)
			}
		}
	}
	if wait == 0 || later > 0 && later < wait {
		wait = later
	}
	if c.announcing = wait > 0; c.announcing {
		c.p.After(wait, newsDue{})
	}
}
