// Package catalog holds the catalogue of one tenant: its servers and their states, the connections
// to them, and their merged lists. It starts connections and hands out their addresses. It writes
// nothing to a server and knows nothing of the state of sessions.
package catalog

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/capability"
	"mcpd/actors/catalog/internal/recovery"
	"mcpd/actors/client"
	"mcpd/actors/internal/drops"
	"mcpd/actors/storage"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/internal/highwater"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// MaxWaiting bounds the requests that wait for servers to start. Each holds a client's exchange.
const MaxWaiting = 1000

// Options are the settings and dependencies of a catalogue.
type Options struct {
	// Tenant returns the current configuration of the tenant.
	Tenant func() *tenant.Tenant
	// Waited is the high-water mark of waiting list requests.
	Waited *highwater.Mark
	// Upstreams is the pool under which each server has its supervisor.
	Upstreams func() (otp.Ref, bool)
	// Connection is the child spec of one connection, under a supervisor of its own:
	// client.Supervised. The argument self is the implementation that the server is told of; the zero
	// value stands for the host.
	Connection func(
		s tenant.Server, k tenant.Key, declare protocol.ClientCapabilities, self protocol.Implementation,
		abandoned *client.AbandonedState, catalog otp.Ref,
	) otp.Child
	Dispatcher otp.Ref // The tenant's notification dispatcher tells sessions of changed lists.
	Registry   otp.Ref // core/capabilities, which is told what servers declare
	Emit       telemetry.Sink
	Account    *quota.Account // quota account of the tenant
	// Storage is the actor that stores the servers' lists, so that the next host knows them at once.
	// Stored yields the lists that an earlier host stored for this tenant. Nil means none.
	Storage func() otp.Ref
	Stored  func() iter.Seq2[string, jsontext.Value]
	// Quarantined yields the quarantined servers of all tenants, as an earlier host stored them. Nil
	// means none.
	Quarantined func() iter.Seq2[string, jsontext.Value]
	// Records reads the records of Stored and Quarantined, and sets aside those that crash their
	// reader. If it is nil, no record is set aside.
	Records *storage.Restorer
	// Principals are the principals that may call.
	Principals func() []string
	// Connections bounds the connections to one server for one principal; 0 means MaxConnections.
	Connections int
	// Jitter returns a random duration from 0 to below n, which varies the pauses; nil means
	// math/rand.
	Jitter func(n time.Duration) time.Duration
}

// Catalog is the behaviour of tenants/<t>/catalog.
type Catalog struct {
	o      Options
	p      *otp.Process
	tenant *tenant.Tenant // the configuration that was applied last
	*carriedState
	places       map[otp.Ref]place // of supervisors and connections
	rows         map[string]int    // positions of the servers in the configuration
	names        []string          // of the servers, in that order
	status       Status
	listBytes    int // bytes of lists charged to the tenant
	carriedBytes int // bytes of the carried states of connections
	// edition changes with every event that may change the reason why a server is absent.
	edition uint64
	booting bool // a boot message is on its way
	// announcing says that a changesDue message is on its way.
	announcing bool
	drops      drops.Drops
	// disabled and experimental come from the capability registry. They remove capabilities from, and
	// add features to, the offer to new sessions.
	disabled     map[string]bool
	experimental map[string]jsontext.Value
}

// New makes one incarnation.
func New(o Options) *Catalog {
	o.Connections = cmp.Or(o.Connections, MaxConnections)
	if o.Jitter == nil {
		o.Jitter = rand.N[time.Duration]
	}
	return &Catalog{o: o}
}

// Messages that the catalogue sends to itself.
type (
	boot    struct{}
	arrived struct {
		conn    *conn
		session *client.AttachRequest
		err     error
	}
	reopen struct {
		server string
		key    tenant.Key
	}
	opened struct {
		server string
		key    tenant.Key
		ref    otp.Ref
		err    error
	}
	supervised struct {
		server string
		ref    otp.Ref
		err    error
	}
	overdue    struct{}
	subscribed struct {
		state capability.State
		err   error
	}
)

