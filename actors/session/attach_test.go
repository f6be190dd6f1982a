package session_test

import (
	"cmp"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/session"
	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport/streamable"
)

// actors makes the actors of the sessions in a test. They answer every request, and crash on the
// method "crash".
type actors struct {
	*testrig.Rig
	index  *session.Index
	limit  int
	starts atomic.Int32
	ended  atomic.Int32  // actors that were told of the end of their session
	hold   chan struct{} // an actor that gets "hold" blocks until it is closed
	slow   chan struct{} // if it is set, an actor starts when it is closed
	broken atomic.Bool   // actors crash as soon as they have started
	random io.Reader     // source of ids; nil for the system's source

	total, tenants, principals int // 0 for 100, 1 and 1
	each                       int // sessions of one principal; 0 for no bound
}

type actor struct {
	otp.Base
	a *actors
	h *session.Handle
}

func (x *actor) Init(p *otp.Process) error {
	x.a.starts.Add(1)
	if x.a.slow != nil {
		<-x.a.slow
	}
	if x.a.broken.Load() {
		return p.Self().Send(errors.New("crash"))
	}
	return nil
}

func (x *actor) Receive(_ *otp.Process, msg any) error {
	switch m := msg.(type) {
	case error:
		return m
	case *session.Expired:
		x.a.ended.Add(1)
		return otp.ErrShutdown
	case *session.Deliver:
		switch m.Message.Method {
		case "crash":
			panic("asked to")
		case "hold":
			<-x.a.hold
			panic("asked to")
		}
		m.Out.Finish(jsonrpc.Response(m.Message.ID, nil))
		m.Seen()
	}
	return nil
}

func perform(t *testing.T, limit int, test func(a *actors)) {
	t.Helper()
	(&actors{index: session.NewIndex(nil), limit: limit}).perform(t, test)
}

func (a *actors) perform(t *testing.T, test func(a *actors)) {
	t.Helper()
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		a.Rig, a.hold = s, make(chan struct{})
		o := session.Options{
			Clock: clock.System, Store: streamable.NewStore(streamable.StoreOptions{Clock: clock.System}),
			Total: func() int {
				return cmp.Or(a.total, 100)
			},
			Tenants: func() int {
				return cmp.Or(a.tenants, 1)
			}, Principals: func(string) int { return cmp.Or(a.principals, 1) },
			OfPrincipal: func(string) int { return a.each },
			Pool:        func(string) (otp.Ref, bool) { return s.System.Whereis("top/pool") },
			Limit: func(string) int {
				return a.limit
			}, Idle: func(string) time.Duration { return time.Hour }, Emit: s.Events.Emit,
			Random: a.random,
		}
		return []otp.Child{
			{ID: "manager", Start: s.CrashRestored.Worker(func() otp.Behaviour {
				return session.New(o, a.index)
			})},
			{ID: "pool", Start: otp.Supervisor(otp.Spec{Strategy: otp.SimpleOneForOne,
				Children: []otp.Child{{
					Restart: otp.Temporary, Start: otp.WorkerWith(func(args any) otp.Behaviour {
						return &actor{a: a, h: args.(session.Args).Handle}
					}),
				}}})},
		}
	}, func(*testrig.Rig) { test(a) })
}

func (a *actors) open() (*session.Handle, error) {
	return otp.Do[session.OpenRequest, *session.Handle](a.T.Context(), a.Ref("manager"),
		session.OpenRequest{Endpoint: streamable.Endpoint{Tenant: "acme", Principal: "ci"}})
}

// ready opens a session that has completed its handshake.
func (a *actors) ready() *session.Handle {
	a.T.Helper()
	h, err := a.open()
	if err != nil {
		a.T.Fatal(err)
	}
	h.Store(&session.Record{Version: protocol.V20251125})
	return h
}

