package supervisor

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/thejerf/suture/v4"
	"google.golang.org/protobuf/types/known/timestamppb"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/configuration"
	"mcpd/actors/held"
	"mcpd/actors/notification"
	"mcpd/actors/process"
	"mcpd/actors/request"
	"mcpd/actors/server"
	"mcpd/actors/session"
	"mcpd/actors/storage"
	"mcpd/actors/task"
	"mcpd/gateway/config"
	"mcpd/gateway/ladder"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/internal/clock"
	"mcpd/internal/fault"
	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/protocol"
	"mcpd/protocol/seal"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/telemetry/admin"
	"mcpd/transport"
	"mcpd/transport/stdio"
	"mcpd/transport/streamable"
)

// host holds what the rows of the tree are made from: the configuration, and the few values that
// outlive every actor.
type host struct {
	settings   atomic.Pointer[settings]
	options    Options
	identity   protocol.Implementation
	clock      clock.Clock  // time of day, for people
	awake      *clock.Awake // elapsed time, for time-outs
	faults     *fault.Registry
	recorder   *telemetry.Recorder
	metrics    *telemetry.Metrics
	system     *otp.System
	spawner    *stdio.Spawner
	last       *process.Closer // closes what the process manager could not close
	store      *streamable.Store
	state      *store.Store // nil when nothing outlives this host
	records    *storage.Restorer
	index      *session.Index
	edge       *Edge
	memory     quota.Memory
	ledger     *quota.Ledger // bytes that tenants keep
	standing   ladder.Board  // of the tenants
	endings    sync.Map      // by tenant: an ending, while the tenant's supervisor ends by itself
	transports transports
	marks      marks
	budgets    sync.Map   // by tenant: *rooms
	ring       *seal.Ring // seals what clients carry for the host
	instance   string     // id of this host, in sealed values
	nextID     atomic.Uint64
	// instances numbers the instances of built-in servers, whose rows need ids.
	instances atomic.Uint64
	known     perServer[uint32, *client.SharedServerState] // by revision of the configuration
	dialects  perServer[string, *streamable.Dialect]       // by URL
	phase     atomic.Uint32                                // admin.Phase
	drain     atomic.Pointer[drain]
	handover  handover
	addrs     addrs
	// connections are the connections of the MCP listener, nil before there is a listener.
	connections atomic.Pointer[streamable.Connections]
	// certificate is the certificate of the MCP listener, if it has one. A send on renew requests a
	// look at its files.
	certificate atomic.Pointer[streamable.Certificate]
	renew       chan struct{}
	// front is the handler of the latest MCP listener, nil before the first.
	front atomic.Pointer[streamable.Handler]
	// nextCertificate is the certificate of a configuration that is about to apply, if it is in other
	// files.
	nextCertificate atomic.Pointer[streamable.Certificate]
}

func (h *host) eventLog() (suture.Service, error) { return h.recorder, nil }

func (h *host) sessionOptions() session.Options {
	return session.Options{
		Clock: h.awake,
		Pool: func(name string) (otp.Ref, bool) {
			return h.system.Whereis(root + "/tenants/" + name + "/server_sup")
		},
		Limit:       func(name string) int { return h.now().limits(name).MaxSessions },
		OfPrincipal: func(name string) int { return h.now().limits(name).MaxPrincipalSessions },
		Idle:        func(name string) time.Duration { return h.now().limits(name).SessionIdle },
		Age:         func(name string) time.Duration { return h.now().limits(name).SessionAge },
		Total:       func() int { return h.now().config.MaxSessions },
		Tenants:     func() int { return len(h.now().config.Tenants) },
		Principals:  func(name string) int { return len(h.now().principals[name]) },
		// The program that starts an embedded host is its client, and needs no key.
		Serves: func(ep streamable.Endpoint) bool {
			return h.options.Embedded || h.now().serves(ep)
		}, EndGrace: h.now().config.Drain,
		Store: h.store, Emit: h.recorder.Emit,
		Storage: func() otp.Ref {
			return h.core("storage")
		}, Restore: h.stored(store.Sessions), Events: h.stored(store.Events), Records: h.records,
		Random: h.options.Simulation.Random,
	}
}

func (h *host) requestOptions(t *tenant.Tenant) request.Options {
	return request.Options{
		Tenant: t.Name, Pending: h.pending(t), Account: h.ledger.Account(t.Name),
		OfPrincipal: h.ofPrincipal(t),
		Emit:        h.recorder.Emit, HighWater: &h.marks.requests,
		Meter:  request.NewMeters(h.requests(t.Name), h.awake.Now),
		Failed: h.metrics.Error,
	}
}

// requests returns the request counters of a tenant, by server and method.
func (h *host) requests(tenant string) func(server, method string) *telemetry.Requests {
	return func(server, method string) *telemetry.Requests {
		return h.metrics.Requests(tenant, server, method)
	}
}

