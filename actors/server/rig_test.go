package server_test

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"mcpd/actors/capability"
	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/held"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	"mcpd/actors/request"
	"mcpd/actors/server"
	"mcpd/actors/session"
	"mcpd/actors/storage"
	"mcpd/actors/task"
	"mcpd/actors/version"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/seal"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/pipe"
	"mcpd/transport/streamable"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// budget is the restart budget of each held call and of each task.
var budget = otp.Intensity{Restarts: 5, Within: 30 * time.Second}

// rig is a tenant as in the host, without transports. All actors are real, the servers are scripted
// peers, and the clients are the tests themselves.
type rig struct {
	*testrig.Rig
	tasks  task.Index
	memory quota.Memory
	kept   *quota.Ledger
	task   atomic.Pointer[string] // result of tasks/get
	index  *session.Index
	next   atomic.Uint64
	script map[string]script // script of each server; a server without one never answers
	// peers are the servers' ends of the connections, in the order of dialling.
	peers      map[string]chan *peer
	dialled    testrig.Log // all of them
	tenant     tenant.Tenant
	held       *held.Options
	home       string       // where the servers survive their host; empty for nowhere
	disk       *disk        // nil when nothing is stored
	tools      int          // how often those of "files" were changed
	registered atomic.Int64 // number of registrations with the dispatcher
	// countsCatalog makes the catalogue charge its memory.
	countsCatalog bool
}

// Scripts of a server with a tool, and its handshake.
func offers(capabilities string) func(jsontext.Value) string {
	return result(`{"protocolVersion":"2025-11-25","capabilities":` + capabilities +
		`,"serverInfo":{"name":"peer","version":"1"}}`)
}

func result(text string) func(jsontext.Value) string {
	return func(jsontext.Value) string { return text }
}

// all is the offer of the server "files" by default.
const all = `{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"logging":{},"completions":{}}`

func files() script {
	return script{
		"initialize":               offers(all),
		"tools/list":               result(`{"tools":[{"name":"read","inputSchema":{"type":"object"}}]}`),
		"prompts/list":             result(`{"prompts":[{"name":"greet"}]}`),
		"resources/list":           result(`{"resources":[{"uri":"test://x","name":"x"}]}`),
		"resources/templates/list": result(`{"resourceTemplates":[]}`),
		"resources/subscribe":      result(`{}`),
		"resources/unsubscribe":    result(`{}`),
		"logging/setLevel":         result(`{}`),
		"tools/call": func(params jsontext.Value) string {
			return `{"content":[],"called":` + string(params) + `}`
		},
	}
}

func search() script {
	return script{
		"initialize": offers(`{"tools":{}}`),
		"tools/list": result(`{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}`),
	}
}

// run starts a tenant with the servers "files", whose connection is shared by all, and "search".
// The function change may modify the rig before the start.
func run(t *testing.T, change func(r *rig), test func(r *rig)) {
	t.Helper()
	r := &rig{
		index:  session.NewIndex(nil),
		script: map[string]script{"files": files(), "search": search()},
		tenant: tenant.Tenant{
			Name: "acme",
			Limits: tenant.Limits{
				MaxSessions: 100, MaxPending: 100, MaxSessionPending: 5, SessionIdle: time.Hour,
				SessionInit: 30 * time.Second,
				CallTimeout: time.Minute, CallTimeoutMax: 15 * time.Minute, RequestTimeout: 5 * time.Second,
				ListTimeout: 50 * time.Second, ListWait: 10 * time.Second, InputTimeout: 5 * time.Minute,
			},
			Servers: []tenant.Server{
				{Name: "files", Command: tenant.NewSecret("files"), Share: tenant.ByTenant,
					Intensity: tenant.Intensity{Restarts: 5, Within: 30 * time.Second}},
				{Name: "search", Command: tenant.NewSecret("search"), Share: tenant.ByPrincipal,
					Intensity: tenant.Intensity{Restarts: 5, Within: 30 * time.Second}},
			},
		},
	}
	r.kept = quota.NewLedger(&r.memory)
	r.kept.Bound(quota.Bounds{Tenants: 2, Total: 400 << 10})
	if change != nil {
		change(r)
	}
	testrig.Run(t, r.children, func(*testrig.Rig) {
		time.Sleep(time.Second) // the pools start after the catalogue
		test(r)
	})
}