// deliver sends a request to a session.
func (a *actors) deliver(h *session.Handle, method string) (*testrig.Sink, error) {
	out := &testrig.Sink{}
	return out, h.Deliver(a.T.Context(), jsonrpc.Request(jsonrpc.IntID(1), method, nil), out)
}

// S4-103, C13: a session whose actor crashed gets another at once. Only the request that it crashed
// on fails. The requests behind it are handled by the next actor.
func TestCrashedSessionIsAttachedAnew(t *testing.T) {
	perform(t, 10, func(a *actors) {
		h := a.ready()
		first, _ := a.deliver(h, "hold")
		var behind []*testrig.Sink
		for range 5 {
			out, err := a.deliver(h, "ping")
			if err != nil {
				a.T.Fatal(err)
			}
			behind = append(behind, out)
		}
		close(a.hold)
		if got := first.Word(); got != int64(-32603) ||
			!strings.Contains(string(first.All()[0].Error.Data), `"maybeExecuted":false,"retryable":true`) {
			t.Errorf("the one it crashed on: %v", first.All())
		}
		for i, out := range behind {
			if m := out.Outcome(); len(out.All()) != 1 || m.Error != nil {
				t.Errorf("%d behind it: %v", i, out.All())
			}
		}
		if got := a.starts.Load(); got != 2 {
			t.Errorf("%d actors, want 2", got)
		}
		if out, err := a.deliver(h, "ping"); err != nil || out.Outcome().Error != nil {
			t.Errorf("next: %v, %v", out.All(), err)
		}
	})
}

// A retry continues a call that its server already has. If a crash fails the retry, the client is
// told that the call may have been executed.
func TestCrashOnARetrySaysThatTheCallMayHaveBeenExecuted(t *testing.T) {
	for params, want := range map[string]string{
		`{"name":"t"}`:                     `"maybeExecuted":false`,
		`{"name":"t","requestState":"s"}`:  `"maybeExecuted":true`,
		`{"name":"t","inputResponses":{}}`: `"maybeExecuted":true`,
	} {
		perform(t, 10, func(a *actors) {
			out := &testrig.Sink{}
			if err := a.ready().Deliver(a.T.Context(),
				jsonrpc.Request(jsonrpc.IntID(1), "crash", jsontext.Value(params)), out); err != nil {
				a.T.Fatal(err)
			}
			if got := out.Word(); got != int64(-32603) ||
				!strings.Contains(string(out.All()[0].Error.Data), want) {
				t.Errorf("%s: %v, want %s", params, out.All(), want)
			}
		})
	}
}

// A message that is left unhandled twice is answered, so that no message is handed on for ever.
func TestMessageIsHandedOnOnce(t *testing.T) {
	perform(t, 10, func(a *actors) {
		h := a.ready()
		_, _ = a.deliver(h, "hold")
		second, _ := a.deliver(h, "crash")
		third, _ := a.deliver(h, "ping")
		close(a.hold)
		if second.Word() != int64(-32603) {
			t.Errorf("the second: %v", second.All())
		}
		if got := third.Word(); got == "none" {
			t.Error("the third has no outcome")
		}
		a.WaitIdle()
		time.Sleep(2 * time.Second)
		if out, err := a.deliver(h, "ping"); err != nil || out.Outcome().Error != nil {
			t.Errorf("later: %v, %v", out.All(), err)
		}
	})
}

// A session whose actor crashes again at once gets another soon, without a request of its client,
// because a server may have a message for the session.
func TestSessionThatCrashesAgainIsAttachedUnasked(t *testing.T) {
	perform(t, 10, func(a *actors) {
		h := a.ready()
		for range 3 {
			if out, err := a.deliver(h, "crash"); err != nil || out.Word() != int64(-32603) {
				t.Errorf("got %v, %v", out.All(), err)
			}
		}
		if err := h.Send(struct{}{}); err == nil {
			t.Error("there is another at once, and then another: nothing holds up a session that crashes")
		}
		time.Sleep(time.Second)
		if err := h.Send(struct{}{}); err != nil {
			t.Errorf("a second later: %v", err)
		}
		before := a.starts.Load()
		time.Sleep(time.Minute)
		a.WaitIdle()
		if got := a.starts.Load(); got != before {
			t.Errorf("%d more were started", got-before)
		}
	})
}