func (h *host) configurationOptions() configuration.Options {
	return configuration.Options{
		Load: h.load,
		Now: func() (*config.Config, configuration.Applied) {
			now := h.now()
			return now.config, now.applied
		},
		Apply: h.apply, Storage: func() otp.Ref { return h.core("storage") },
		Tenants: func() otp.Ref {
			ref, _ := h.system.Whereis(root + "/tenants")
			return ref
		},
		Tenant:  func(name string) otp.Child { return h.tenant(h.now().tenants[name]) },
		Catalog: func(name string) otp.Ref { return h.at(&tenant.Tenant{Name: name}, "catalog") },
		Sessions: func() otp.Ref {
			return h.core("session_manager")
		}, Open: h.index.Count, Emit: h.recorder.Emit,
	}
}

func (h *host) noticeOptions(t *tenant.Tenant) notification.Options {
	return notification.Options{
		Tenant: t.Name, Emit: h.recorder.Emit, Most: &h.marks.notices, Kept: h.ledger.Account(t.Name),
		Lost: func() {
			h.tellTenant(t, session.Reconfigured{})
		},
	}
}

// tellTenant sends msg to every session of a tenant. A session without an actor asks for the state
// once it has one.
func (h *host) tellTenant(t *tenant.Tenant, msg any) {
	for _, s := range h.index.Sorted(func(s *session.Handle) bool {
		return s.Endpoint().Tenant == t.Name
	}) {
		_ = s.Send(msg)
	}
}

// at returns the address of a row of this tenant. It is looked up at each use, because rows are
// made while the tree starts.
func (h *host) at(t *tenant.Tenant, row string) otp.Ref {
	ref, _ := h.system.Whereis(root + "/tenants/" + t.Name + "/" + row)
	return ref
}

func (h *host) core(row string) otp.Ref {
	ref, _ := h.system.Whereis(root + "/core/" + row)
	return ref
}

func (h *host) catalogOptions(t *tenant.Tenant) catalog.Options {
	return catalog.Options{
		Tenant: h.current(t),
		Upstreams: func() (otp.Ref, bool) {
			return h.system.Whereis(root + "/tenants/" + t.Name + "/client_sup")
		},
		Connection: func(s tenant.Server, k tenant.Key, declare protocol.ClientCapabilities,
			self protocol.Implementation, r *client.AbandonedState, from otp.Ref) otp.Child {
			return h.connection(h.current(t)(), s, k, declare, self, r, from)
		},
		Dispatcher:  h.at(t, "notification_dispatcher"),
		Registry:    h.core("capabilities"),
		Emit:        h.recorder.Emit,
		Account:     h.ledger.Account(t.Name),
		Waited:      &h.marks.lists,
		Storage:     func() otp.Ref { return h.core("storage") },
		Stored:      func() iter.Seq2[string, jsontext.Value] { return h.stored(store.Lists(t.Name)) },
		Quarantined: func() iter.Seq2[string, jsontext.Value] { return h.stored(store.Quarantines) },
		Records:     h.records,
		Jitter:      h.options.Simulation.Draw,
		Principals:  func() []string { return slices.Sorted(maps.Keys(h.now().principals[t.Name])) },
	}
}

// session returns the template of a tenant's sessions. The options that they share are made for the
// first session, when the rows that they refer to exist. These rows stay as long as the tree.
func (h *host) session(t *tenant.Tenant, kept func() *task.Options) func(args any) otp.Behaviour {
	shared := sync.OnceValue(func() *server.Options {
		return &server.Options{
			Tenant: h.current(t), Self: h.identity,
			Versions: h.core("protocol_version"), Requests: h.at(t, "request_manager"),
			Catalog: h.at(t, "catalog"), Notices: h.at(t, "notification_dispatcher"),
			NextID: &h.nextID, CountError: h.metrics.Error, Emit: h.recorder.Emit,
			Held: h.heldOptions(t), HeldCalls: func() otp.Ref { return h.at(t, "held_sup") },
			HeldCall: func(row string) (otp.Ref, bool) {
				return h.system.Whereis(root + "/tenants/" + t.Name + "/held_sup/" + row + "/" + held.Child)
			},
			Tasks: func() otp.Ref { return h.at(t, "task_sup") },
			Task: func(row string) (otp.Ref, bool) {
				return h.system.Whereis(root + "/tenants/" + t.Name + "/task_sup/" + row + "/" + task.Child)
			},
			TaskIndex: kept().Index, Account: h.ledger.Account(t.Name), Random: h.options.Simulation.Random,
		}
	})
	return func(args any) otp.Behaviour { return server.New(shared(), args.(session.Args)) }
}

// heldOptions returns the options that the held calls of a tenant share.
func (h *host) heldOptions(t *tenant.Tenant) *held.Options {
	return &held.Options{
		Ring: h.ring, Instance: h.instance, Park: h.inputTimeout(t), Requests: h.at(t, "request_manager"),
		Kept: h.ledger.Account(t.Name),
	}
}

