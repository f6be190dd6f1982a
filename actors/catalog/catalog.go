// Package catalog holds a tenant's catalogue: which servers there are, how each is doing, the connections to them, and their lists as
// one. It starts connections and hands out their addresses; it writes nothing to a server and knows no session's state.
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
	"mcpd/internal/order"
	"mcpd/internal/water"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// MaxWaiting bounds the requests that wait for servers to start; each holds a client's exchange.
const MaxWaiting = 1000

// Options are what a catalogue is made from.
type Options struct {
	// Tenant is the tenant as it is configured now.
	Tenant func() *tenant.Tenant
	// Waited is how many lists ever waited.
	Waited *water.Mark
	// Upstreams is the pool under which each server has its supervisor.
	Upstreams func() (otp.Ref, bool)
	// Connection is the child spec of one connection, under a supervisor of its own: client.Supervised. Self is who it says it is, the host
	// when that is zero.
	Connection func(
		s tenant.Server, k tenant.Key, declare protocol.ClientCapabilities, self protocol.Implementation, left *client.Left, catalog otp.Ref,
	) otp.Child
	Dispatcher otp.Ref // the tenant's notification dispatcher: sessions hear of changed lists through it
	Registry   otp.Ref // core/capabilities: told what servers declare
	Emit       telemetry.Sink
	Kept       *quota.Account // what the tenant keeps
	// Storage is who writes down what servers listed, so that the next host knows it at once; Stored is what an earlier one has written of this
	// tenant. Nil for none.
	Storage func() otp.Ref
	Stored  func() iter.Seq2[string, jsontext.Value]
	// Quarantined is what an earlier host has written of the servers of all tenants that were quarantined. Nil for none.
	Quarantined func() iter.Seq2[string, jsontext.Value]
	// Records reads both; nil sets no record aside.
	Records *storage.Restorer
	// Principals are those who may call.
	Principals func() []string
	// Connections bounds those to one server on behalf of one principal; 0 is MaxConnections.
	Connections int
	// Draw is a time from 0 to below n, by which pauses differ; nil is math/rand.
	Draw func(n time.Duration) time.Duration
}

// Catalog is the behaviour of tenants/<t>/catalog.
type Catalog struct {
	o      Options
	p      *otp.Process
	tenant *tenant.Tenant // as it was configured when it was looked at last
	*kept
	places map[otp.Ref]place // of supervisors and connections
	rows   map[string]int    // the servers' places in the configuration
	names  []string          // of the servers, in that order
	status Status
	listed int // bytes of lists that count for the tenant
	left   int // and of what connections have left behind
	// edition changes with whatever may change why servers are absent.
	edition uint64
	booting bool // boot is on its way
	// announcing says that newsDue is on its way.
	announcing bool
	drops      drops.Drops
	// disabled and experimental are what the capability registry says beside the servers: what new sessions are offered less, and more.
	disabled     map[string]bool
	experimental map[string]jsontext.Value
}

// New makes one incarnation.
func New(o Options) *Catalog {
	o.Connections = cmp.Or(o.Connections, MaxConnections)
	if o.Draw == nil {
		o.Draw = rand.N[time.Duration]
	}
	return &Catalog{o: o}
}

// Messages that only the catalogue sends itself.
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

