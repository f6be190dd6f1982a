package session_test

import (
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/session"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

// terminate ends a row for good.
func (a *actors) terminate(row string) {
	a.T.Helper()
	top, _ := a.System.Whereis("top")
	if err := otp.TerminateChild(a.T.Context(), top, row); err != nil {
		a.T.Fatal(err)
	}
	a.WaitIdle()
}

// If no actor can be started, every request is answered, including those that waited behind a
// crash. The session is available when actors can be started again.
func TestSessionWithoutAPoolAnswers(t *testing.T) {
	perform(t, 10, func(a *actors) {
		h := a.ready()
		_, _ = a.deliver(h, "hold")
		behind, _ := a.deliver(h, "ping")
		done := make(chan struct{})
		go func() { defer close(done); time.Sleep(time.Second); close(a.hold) }()
		a.terminate("pool")
		<-done
		time.Sleep(time.Minute)
		if m := behind.Outcome(); len(behind.All()) != 1 || m.Error == nil {
			t.Errorf("behind a crash: %v", behind.All())
		}
		if out, err := a.deliver(h, "ping"); err == nil {
			t.Errorf("got %v", out.All())
		}
		top, _ := a.System.Whereis("top")
		if _, err := otp.RestartChild(a.T.Context(), top, "pool"); err != nil {
			t.Fatal(err)
		}
		if out, err := a.deliver(h, "ping"); err != nil || out.Word() != "result" {
			t.Errorf("with a pool: %v, %v", out.All(), err)
		}
	})
}

// A request that waits for an actor is answered when its session ends meanwhile.
func TestSessionEndsWhileItIsAttached(t *testing.T) {
	perform(t, 10, func(a *actors) {
		h := a.ready()
		_, _ = a.deliver(h, "hold")
		behind, _ := a.deliver(h, "ping")
		a.slow = make(chan struct{})
		close(a.hold)
		a.WaitIdle()
		if err := h.Close(a.T.Context()); err != nil {
			t.Fatal(err)
		}
		close(a.slow)
		if len(behind.All()) != 1 { // the next actor may have it already
			t.Errorf("got %v", behind.All())
		}
		if _, err := otp.Do[session.AttachRequest, otp.Ref](a.T.Context(), a.Ref("manager"),
			session.AttachRequest{Handle: h}); err == nil {
			t.Error("a session that has ended is attached")
		}
	})
	perform(t, 10, func(a *actors) {
		h := a.ready()
		_, _ = a.deliver(h, "hold")
		behind, _ := a.deliver(h, "ping")
		if err := h.Close(a.T.Context()); err != nil {
			t.Fatal(err)
		}
		close(a.hold)
		if behind.Word() != int64(-32602) {
			t.Errorf("got %v", behind.All())
		}
	})
}

// A session that is evicted before it has started belongs to no client.
func TestSessionIsEvictedWhileItStarts(t *testing.T) {
	perform(t, 1, func(a *actors) {
		a.slow = make(chan struct{})
		errs := make(chan error, 2)
		for range 2 {
			go func() { _, err := a.open(); errs <- err }()
			a.WaitIdle()
		}
		close(a.slow)
		first, second := <-errs, <-errs
		if (first == nil) == (second == nil) || a.index.Len() != 1 {
			t.Errorf("got %v and %v, %d are there", first, second, a.index.Len())
		}
	})
}

// On a transport with one channel for everything, messages are sent there, and only the end of the
// transport ends the session.
func TestPushedSession(t *testing.T) {
	perform(t, 10, func(a *actors) {
		var pushed []jsonrpc.Message
		h, err := otp.Do[session.OpenRequest, *session.Handle](a.T.Context(), a.Ref("manager"),
			session.OpenRequest{
				Endpoint: here, Push: func(m jsonrpc.Message) error { pushed = append(pushed, m); return nil },
			})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Push(jsonrpc.Notification("notifications/message", nil)); err != nil ||
			len(pushed) != 1 || h.Transport() != "stdio" {
			t.Errorf("pushed %v: %v", pushed, err)
		}
		time.Sleep(10 * time.Hour)
		if n, err := testrig.Ask[session.SweepRequest, int](a.Rig, "manager",
			session.SweepRequest{}); err != nil || n != 0 || h.Closed() {
			t.Errorf("swept %d, %v", n, err)
		}
		if h.Opened() != h.LastActive() || h.Streams() == nil || h.IsPeer() {
			t.Error("it is something else")
		}
	})
	perform(t, 10, func(a *actors) {
		h := a.ready()
		if err := h.Push(jsonrpc.Notification("notifications/message", nil)); err != nil {
			t.Error(err)
		}
	})
}