func (r *rig) children(s *testrig.Rig) []otp.Child {
	ring, err := seal.NewRing(rand.Reader, seal.Key{ID: "k"})
	if err != nil {
		s.T.Fatal(err)
	}
	r.held = &held.Options{Ring: ring, Instance: "here", Park: func() time.Duration {
		return r.tenant.Limits.InputTimeout
	}}
	r.Rig, r.peers = s, map[string]chan *peer{
		"files": make(chan *peer, 100), "search": make(chan *peer, 100),
	}
	for _, config := range r.tenant.Servers {
		r.peers[config.Name] = make(chan *peer, 100)
	}
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{})
	worker := func(id string, f func() otp.Behaviour) otp.Child {
		return otp.Child{ID: id, Start: s.Stalls.Worker(id, f)}
	}
	pool := func(id string, template otp.Child) otp.Child {
		return otp.Child{
			ID:    id,
			Start: otp.Supervisor(otp.Spec{Strategy: otp.SimpleOneForOne, Children: []otp.Child{template}}),
		}
	}
	return []otp.Child{
		worker("storage", func() otp.Behaviour {
			return storage.New(storage.Options{Store: r.disk, Emit: s.Events.Emit})
		}),
		worker("versions", func() otp.Behaviour { return version.New(s.Events.Emit) }),
		worker("capabilities", func() otp.Behaviour { return capability.New() }),
		worker("sessions", func() otp.Behaviour {
			return session.New(session.Options{
				Clock: clock.System, Store: streamable.NewStore(streamable.StoreOptions{Clock: clock.System}),
				Total: func() int {
					return 1000
				},
				Pool: func(string) (otp.Ref, bool) { return s.System.Whereis("top/server_sup") },
				Limit: func(string) int {
					return r.tenant.Limits.MaxSessions
				}, Idle: func(string) time.Duration { return r.tenant.Limits.SessionIdle },
				Emit: s.Events.Emit, Storage: func() (writer otp.Ref) {
					if r.disk != nil {
						writer = s.Ref("storage")
					}
					return writer
				},
			}, r.index)
		}),
		worker("requests", func() otp.Behaviour {
			return request.New(request.Options{
				Account: r.kept.Account("acme"),
				Tenant:  "acme", Pending: func() int { return r.tenant.Limits.MaxPending }, Emit: s.Events.Emit,
				Meter: request.NewMeters(func(server, method string) *telemetry.Requests {
					return metrics.Requests("acme", server, method)
				}, time.Now),
			})
		}),
		worker("notices", func() otp.Behaviour {
			return &dispatcher{notification.New(notification.Options{Tenant: "acme", Emit: s.Events.Emit,
				Lost: func() {
					r.index.Each(func(h *session.Handle) bool { _ = h.Send(session.Reconfigured{}); return true })
				}}), &r.registered}
		}),
		worker("catalog", func() otp.Behaviour {
			var account *quota.Account
			if r.countsCatalog {
				account = r.kept.Account("acme")
			}
			return catalog.New(catalog.Options{
				Account: account,
				Tenant: func() *tenant.Tenant {
					t := r.tenant
					return &t
				}, Upstreams: func() (otp.Ref, bool) { return s.System.Whereis("top/client_sup") },
				Connection: r.connection, Dispatcher: s.Ref("notices"), Registry: s.Ref("capabilities"),
				Emit: s.Events.Emit,
			})
		}),
		pool("client_sup", otp.Child{Restart: otp.Transient,
			Start: otp.SupervisorWith(func(args any) otp.Spec {
				i := args.(tenant.Server).Intensity
				return otp.Spec{Intensity: otp.Intensity{Restarts: i.Restarts, Within: i.Within}}
			})}),
		pool("held_sup", held.Supervised(budget, func() *held.Options {
			o := *r.held
			o.Requests = s.Ref("requests")
			return &o
		})),
		pool("task_sup", otp.Child{Restart: otp.Temporary,
			Start: otp.SupervisorWith(func(args any) otp.Spec {
				spec := task.Spec(budget, nil, task.Args{})
				spec.Children[0].Start = otp.Worker(func() otp.Behaviour {
					return task.New(r.taskOptions(), args.(task.Args))
				})
				return spec
			})}),
		worker("task_manager", func() otp.Behaviour { return task.NewManager(r.restoring()) }),
		pool("server_sup", otp.Child{
			Restart: otp.Temporary, Start: s.Stalls.WorkerWith("session", r.session()),
		}),
	}
}