// Init takes over what was known and makes sure that every server has its supervisor.
func (c *Catalog) Init(p *otp.Process) error {
	c.p = p
	c.disabled, c.experimental = map[string]bool{}, map[string]jsontext.Value{}
	c.places = map[otp.Ref]place{}
	otp.CallAsync(p, c.o.Registry, capability.SubscribeRequest{Tenant: c.o.Tenant().Name, Ref: p.Self()}, func(s capability.State, err error) any { return subscribed{s, err} })
	var heir bool
	if c.kept, heir = p.Heir().(*kept); !heir {
		c.kept = &kept{servers: map[string]*server{}, views: &views{}}
		p.SetHeir(c.kept)
	}
	if c.references == nil {
		c.references = merge.NewReferences(c.o.Kept.Spare, func(n int) { c.o.Kept.Add(quota.References, n) })
	}
	c.views.outlive() // what crashed may have been made of them
	c.o.Kept.Cached(quota.Views, c.views.clear)
	for name, s := range order.Of(c.servers) {
		if s.sup != (otp.Ref{}) {
			c.places[s.sup] = place{name, nil}
			p.Monitor(s.sup)
		}
		s.in, s.lacks, s.held = map[client.State]int{}, map[tenant.Key]string{}, map[string]int{}
		s.counted = 0
		for _, m := range s.left {
			c.left += m.Bytes
		}
		for key, conn := range order.By(s.conns, tenant.Key.Compare) {
			conn.dismissed, conn.removed = false, false
			c.count(s, key, conn)
			for _, session := range conn.arriving { // the answers went to the previous incarnation
				c.attach(conn, session)
			}
			_ = p.Send(conn.ref, client.Describe{})
		}
		for key := range order.By(s.opening, tenant.Key.Compare) { // the answer was lost with the last incarnation, and so may be a report
			s.held[key.Principal]++
			c.open(s, key)
		}
		c.follow(s, recovery.Event{Op: recovery.Restore})
		for key := range order.By(s.retiring, tenant.Key.Compare) {
			c.retire(s, key)
		}
		s.starting, s.removing = false, false // the answer went to the previous incarnation
	}
	c.countLeft(0)
	for _, w := range c.waiting {
		p.After(w.deadline.Sub(p.Now()), overdue{})
	}
	c.configure()
	for _, s := range order.Of(c.servers) {
		c.outlast(s)
	}
	if !heir {
		c.recall()
		c.requarantine()
	}
	for _, s := range c.servers { // their order does not matter for a sum
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
		c.flush()
		return nil
	}
	c.edition++ // for views that it makes, and at its end for those that it has made
	defer func() { c.edition++ }()
	switch m := msg.(type) {
	case *Connect:
		if s, ok := c.servers[m.Req.Server]; ok && !s.gone {
			key := s.key(m.Req.Caller)
			if m.Req.Shared {
				key = ListKey(s.config, m.Req.Caller)
			}
			c.connect(s, s.at(key), pending{answering(m), m.Req.Caller})
		} else {
			m.Fail(c.unknown(m.Req.Server))
		}
		return nil
	case *client.Another:
		c.another(m)
		return nil
	case newsDue:
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

// Terminate tells of the announcements that were dropped.
func (c *Catalog) Terminate(_ *otp.Process, reason error) {
	c.drops.End(c.o.Emit)
	if otp.IsNormal(reason) {
		c.o.Kept.Set(quota.Lists, 0)
		c.o.Kept.Set(quota.Restorable, 0)
		c.o.Kept.Cached(quota.Views, nil)
		c.views.clear()
		c.references.Clear()
	}
}

// changed handles what changes how servers are doing.
func (c *Catalog) changed(msg any) {
	switch m := msg.(type) {
	case *client.Report:
		c.report(m)
	case *client.Unused:
		c.unused(m)
	case *client.Left:
		c.leave(m)
	case otp.Down:
		c.down(m)
	case opened:
		c.opened(m)
	case reopen:
		if s := c.servers[m.server]; s != nil {
			c.open(s, m.key)
		}
	case ending:
		c.ending(m)
	case rested:
		c.rested(m)
	case retired:
		c.retired(m)
	case supervised:
		c.supervised(m)
	case boot:
		c.boot()
	case retry:
		c.again(m)
	case awayDue:
		if s := c.servers[m.server]; s != nil {
			c.follow(s, recovery.Event{Op: recovery.Due, Times: m.times})
		}
	case subscribed:
		c.subscribed(m)
	case capability.Changed:
		c.registered(m)
	default:
		c.reloading(msg)
	}
}