// Init restores the carried state and makes sure that every server has its supervisor.
func (c *Catalog) Init(p *otp.Process) error {
	c.p = p
	c.disabled, c.experimental = map[string]bool{}, map[string]jsontext.Value{}
	c.places = map[otp.Ref]place{}
	otp.CallAsync(p, c.o.Registry,
		capability.SubscribeRequest{Tenant: c.o.Tenant().Name, Ref: p.Self()},
		func(s capability.State, err error) any {
			return subscribed{s, err}
		})
	var restored bool
	if c.carriedState, restored = p.CarriedState().(*carriedState); !restored {
		c.carriedState = &carriedState{servers: map[string]*server{}, views: &views{}}
		p.SetCarriedState(c.carriedState)
	}
	if c.references == nil {
		c.references = merge.NewReferences(c.o.Account.FitsUncached, func(n int) {
			c.o.Account.Add(quota.References, n)
		})
	}
	c.views.retainOld() // the crash may have been caused by a view
	c.o.Account.Cached(quota.ClientLists, c.views.clear)
	for name, s := range sortedmap.Sorted(c.servers) {
		if s.sup != (otp.Ref{}) {
			c.places[s.sup] = place{name, nil}
			p.Monitor(s.sup)
		}
		s.in, s.lacks, s.held = map[client.State]int{}, map[tenant.Key]string{}, map[string]int{}
		s.counted = 0
		for _, m := range s.carried {
			c.carriedBytes += m.Bytes
		}
		for key, conn := range sortedmap.SortedBy(s.conns, tenant.Key.Compare) {
			conn.dismissed, conn.removed = false, false
			c.count(s, key, conn)
			for _, session := range conn.arriving { // the answers went to the previous incarnation
				c.attach(conn, session)
			}
			_ = p.Send(conn.ref, client.Describe{})
		}
		for key := range sortedmap.SortedBy(s.awaitingStart, tenant.Key.Compare) {
			// The answer went to the previous incarnation, and a report may be lost too.
			s.held[key.Principal]++
			c.open(s, key)
		}
		c.applyRecovery(s, recovery.Event{Op: recovery.Restore})
		for key := range sortedmap.SortedBy(s.retiring, tenant.Key.Compare) {
			c.retire(s, key)
		}
		s.starting, s.removing = false, false // the answer went to the previous incarnation
	}
	c.countCarried(0)
	for _, w := range c.waiting {
		p.After(w.deadline.Sub(p.Now()), overdue{})
	}
	c.configure()
	for _, s := range sortedmap.Sorted(c.servers) {
		c.expireLists(s)
	}
	if !restored {
		c.restoreLists()
		c.restoreQuarantines()
	}
	for _, s := range c.servers { // the order does not matter for a sum
		c.countLists(s)
	}
	c.announceLater()
	return nil
}

// Receive handles one message.
func (c *Catalog) Receive(p *otp.Process, msg any) error {
	switch m := msg.(type) {
	case *Look:
		c.look(m)
		return nil
	case overdue:
		c.answerWaiters()
		return nil
	}
	// Once now, and again at the end: a view that is made in between may be outdated by the end.
	c.edition++
	defer func() { c.edition++ }()
	switch m := msg.(type) {
	case *Connect:
		if s, ok := c.servers[m.Req.Server]; ok && !s.unconfigured {
			key := s.key(m.Req.Caller)
			if m.Req.Shared {
				key = ListKey(s.config, m.Req.Caller)
			}
			m.AnswerLater()
			c.connect(s, s.at(key), pending{answering(m), m.Req.Caller})
		} else {
			m.Fail(c.unknown(m.Req.Server))
		}
		return nil
	case *client.StartInstance:
		c.startInstance(m)
		return nil
	case changesDue:
		c.announceAll()
		return nil
	case drops.Due:
		c.drops.Due(p, c.o.Emit)
		return nil
	case busy:
		p.After(busyRetry, m.then)
		return nil
	case arrived:
		c.arrived(m)
		return nil
	case *Servers:
		m.Reply(c.status.Records())
		return nil
	case *Operate:
		c.operate(m)
		return nil
	case *Reload:
		c.configure()
		m.Reply(struct{}{})
		return nil
	}
	c.changed(msg)
	return nil
}

// Terminate reports the dropped announcements.
func (c *Catalog) Terminate(_ *otp.Process, reason error) {
	c.drops.End(c.o.Emit)
	if otp.IsNormal(reason) {
		c.o.Account.Set(quota.Lists, 0)
		c.o.Account.Set(quota.Restorable, 0)
		c.o.Account.Cached(quota.ClientLists, nil)
		c.views.clear()
		c.references.Clear()
	}
}

// changed handles messages that may change the states of servers.
func (c *Catalog) changed(msg any) {
	switch m := msg.(type) {
	case *client.Report:
		c.report(m)
	case *client.Unused:
		c.unused(m)
	case *client.AbandonedState:
		c.handleLeft(m)
	case otp.Down:
		c.down(m)
	case opened:
		c.opened(m)
	case reopen:
		if s := c.servers[m.server]; s != nil {
			c.open(s, m.key)
		}
	case endWorker:
		c.ending(m)
	case workerEnded:
		c.rested(m)
	case rowRemoved:
		c.retired(m)
	case supervised:
		c.supervised(m)
	case boot:
		c.boot()
	case retry:
		c.pauseOver(m)
	case awayDue:
		if s := c.servers[m.server]; s != nil {
			c.applyRecovery(s, recovery.Event{Op: recovery.Due, Times: m.times})
		}
	case subscribed:
		c.subscribed(m)
	case capability.Changed:
		c.registered(m)
	default:
		c.reloading(msg)
	}
}
