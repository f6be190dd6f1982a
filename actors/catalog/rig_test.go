package catalog_test

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"mcpd/actors/capability"
	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/storage"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a catalogue of two servers, "files" and "search". Their connections send the reports that
// a test chooses.
type rig struct {
	// carried state with which the last connection began
	restored atomic.Pointer[client.AbandonedState]
	*testrig.Rig
	tenant              tenant.Tenant // current configuration
	dispatcher, session testrig.Box
	noting              sync.Mutex               // guards retired, led and attached
	retired             []otp.Ref                // connections that were told to end when unused
	regained            []*client.AbandonedState // carried states that running connections got back
	led                 []led                    // messages to connections about an unreachable server
	storage             testrig.Box
	// applied before the start; nil for the default servers
	configure func(*tenant.Tenant)
	stored    map[string]jsontext.Value // by an earlier host
	late      bool                      // connections do not answer sessions that attach
	unaware   bool                      // connections do not take Attach
	attaches  []*client.Attach
	attached  []string      // sessions that a connection has confirmed
	gate      chan struct{} // connections start when it is closed; nil means at once

	kept        quota.Ledger              // quotas of the tenants
	full        error                     // error of the storage, nil for none
	quarantined map[string]jsontext.Value // by an earlier host
}

// led is a message to the connection of a principal about an unreachable server.
type led struct {
	principal string
	msg       any
	at        time.Time
}

// report makes a connection report; an error makes it end.
type report struct {
	short client.Shortfall // of its tools
	owes  client.Shortfall // of its resources
	uris  []string
	state client.State
	cause error
	tools []string
	items []jsontext.Value // complete tools
	caps  string
	speak protocol.Version // zero is 2025-11-25
	told  []merge.Kind     // lists that the server says have changed
	sse   bool             // the server speaks HTTP+SSE
	early bool             // it wants to ask the first session something
	away  bool             // its URL is unreachable
	over  bool             // it gave up by itself
}

// place stands for a connection.
type place struct {
	otp.Base
	r    *rig
	o    func() client.Report // with server and key set
	cat  otp.Ref
	last client.Report
}

func (x *place) Init(p *otp.Process) error {
	if x.r.gate != nil {
		<-x.r.gate
	}
	x.tell(p, report{state: client.Starting})
	return nil
}

func (x *place) Receive(p *otp.Process, msg any) error {
	switch m := msg.(type) {
	case report:
		x.tell(p, m)
	case error:
		return m
	case *client.Attach:
		if x.r.unaware {
			x.r.attaches = append(x.r.attaches, m)
		} else if x.r.late {
			m.AnswerLater()
			x.r.attaches = append(x.r.attaches, m)
		} else {
			x.r.noting.Lock()
			x.r.attached = append(x.r.attached, m.Req.Session)
			x.r.noting.Unlock()
			m.Reply(struct{}{})
		}
	case *client.AbandonedState:
		x.r.regained = append(x.r.regained, m)
	case client.Stop:
		return otp.ShutdownWith(m.Why)
	case client.Restart:
		x.tell(p, report{state: client.Starting})
	case client.Redial, client.Pause, client.Check:
		x.r.noting.Lock()
		defer x.r.noting.Unlock()
		x.r.led = append(x.r.led, led{x.o().Key.Principal, m, p.Now()})
	case client.Retire:
		x.r.noting.Lock()
		defer x.r.noting.Unlock()
		x.r.retired = append(x.r.retired, p.Self())
	case client.Describe:
		again := x.last
		_ = x.cat.Send(&again)
	}
	return nil
}

func (x *place) tell(p *otp.Process, m report) {
	r := x.o()
	r.From, r.Incarnation, r.State, r.Cause, r.At = p.Self(), p.Incarnation(), m.state,
		m.cause, p.Now()
	if m.caps == "" {
		m.caps = `{"tools":{"listChanged":true}}`
	}
	caps, err := protocol.ParseServerCapabilities(jsontext.Value(m.caps))
	if err != nil {
		panic(err)
	}
	r.Facts = client.Facts{
		Version: cmp.Or(m.speak, protocol.V20251125), Capabilities: caps,
		Server: protocol.Implementation{Name: r.Server, Version: "1"},
	}
	for _, name := range m.tools {
		r.Lists[merge.Tools] = append(r.Lists[merge.Tools], jsontext.Value(`{"name":"`+name+`"}`))
	}
	r.Lists[merge.Tools] = append(r.Lists[merge.Tools], m.items...)
	for _, uri := range m.uris {
		item := jsontext.Value(`{"name":"` + r.Server + `","uri":"` + uri + `"}`)
		r.Lists[merge.Resources] = append(r.Lists[merge.Resources], item)
	}
	r.Shortfalls[merge.Resources] = m.owes
	r.Changed, r.Shortfalls[merge.Tools], r.Channel, r.Early = m.told, m.short, m.sse, m.early
	r.Away, r.GaveUp = m.away, m.over
	x.last = r
	_ = x.cat.Send(&r)
}

func run(t *testing.T, test func(r *rig)) {
	t.Helper()
	(&rig{}).run(t, test)
}

