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

// changesDue is the timer message: a batch of changes may be due.
type changesDue struct{}

// change is one changed list of a server, for sessions on the server's transparent endpoint.
type change struct {
	server, method string
	key            tenant.Key // of the connection that reported it
	source         notification.Source
}

func (c change) notice() *notification.Dispatch {
	return &notification.Dispatch{
		Server: c.server, Key: c.key, Method: c.method, Sources: []notification.Source{c.source},
	}
}

// announce tells sessions that lists of a server have changed. Lists that share a notification
// method are announced once. Sessions on the transparent endpoint are told at once, unless the
// server has several instances, which may all report the same change. Sessions on the aggregate
// endpoint are told when the burst of changes is over.
func (c *Catalog) announce(r *client.Report, lists []merge.Kind) {
	told, source := map[string]bool{}, c.source(r)
	for _, k := range lists {
		one := change{r.Server, k.Changed(), r.Key, source}
		if told[one.method] {
			continue
		}
		told[one.method] = true
		c.noteChange(one.method, source)
		switch {
		case c.hasInstances(r.Server, r.Key):
			c.noteServerChange(one)
		case c.p.Send(c.o.Dispatcher, one.notice()) != nil:
			c.drops.Drop(c.p, c.o.Emit, telemetry.NotificationDropped{
				Where:  telemetry.Where{Tenant: c.tenant.Name, Server: r.Server},
				Method: one.method, Reason: "queue_full", Count: 1,
			})
		}
	}
	c.announceLater()
}

// hasInstances reports whether a connection shares its calls with other instances of the server.
func (c *Catalog) hasInstances(server string, key tenant.Key) bool {
	s := c.servers[server]
	return s != nil && len(s.instances(key.First())) > 0
}

// noteServerChange notes a change of a server with several instances. Changes are batched for each
// server, connection and list.
func (c *Catalog) noteServerChange(one change) {
	c.alone.Note(one.method+" "+one.server+" "+one.key.String(), one, c.p.Now())
}

// source is where lists have changed. A change in the shared lists of a principal names the server.
// Sessions with their own connections to that server ignore it, because they are told of the same
// change over their own connections.
func (c *Catalog) source(r *client.Report) notification.Source {
	source := notification.Source{Key: anyRevision(r.Key)}
	s := c.servers[r.Server]
	if s != nil && r.Key.Share != tenant.BySession && s.perSession() {
		source.Server = r.Server
	}
	return source
}

// perSession reports whether each session has its own connection to a server. By default, a server
// that turned out to speak HTTP+SSE is shared by a principal's sessions.
func (s *server) perSession() bool {
	if s.channel && s.config.Share == tenant.ByDefault {
		return false
	}
	return s.config.Share.Applied(s.config.Link()) == tenant.BySession
}

// maxSources bounds the servers that one change of the aggregate's list names.
const maxSources = 64

// noteChange notes a change for sessions on the aggregate endpoint. Sources beyond maxSources name
// no server, so that all sessions are told.
func (c *Catalog) noteChange(method string, source notification.Source) {
	if c.changes.Len(method) >= maxSources {
		source.Server = ""
	}
	c.changes.Note(method, source, c.p.Now())
}

// announceLater starts the timer for announcements, unless it runs.
func (c *Catalog) announceLater() {
	if !c.announcing {
		c.announceAll()
	}
}

// announceAll announces the changes that are due. Each is announced once to the sessions that use
// any of the connections on which it was reported. If the dispatcher is overloaded, a change is
// announced later.
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
				c.noteServerChange(one)
				later = cmp.Or(later, merge.ChangesQuiet)
			}
		}
	}
	if wait == 0 || later > 0 && later < wait {
		wait = later
	}
	if c.announcing = wait > 0; c.announcing {
		c.p.After(wait, changesDue{})
	}
}