// dispatcher counts registrations.
type dispatcher struct {
	*notification.Dispatcher
	registered *atomic.Int64
}

func (d *dispatcher) Receive(p *otp.Process, msg any) error {
	if _, is := msg.(*notification.Register); is {
		d.registered.Add(1)
	}
	return d.Dispatcher.Receive(p, msg)
}

func (r *rig) session() func(args any) otp.Behaviour {
	var o *server.Options
	return func(args any) otp.Behaviour {
		if o == nil {
			o = &server.Options{
				Tenant: func() *tenant.Tenant {
					t := r.tenant
					return &t
				}, Versions: r.Ref("versions"), Requests: r.Ref("requests"), Catalog: r.Ref("catalog"),
				Notices: r.Ref("notices"),
				NextID:  &r.next, Self: protocol.Implementation{Name: "mcpd", Version: "1"},
				Held: r.held, HeldCalls: func() otp.Ref {
					ref, _ := r.System.Whereis("top/held_sup")
					return ref
				},
				HeldCall: func(row string) (otp.Ref, bool) {
					return r.System.Whereis("top/held_sup/" + row + "/" + held.Child)
				},
				Tasks: func() otp.Ref { ref, _ := r.System.Whereis("top/task_sup"); return ref },
				Task: func(row string) (otp.Ref, bool) {
					return r.System.Whereis("top/task_sup/" + row + "/" + task.Child)
				},
				TaskIndex: &r.tasks, Account: r.kept.Account("acme"),
				CountError: func(int64) {}, Emit: r.Events.Emit,
			}
		}
		return server.New(o, args.(session.Args))
	}
}

func (r *rig) connection(
	s tenant.Server, k tenant.Key, declare protocol.ClientCapabilities, self protocol.Implementation,
	abandoned *client.AbandonedState, cat otp.Ref,
) otp.Child {
	if self.Name == "" {
		self = protocol.Implementation{Name: "mcpd", Version: "1"}
	}
	o := client.Options{
		Tenant: "acme", Server: s.Name, Key: k, Declare: declare, Restore: abandoned, Transport: "pipe",
		Target: s.Name,
		Self:   self, ShareLogs: s.ShareLogs, Instances: s.Instances, StartTimeout: time.Minute,
		RequestTimeout: func() time.Duration {
			return 5 * time.Second
		},
		ListTimeout: func() time.Duration { return 50 * time.Second },
		Pending:     func() int { return 100 },
		Forgot: func(from otp.Ref) {
			r.index.Each(func(h *session.Handle) bool {
				_ = h.Send(client.UsersForgotten{Server: s.Name, From: from})
				return true
			})
		},
		Dispatcher: r.Ref("notices"), Catalog: cat, Emit: r.Events.Emit,
		Close: func(up transport.Upstream) { _ = up.Close(context.Background()) },
		Dial: func(context.Context, otp.Ref) (transport.Upstream, error) {
			up, end := pipe.Pair(0)
			p := &peer{end: end}
			done := make(chan struct{})
			go func() { defer close(done); p.serve(r.script[s.Name]) }() // the cleanup waits for it
			r.T.Cleanup(func() { p.Close(); <-done })
			r.peers[s.Name] <- p
			r.dialled.Add(p)
			return up, nil
		},
	}
	return client.Supervised(k, s.Intensity,
		otp.Child{Mailbox: 4096, Start: r.Stalls.Worker("connection", func() otp.Behaviour {
			return client.New(o)
		})})
}