// taskOptions returns the options that the tasks of a tenant share. They are made for the first
// task or the first session.
func (h *host) taskOptions(t *tenant.Tenant) func() *task.Options {
	return sync.OnceValue(func() *task.Options {
		return &task.Options{
			Requests: h.at(t, "request_manager"), Catalog: h.at(t, "catalog"), NextID: &h.nextID,
			Timeout: h.requestTimeout(t),
			Index:   &task.Index{}, Kept: h.ledger.Account(t.Name), Tenant: t.Name,
			Storage: h.core("storage"),
			Home:    h.identityOf(t),
			Session: func(id string) (request.Owner, bool) { return h.index.Get(id) },
		}
	})
}

// tenants returns the rows of the tenants that are to run.
func (h *host) tenants() []otp.Child {
	var rows []otp.Child
	tenants := h.now().config.Tenants
	for i := range tenants {
		if s := h.standing.Of(tenants[i].Name); s.Runs() {
			rows = append(rows, h.tenant(&tenants[i].Tenant))
		}
	}
	return rows
}

// release returns a function that hands a transport of a tenant to the process manager, which
// closes it.
func (h *host) release(tenant string) func(up transport.Upstream) {
	return func(up transport.Upstream) {
		m := &process.Release{Tenant: tenant, Upstream: up, Closer: h.last}
		if err := h.core("process_manager").Send(m); err != nil {
			m.Fail(err)
		}
	}
}

// health is the answer of /readyz. It never depends on a server.
func (h *host) health() admin.Health { return h.healthOf(h.snapshot()) }

// readiness returns the answer of /readyz in the form of the metrics.
func (h *host) readiness(tree otp.Node) telemetry.Readiness {
	health := h.healthOf(tree)
	r := telemetry.Readiness{
		State: health.Status(), States: admin.States, Checks: make(map[string]bool, len(health.Checks)),
	}
	for _, c := range health.Checks {
		r.Checks[c.Name] = c.OK
	}
	return r
}

func (h *host) healthOf(tree otp.Node) admin.Health {
	health := admin.Health{Phase: admin.Phase(h.phase.Load()), Generation: h.now().applied.Generation}
	for _, row := range tree.Children {
		health.Checks = append(health.Checks, admin.Check{
			Name: row.ID, OK: up(row), Required: row.ID != "observability", Detail: row.Status.String(),
		})
	}
	log := admin.Check{Name: "log", OK: true}
	if h.recorder.Stuck() {
		log.OK, log.Detail = false, "the log is not being read"
	}
	health.Checks = append(health.Checks, log,
		h.storageCheck(tree), h.recordsCheck(), h.memoryCheck(tree), h.connectionsCheck(),
		h.tenantsCheck(),
		componentsCheck(tree))
	if reason := h.options.SafeReason; reason != "" {
		health.Checks = append(health.Checks, admin.Check{
			Name: "safe_mode", Required: true, Detail: reason,
		})
	}
	return health
}

// up reports whether a row and the supervisors below it run. A worker that is being restarted in
// place still takes messages. Paused rows and the tenants have checks of their own, because they do
// not affect other rows.
func up(n otp.Node) bool {
	if n.Status == otp.Paused {
		return true
	}
	if n.Status != otp.Running && n.Status != otp.Restarting {
		return false
	}
	if n.Label == telemetry.UpstreamLabel || n.ID == "tenants" {
		return true
	}
	for _, c := range n.Children {
		if !up(c) {
			return false
		}
	}
	return true
}

// sessions yields the sessions for the admin listener.
func (h *host) sessions() iter.Seq[*mcpdv1.Session] {
	return func(yield func(*mcpdv1.Session) bool) {
		h.index.Each(func(s *session.Handle) bool { return yield(describe(s)) })
	}
}

func describe(s *session.Handle) *mcpdv1.Session {
	ep := s.Endpoint()
	d := &mcpdv1.Session{
		Id: s.Row(), Tenant: ep.Tenant, Server: ep.Server, Principal: ep.Principal,
		Transport: s.Transport(), Opened: timestamppb.New(s.Opened()),
		LastUsed: timestamppb.New(s.LastActive()),
	}
	d.Streams, d.InFlight = telemetry.Count(s.Streams().Open()), telemetry.Count(s.Calls().Len())
	d.Subscriptions, d.Peer = telemetry.Count(s.Subscriptions()), s.IsPeer()
	d.Phase = "initialization"
	if r := s.Record(); r != nil {
		if d.Phase = "initialized"; r.Ready {
			d.Phase = "ready"
		}
		d.Revision, d.Era = r.Version.String(), r.Version.Era().String()
		d.ClientName, d.ClientVersion = r.Client.Name, r.Client.Version
	}
	return d
}

// locate returns the tenant, server or session that a row belongs to, from its path.
func locate(path string) telemetry.Where {
	parts := strings.Split(path, "/")
	if len(parts) < 3 || parts[1] != "tenants" {
		return telemetry.Where{}
	}
	w := telemetry.Where{Tenant: parts[2]}
	if len(parts) > 4 {
		switch parts[3] {
		case "client_sup":
			w.Server = parts[4]
		case "server_sup":
			w.Session = parts[4]
		}
	}
	return w
}
