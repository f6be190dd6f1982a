package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/actors/session"
	"mcpd/gateway/auth"
	"mcpd/gateway/config"
	"mcpd/internal/fault"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// outcome is a sink that keeps the outcome of a request.
type outcome struct {
	told chan jsonrpc.Message // messages before the outcome
	once sync.Once
	done chan struct{}
	m    jsonrpc.Message
}

func newOutcome() *outcome {
	return &outcome{told: make(chan jsonrpc.Message, 16), done: make(chan struct{})}
}

func (o *outcome) Send(m jsonrpc.Message) error {
	select {
	case o.told <- m:
		return nil
	default:
		return transport.ErrSlowConsumer
	}
}

func (o *outcome) Finish(m jsonrpc.Message) (first bool) {
	o.once.Do(func() {
		o.m, first = m, true
		close(o.done)
	})
	return first
}

// embedded is a host without listeners that serves acme and globex, each with the demo server.
type embedded struct {
	*host
	t      *testing.T
	faults *fault.Registry
}

func startEmbedded(t *testing.T) *embedded {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mcpd.yaml")
	text := "tenants:\n  acme: {servers: {demo: {builtin: demo}}}\n  globex: {servers: {demo: " +
		"{builtin: demo}}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Read(file, config.Options{Builtins: Builtins})
	if err != nil {
		t.Fatal(err)
	}
	faults := fault.New(nil)
	running, err := Start(t.Context(), c, Options{
		Embedded: true, Faults: faults, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }() // owner: the cleanup waits for it
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &embedded{running.h, t, faults}
}

var acme = streamable.Endpoint{Tenant: "acme", Principal: auth.Anonymous}

// open opens a session as the stdio transport does.
func (e *embedded) open() *session.Handle {
	e.t.Helper()
	init := jsonrpc.Request(jsonrpc.IntID(1), "initialize",
		[]byte(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`))
	out := newOutcome()
	s, err := e.edge.OpenPushed(e.t.Context(), acme, init, out, func(jsonrpc.Message) error {
		return nil
	})
	if err != nil {
		e.t.Fatal(err)
	}
	e.wait(out)
	if err := s.Deliver(e.t.Context(), jsonrpc.Notification("notifications/initialized", nil),
		nil); err != nil {
		e.t.Fatal(err)
	}
	return s
}

const slow = `{"name":"demo__slow_compute","arguments":{"seconds":60}`

func (e *embedded) call(s *session.Handle, params string) *outcome {
	out := newOutcome()
	if err := s.Deliver(e.t.Context(), jsonrpc.Request(jsonrpc.IntID(2), "tools/call", []byte(params)),
		out); err != nil {
		out.Finish(jsonrpc.Failure(jsonrpc.IntID(2), protocol.Translate(err, protocol.V20251125)))
	}
	return out
}

// alone sends a self-contained request, without a session.
func (e *embedded) alone(method, params string) *outcome {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"}}}`
	m := jsonrpc.Request(jsonrpc.StringID("m"), method,
		[]byte(strings.TrimSuffix(params, "}")+","+meta))
	out := newOutcome()
	class, err := e.edge.Policy(acme).Classify(protocol.Incoming{Method: m.Method, Params: m.Params})
	if err == nil {
		var peer streamable.Peer
		if peer, err = e.edge.Peer(e.t.Context(), acme, class); err == nil {
			err = peer.Call(e.t.Context(), m, nil, out)
		}
	}
	if err != nil {
		out.Finish(jsonrpc.Failure(m.ID, protocol.Translate(err, protocol.V20260728)))
	}
	return out
}

func (e *embedded) wait(out *outcome) jsonrpc.Message {
	e.t.Helper()
	select {
	case <-out.done:
	case <-time.After(10 * time.Second):
		e.t.Fatal("no outcome")
	}
	return out.m
}

// inFlight waits until n calls are in flight.
func (e *embedded) inFlight(n int) {
	e.t.Helper()
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		all := 0
		e.index.Each(func(h *session.Handle) bool { all += h.Calls().Len(); return true })
		if all == n {
			return
		}
		if time.Since(begin) > 10*time.Second {
			e.t.Fatalf("%d calls are in flight, want %d", all, n)
		}
	}
}

// down checks that an outcome says that acme is down, with the incident and a time to retry.
func (e *embedded) down(label string, out *outcome, state string) {
	e.t.Helper()
	m := e.wait(out)
	if m.Error == nil {
		e.t.Errorf("%s: %s, want an error", label, m.Result)
		return
	}
	reason, _ := jsonedit.GetString(m.Error.Data, "reason")
	incident, _ := jsonedit.GetString(m.Error.Data, "incident")
	want := e.standing.Of("acme").Incident
	for begin := time.Now(); want == "" &&
		time.Since(begin) < 10*time.Second; want = e.standing.Of("acme").Incident {
		time.Sleep(time.Millisecond) // the tenant manager has not decided yet
	}
	if reason != "overloaded" || incident == "" || incident != want ||
		protocol.RetryAfter(m.Error) < time.Second/2 ||
		!strings.Contains(m.Error.Message, "tenant acme is "+state) {
		e.t.Errorf("%s: %d %s %s, want that acme is %s, incident %q", label, m.Error.Code,
			m.Error.Message,
			m.Error.Data, state, want)
	}
}

// A client inside a session of a tenant that an operator quarantines gets the same error as clients
// that connect, also over stdio: the incident, and when to come back. The error of an interrupted
// call says whether the call may have been executed.
func TestQuarantineIsToldInsideSessions(t *testing.T) {
	e := startEmbedded(t)
	s := e.open()
	cut, cutAlone := e.call(s, slow+"}"), e.alone("tools/call", slow+"}")
	listen := e.alone("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
	select {
	case <-listen.told:
	case <-time.After(10 * time.Second):
		t.Fatal("the subscription is not acknowledged")
	}
	e.inFlight(2)
	if _, err := e.operateTenant(t.Context(), "acme", "quarantine"); err != nil {
		t.Fatal(err)
	}
	for label, out := range map[string]*outcome{"call": cut, "call that stands alone": cutAlone} {
		e.down(label, out, "quarantined")
		if !strings.Contains(string(out.m.Error.Data), `"maybeExecuted":`) {
			t.Errorf("%s: %s, want maybeExecuted", label, out.m.Error.Data)
		}
	}
	m := e.wait(listen)
	incident, _ := jsonedit.GetString(m.Result, "_meta", "mcpd/incident")
	again, _ := jsonedit.Get(m.Result, "_meta", "mcpd/retryAfterMs")
	kind, _ := jsonedit.GetString(m.Result, "resultType")
	id, _ := jsonedit.GetString(m.Result, "_meta", protocol.MetaSubscriptionID)
	if kind != "complete" || id != "m" || incident != e.standing.Of("acme").Incident ||
		string(again) != "300000" {
		t.Errorf("subscription: %v %s, want that it ends by incident %q", m.Error, m.Result,
			e.standing.Of("acme").Incident)
	}
	e.down("another call", e.call(s, slow+"}"), "quarantined")
	e.down("another that stands alone", e.alone("tools/list", `{"a":1}`), "quarantined")
	e.down("another subscription", e.alone("subscriptions/listen", `{"notifications":{}}`),
		"quarantined")

	if _, err := e.operateTenant(t.Context(), "acme", "release"); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		m := e.wait(e.call(s, `{"name":"demo__echo","arguments":{"message":"back"}}`))
		if m.Error == nil {
			break
		}
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("released: %s %s", m.Error.Message, m.Error.Data)
		}
	}
}

// The same for a tenant that ends by itself. Interrupted clients get the incident of the crash that
// exceeded the intensity, although the length of the pause is not decided yet.
func TestEndOfATenantIsToldInsideSessions(t *testing.T) {
	e := startEmbedded(t)
	s := e.open()
	cut := e.call(s, slow+"}")
	listen := e.alone("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
	<-listen.told
	e.inFlight(1)
	f := fault.Fault{
		Action: fault.Panic,
		Point: fault.Point{Place: fault.Receive, Path: "mcpd/tenants/acme/request_manager",
			Kind: "*request.Submit"}, Count: 6, Lease: time.Minute,
	}
	if _, err := e.faults.Arm(f); err != nil {
		t.Fatal(err)
	}
	for n := range 6 {
		if n == 3 {
			time.Sleep(1100 * time.Millisecond) // five in quick succession would lose what is in flight
		}
		e.wait(e.call(s, `{"name":"demo__echo","arguments":{"message":"x"}}`))
	}
	e.down("call", cut, "paused")
	m := e.wait(listen)
	incident, _ := jsonedit.GetString(m.Result, "_meta", "mcpd/incident")
	if want := e.standing.Of("acme").Incident; m.Error != nil || incident == "" ||
		want != "" && incident != want {
		t.Errorf("subscription: %v %s, want incident %q", m.Error, m.Result, want)
	}
}

// A handshake arrives while a shared component refuses messages of its tenant. The client gets the
// error that the tenant is paused, with the incident of the crash, and no internal error.
func TestHandshakeThatIsShunnedHearsOfThePause(t *testing.T) {
	e := startEmbedded(t)
	s := e.open()
	f := fault.Fault{Action: fault.Panic, Point: fault.Point{
		Place: fault.Receive, Path: "mcpd/core/protocol_version",
		Kind: "*otp.Call[mcpd/actors/version.NegotiateRequest,mcpd/protocol.Agreement]",
	}, Count: 2, Lease: time.Minute}
	if _, err := e.faults.Arm(f); err != nil {
		t.Fatal(err)
	}
	const greetings = 8
	all := make([]*outcome, greetings)
	for n := range all {
		all[n] = newOutcome()
		m := jsonrpc.Request(jsonrpc.IntID(1), "initialize",
			[]byte(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`))
		if _, err := e.edge.OpenPushed(t.Context(), acme, m, all[n], func(jsonrpc.Message) error {
			return nil
		}); err != nil {
			all[n].Finish(jsonrpc.Failure(m.ID, protocol.Translate(err, protocol.V20251125)))
		}
	}
	crashed := 0
	for n, out := range all {
		if m := e.wait(out); m.Error != nil && m.Error.Code == jsonrpc.CodeInternal {
			crashed++
			t.Logf("greeting %d: %s %s", n, m.Error.Message, m.Error.Data)
			continue
		}
		e.down(fmt.Sprint("greeting ", n), out, "paused")
	}
	if crashed > 2 {
		t.Errorf("%d greetings were told of a crash, want at most the two that crashed the component",
			crashed)
	}
	crash := &otp.CrashReport{Path: "mcpd/core/protocol_version"}
	told := protocol.Translate(s.Explain(fmt.Errorf("no agreement: %w",
		errors.Join(otp.ErrOriginRefused, crash))), protocol.V20251125)
	if incident, _ := jsonedit.GetString(told.Data, "incident"); incident == "" ||
		!strings.Contains(told.Message, "tenant acme is ") {
		t.Errorf("explained: %s %s", told.Message, told.Data)
	}
}

// An operator is answered at once even if an actor of the tenant hangs, and sees that the tenant is
// being stopped until it has stopped.
func TestOperatorOfATenantThatHangsIsAnsweredAtOnce(t *testing.T) {
	e := startEmbedded(t)
	f := fault.Fault{
		Action: fault.Hang, Point: fault.Point{Place: fault.Receive, Path: "mcpd/tenants/acme/catalog"},
		Count: 1, Delay: 2 * time.Second, Lease: time.Minute,
	}
	if _, err := e.faults.Arm(f); err != nil {
		t.Fatal(err)
	}
	e.alone("tools/list", `{"a":1}`)
	begin := time.Now()
	for all := e.faults.Active(); len(all) > 0 && all[0].Struck == 0; all = e.faults.Active() {
		if time.Sleep(time.Millisecond); time.Since(begin) > 10*time.Second {
			t.Fatalf("nothing hangs: %+v", e.faults.Active())
		}
	}
	begin = time.Now()
	answer, err := e.operateTenant(t.Context(), "acme", "quarantine")
	if took := time.Since(begin); err != nil || answer.GetState() != "stopping" ||
		answer.GetIncident() == "" || took > time.Second {
		t.Fatalf("answered after %v: %v, %v", took, answer, err)
	}
	for state := answer.GetState(); state != "quarantined"; time.Sleep(10 * time.Millisecond) {
		for tenant := range e.tenantList() {
			if tenant.GetName() == "acme" {
				state = tenant.GetState()
			}
		}
		if state != "stopping" && state != "quarantined" || time.Since(begin) > 20*time.Second {
			t.Fatalf("it is %s after %v", state, time.Since(begin))
		}
	}
	if took := time.Since(begin); took < time.Second {
		t.Errorf("it was stopped within %v: nothing hung", took)
	}
}