// An actor that crashes by itself again and again is started ever more rarely, and in the end only
// for its client's next request.
func TestCrashLoopOfASessionCostsNothingWhenNobodyAsks(t *testing.T) {
	perform(t, 10, func(a *actors) {
		h := a.ready()
		a.broken.Store(true)
		_, _ = a.deliver(h, "crash")
		time.Sleep(20 * time.Minute)
		a.WaitIdle()
		before := a.starts.Load()
		if before < 5 || before > 15 {
			t.Errorf("%d actors were started in twenty minutes", before)
		}
		time.Sleep(20 * time.Minute)
		a.WaitIdle()
		if got := a.starts.Load(); got != before {
			t.Errorf("%d actors were started though nobody asked", got-before)
		}
		a.broken.Store(false)
		if out, err := a.deliver(h, "ping"); err != nil || out.Outcome().Error != nil {
			t.Errorf("next: %v, %v", out.All(), err)
		}
	})
}

// A pending attempt to attach an actor survives a crash of the manager.
func TestAttachingOutlivesTheManager(t *testing.T) {
	perform(t, 10, func(a *actors) {
		h := a.ready()
		for range 2 {
			_, _ = a.deliver(h, "crash")
			a.WaitIdle()
		}
		a.Break("manager", "")
		a.Send("manager", struct{}{})
		a.Struck()
		time.Sleep(time.Second)
		if err := h.Send(struct{}{}); err != nil {
			t.Errorf("a second later: %v", err)
		}
	})
}

// A session that ends while it has no actor gets one that releases what the session had asked of
// others.
func TestSessionWithoutAnActorEnds(t *testing.T) {
	perform(t, 10, func(a *actors) {
		h := a.ready()
		for range 2 { // the second time it is not replaced at once
			_, _ = a.deliver(h, "crash")
			a.WaitIdle()
		}
		if err := h.Close(a.T.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		a.WaitIdle()
		if got := a.ended.Load(); got != 1 {
			t.Errorf("%d actors were told that it has ended, want one", got)
		}
	})
}

// A session that was closed, or never completed its handshake, gets no new actor.
func TestSessionThatIsOverIsNotAttached(t *testing.T) {
	perform(t, 10, func(a *actors) {
		h := a.ready()
		if err := h.Close(a.T.Context()); err != nil {
			a.T.Fatal(err)
		}
		if _, err := a.deliver(h, "ping"); !errors.Is(err, streamable.ErrNoSession) {
			t.Errorf("closed: %v", err)
		}
		fresh, err := a.open()
		if err != nil {
			a.T.Fatal(err)
		}
		if out, err := a.deliver(fresh, "crash"); err != nil || out.Word() != int64(-32603) {
			t.Errorf("crashed: %v, %v", out.All(), err)
		}
		a.WaitIdle()
		if _, err := a.deliver(fresh, "ping"); !errors.Is(err, streamable.ErrNoSession) ||
			a.index.Len() != 0 {
			t.Errorf("a session without a handshake: %v, %d left", err, a.index.Len())
		}
	})
}

// When the manager crashes, sessions go on. Every client that was opening a session gets it, except
// the client whose message caused the crash. Actors are still monitored afterwards.
func TestSessionsOutliveTheirManager(t *testing.T) {
	for kind, lost := range map[string]int32{
		"session.started": 0,
		"*otp.Call[mcpd/actors/session.OpenRequest,*mcpd/actors/session.Handle]": 1,
	} {
		t.Run(kind, func(t *testing.T) { managerCrashes(t, kind, lost) })
	}
}

func managerCrashes(t *testing.T, kind string, lost int32) {
	t.Helper()
	perform(t, 100, func(a *actors) {
		h := a.ready()
		a.Break("manager", kind)
		var refused atomic.Int32
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := a.open(); err != nil {
					refused.Add(1)
				}
			})
		}
		all.Wait()
		a.Struck()
		if got := refused.Load(); got != lost || a.index.Len() != 11-int(lost) {
			t.Errorf("%d of 10 refused and %d sessions, want %d", got, a.index.Len(), lost)
		}
		if out, err := a.deliver(h, "crash"); err != nil || out.Word() != int64(-32603) {
			t.Errorf("crash: %v, %v", out.All(), err)
		}
		before := a.starts.Load()
		if out, err := a.deliver(h, "ping"); err != nil || out.Outcome().Error != nil ||
			a.starts.Load() != before {
			t.Errorf("after it: %v, %v, %d new actors; want the one that the manager had started already",
				out.All(), err, a.starts.Load()-before)
		}
	})
}