func (r *rig) run(t *testing.T, test func(r *rig)) {
	t.Helper()
	r.storage.On = func(msg any) {
		if put, ok := msg.(*storage.Put); ok && r.full != nil {
			put.Fail(r.full)
		} else if ok {
			put.Reply(struct{}{})
		}
	}
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		r.Rig = s
		servers := []tenant.Server{
			{Name: "files", Command: tenant.NewSecret("files"), Share: tenant.ByTenant,
				Intensity: tenant.Intensity{Restarts: 2, Within: 30 * time.Second}},
			{Name: "search", Command: tenant.NewSecret("search"), Share: tenant.ByPrincipal,
				Intensity: tenant.Intensity{Restarts: 2, Within: 30 * time.Second}},
		}
		r.tenant = tenant.Tenant{
			Name: "acme", Servers: servers,
			Limits: tenant.Limits{ListWait: 10 * time.Second, CallTimeoutMax: time.Minute},
		}
		if r.configure != nil {
			r.configure(&r.tenant)
		}
		make := func() otp.Behaviour {
			return catalog.New(catalog.Options{
				Tenant:     func() *tenant.Tenant { return &r.tenant },
				Upstreams:  func() (otp.Ref, bool) { return s.System.Whereis("top/client_sup") },
				Connection: r.connection, Dispatcher: s.Ref("dispatcher"), Registry: s.Ref("registry"),
				Emit:        s.Events.Emit,
				Storage:     func() otp.Ref { return s.Ref("storage") },
				Stored:      func() iter.Seq2[string, jsontext.Value] { return maps.All(r.stored) },
				Quarantined: func() iter.Seq2[string, jsontext.Value] { return maps.All(r.quarantined) },
				Principals:  func() []string { return []string{"ci", "cd"} },
				Account:     r.kept.Account("acme"),
			})
		}
		return []otp.Child{
			r.dispatcher.Child("dispatcher"), r.session.Child("session"), r.storage.Child("storage"),
			{ID: "registry", Start: otp.Worker(func() otp.Behaviour { return capability.New() })},
			{ID: "catalog", Mailbox: 4096, Start: s.CrashRestored.Worker(make)},
			{ID: "client_sup", Start: otp.Supervisor(otp.Spec{Strategy: otp.SimpleOneForOne,
				Children: []otp.Child{{
					Restart: otp.Transient, Start: otp.SupervisorWith(func(args any) otp.Spec {
						i := args.(tenant.Server).Intensity
						return otp.Spec{Intensity: otp.Intensity{Restarts: i.Restarts, Within: i.Within}}
					}),
				}}})},
		}
	}, func(*testrig.Rig) {
		time.Sleep(time.Second) // the pool starts after the catalogue
		r.WaitIdle()
		test(r)
	})
}

func (r *rig) connection(s tenant.Server, k tenant.Key, _ protocol.ClientCapabilities,
	_ protocol.Implementation, abandoned *client.AbandonedState, cat otp.Ref) otp.Child {
	r.restored.Store(abandoned)
	o := func() client.Report { return client.Report{Server: s.Name, Key: k} }
	return client.Supervised(k, s.Intensity, otp.Child{Start: otp.Worker(func() otp.Behaviour {
		return &place{r: r, o: o, cat: cat}
	})})
}

// caller is the caller in these tests.
func (r *rig) caller(principal, server string) catalog.Caller {
	return catalog.Caller{
		Session: "s-" + principal, Ref: r.Ref("session"), Principal: principal, Server: server,
	}
}

// looks asks for a caller's view, and returns at once. The answer comes on the channel.
func (r *rig) looks(c catalog.Caller) <-chan view { return r.looksFor(c, 10*time.Second) }

func (r *rig) looksFor(c catalog.Caller, wait time.Duration) <-chan view {
	return r.look(catalog.LookRequest{Caller: c, Wait: wait})
}

func (r *rig) look(req catalog.LookRequest) <-chan view {
	answer := make(chan view, 1)
	ref := r.Ref("catalog")
	go func() { // it ends with its answer, which every test waits for
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		v, err := otp.Do[catalog.LookRequest, *catalog.View](ctx, ref, req)
		answer <- view{v, err, time.Now()}
	}()
	r.WaitIdle()
	return answer
}

type view struct {
	*catalog.View
	err error
	at  time.Time
}

// connects asks for a caller's connection.
func (r *rig) connects(c catalog.Caller, server string) (otp.Ref, error) {
	ctx, cancel := context.WithTimeout(r.T.Context(), time.Hour)
	defer cancel()
	return otp.Do[catalog.ConnectRequest, otp.Ref](ctx, r.Ref("catalog"), catalog.ConnectRequest{
		Caller: c, Server: server,
	})
}

// reports makes a connection of a server report.
func (r *rig) reports(path string, m report) {
	r.T.Helper()
	r.Send("client_sup/"+path+"/connection", m)
}

// Paths of the connections in these tests.
const (
	files  = "files/tenant"
	search = "search/principal=ci"
)

// ready makes both servers ready with one tool each.
func (r *rig) ready() {
	r.T.Helper()
	answer := r.looks(r.caller("ci", ""))
	r.reports(files, report{state: client.Ready, tools: []string{"read"}})
	r.reports(search, report{state: client.Ready, tools: []string{"find"}})
	if v := <-answer; v.err != nil || len(v.Servers) != 2 {
		r.T.Fatalf("view: %+v, %v", v.View, v.err)
	}
}

// record is the catalogue's record of a server.
func (r *rig) record(server string) catalog.Record {
	r.T.Helper()
	r.WaitIdle()
	list, err := testrig.Ask[catalog.ServersRequest, []catalog.Record](r.Rig, "catalog",
		catalog.ServersRequest{})
	if err != nil {
		r.T.Fatal(err)
	}
	for _, rec := range list {
		if rec.Server == server {
			return rec
		}
	}
	r.T.Fatalf("no record of %s", server)
	return catalog.Record{}
}

// fails makes a server exceed its restart budget.
func (r *rig) fails(path string, cause error) {
	r.T.Helper()
	for range 3 {
		r.reports(path, report{state: client.Backoff, cause: cause})
		r.Send("client_sup/"+path+"/connection", cause)
	}
}

var errDisk = errors.New("the disk is full")