// user is a client on a channel of its own, as with stdio.
type user struct {
	r      *rig
	h      *session.Handle
	pushed testrig.Log
	stall  chan struct{} // if it is set, the client reads nothing until it is closed
	id     uint64
}

// open opens a session without a handshake.
func (r *rig) open(principal, server string) *user {
	r.T.Helper()
	u := &user{r: r}
	h, err := otp.Do[session.OpenRequest, *session.Handle](r.T.Context(), r.Ref("sessions"),
		session.OpenRequest{
			Endpoint: streamable.Endpoint{Tenant: "acme", Server: server, Principal: principal},
			Push: func(m jsonrpc.Message) error {
				if u.stall != nil {
					<-u.stall
				}
				u.pushed.Add(note{m})
				return nil
			},
		})
	if err != nil {
		r.T.Fatal(err)
	}
	u.h = h
	return u
}

// note is a message that was pushed.
type note struct{ jsonrpc.Message }

// ready opens a session that has completed its handshake.
func (r *rig) ready(capabilities string) *user {
	r.T.Helper()
	u := r.open("ci", "")
	u.shake(capabilities)
	return u
}

func (u *user) shake(capabilities string) {
	u.r.T.Helper()
	if out := u.ask("initialize", greeting("2025-11-25", capabilities)); out.Word() != "result" {
		u.r.T.Fatalf("initialize: %v", out.All())
	}
	u.tell("notifications/initialized", "")
	u.r.WaitIdle()
}

func greeting(version, capabilities string) string {
	return `{"protocolVersion":"` + version + `","capabilities":` + capabilities +
		`,"clientInfo":{"name":"user","version":"1"}}`
}

// ask makes a request under the next id.
func (u *user) ask(method, params string) *testrig.Sink {
	u.r.T.Helper()
	u.id++
	return u.askAs(jsonrpc.IntID(u.id), method, params)
}

func (u *user) askAs(id jsonrpc.ID, method, params string) *testrig.Sink {
	u.r.T.Helper()
	out := &testrig.Sink{}
	if err := u.h.Deliver(u.r.T.Context(), jsonrpc.Request(id, method, jsontext.Value(params)),
		out); err != nil {
		u.r.T.Errorf("%s: %v", method, err)
	}
	u.r.WaitIdle()
	return out
}

func (u *user) tell(method, params string) {
	u.r.T.Helper()
	if err := u.h.Deliver(u.r.T.Context(), jsonrpc.Notification(method, jsontext.Value(params)),
		nil); err != nil {
		u.r.T.Errorf("%s: %v", method, err)
	}
	u.r.WaitIdle()
}

func (u *user) answer(id jsonrpc.ID, text string) {
	u.r.T.Helper()
	if err := u.h.Deliver(u.r.T.Context(), jsonrpc.Response(id, jsontext.Value(text)),
		nil); err != nil {
		u.r.T.Errorf("answer: %v", err)
	}
	u.r.WaitIdle()
}

// heard is the list of pushed messages with this method, or all if it is empty.
func (u *user) heard(method string) (list []jsonrpc.Message) {
	for _, n := range testrig.Of[note](&u.pushed) {
		if method == "" || n.Method == method {
			list = append(list, n.Message)
		}
	}
	return list
}

// call calls the tool of "files".
func (u *user) call() *testrig.Sink {
	u.r.T.Helper()
	return u.ask("tools/call", `{"name":"files__read"}`)
}

// peer is the server's end of the next connection to a server.
func (r *rig) peer(server string) *peer {
	r.T.Helper()
	r.WaitIdle()
	select {
	case p := <-r.peers[server]:
		return p
	default:
		r.T.Fatalf("nobody has dialled %s", server)
		return nil
	}
}

// latest is the server's end of the last connection to a server.
func (r *rig) latest(server string) (last *peer) {
	r.T.Helper()
	for last = r.peer(server); len(r.peers[server]) > 0; {
		last = r.peer(server)
	}
	return last
}

// silent leaves calls to "files" unanswered.
func silent(r *rig) { r.script["files"]["tools/call"] = nil }

// mute makes a server never answer anything.
func mute(r *rig, server string) {
	for method := range r.script[server] {
		r.script[server][method] = nil
	}
}