// S3-39, S4-131: many clients that open sessions at once do not exceed the bound together.
func TestBoundHoldsForManyAtOnce(t *testing.T) {
	perform(t, 3, func(a *actors) {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { _, _ = a.open() })
		}
		all.Wait()
		a.WaitIdle()
		if got := a.index.Tenant("acme"); got > 3 {
			t.Errorf("%d sessions, want at most 3", got)
		}
	})
}

// A pool that shuts down ends its sessions' actors, but not the sessions. Each gets another actor
// as soon as the pool is back, without a request of its client.
func TestSessionsComeBackWithTheirPool(t *testing.T) {
	perform(t, 10, func(a *actors) {
		h, closed := a.ready(), a.ready()
		if err := closed.Close(a.T.Context()); err != nil {
			a.T.Fatal(err)
		}
		top := a.Tree.Ref()
		if err := otp.TerminateChild(a.T.Context(), top, "pool"); err != nil {
			a.T.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		before := a.starts.Load()
		if _, err := otp.RestartChild(a.T.Context(), top, "pool"); err != nil {
			a.T.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		a.WaitIdle()
		if got := a.starts.Load() - before; got != 1 {
			t.Errorf("%d actors were started, want one: the other session is over", got)
		}
		if out, err := a.deliver(h, "ping"); err != nil || out.Outcome().Error != nil ||
			a.starts.Load() != before+1 {
			t.Errorf("next: %v, %v", out.All(), err)
		}
	})
}

// A manager that crashes on its carried state starts without it. A client that was opening a
// session is told so, and no session stays that no client knows of. Sessions that clients know of
// go on.
func TestManagerStartsWithoutWhatItCannotLiveWith(t *testing.T) {
	perform(t, 10, func(a *actors) {
		h := a.ready()
		a.slow = make(chan struct{})
		opened := make(chan error, 1)
		go func() { // it ends with its call
			_, err := a.open()
			opened <- err
		}()
		a.WaitIdle()
		a.DropsState("manager", "*struct {}", func() { a.Send("manager", &struct{}{}) })
		if err := <-opened; err == nil {
			t.Error("who was opening a session has one")
		}
		close(a.slow)
		a.WaitIdle()
		if got := a.index.Len(); got != 1 || a.index.Tenant("acme") != 1 {
			t.Errorf("%d sessions, want the one that somebody knows of", got)
		}
		if got := a.ended.Load(); got != 1 {
			t.Errorf("%d actors were told that their session has ended, want that of the other one", got)
		}
		if out, err := a.deliver(h, "crash"); err != nil || out.Word() != int64(-32603) {
			t.Errorf("crash: %v, %v", out.All(), err)
		}
		a.WaitIdle()
		if err := h.Send(struct{}{}); err != nil {
			t.Errorf("the manager does not follow its actor: %v", err)
		}
		if _, err := a.open(); err != nil {
			t.Error(err)
		}
	})
}
