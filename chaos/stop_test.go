package chaos

import (
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A host that is told to stop lets requests end, for so long. Who still waits then is answered, in time to read it, and told whether the
// request may have been executed; one who waits for its user is too. The host ends in order, with all of its children.
func TestHostThatStopsAnswersWhatIsInFlight(t *testing.T) {
	t.Parallel()
	const drain = 3 * time.Second
	a := openWith(t, "limits: {drain: 3s, session_init: 3s}", "")
	a.retries = -1 // there will be no host to come back to
	session, _ := a.client(acme, nil)
	slow := make(chan error, 1)
	go func() { // ends with its call
		_, err := a.call(session, "files__sleep", map[string]any{"millis": 60_000})
		slow <- err
	}()
	parked := a.work()
	a.eventually("asleep", func() bool { return a.metric("mcpd_requests_in_flight", `tenant="acme"`) == 2 })
	below := children(a.PID())

	start := time.Now()
	code := a.Stop()
	if took := time.Since(start); code != 0 || took < drain/2 || took > drain+time.Second {
		t.Errorf("exit code %d after %v, want 0 within a second of %v", code, took, drain)
	}
	stopped(t, <-slow)
	stopped(t, <-parked.outcome)
	gone(a, below)
}

// stopped checks the error of a call that the host's end has ended.
func stopped(t *testing.T, err error) {
	t.Helper()
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		t.Errorf("call in flight: got %v, want an answer", err)
		return
	}
	var data struct {
		Reason, Server string
		MaybeExecuted  bool
	}
	if err := json.Unmarshal(e.Data, &data); err != nil || e.Code != -32008 || !strings.Contains(e.Message, "host is stopping") ||
		data.Reason != "stopping" || data.Server != "files" || !data.MaybeExecuted {
		t.Errorf("call in flight: got %d %s %s, want -32008 that says the host is stopping and the call may have been executed", e.Code, e.Message, e.Data)
	}
}

// gone checks that processes end.
func gone(a *arena, pids []int) {
	a.t.Helper()
	for _, pid := range pids {
		a.eventually("gone", func() bool { s := stat(pid); return s == nil || s[0] == "Z" })
	}
}

// Whoever has no patience says so again: the host ends at once, and no child outlives it.
func TestSecondSignalEndsTheHostAtOnce(t *testing.T) {
	t.Parallel()
	for _, second := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(second.String(), func(t *testing.T) {
			t.Parallel()
			a := open(t, "")
			a.retries = -1
			session, _ := a.client(acme, nil)
			slow := make(chan error, 1)
			go func() { // ends with its call
				_, err := a.call(session, "files__sleep", map[string]any{"millis": 60_000})
				slow <- err
			}()
			a.eventually("asleep", func() bool { return a.metric("mcpd_requests_in_flight", `tenant="acme"`) == 1 })
			below := children(a.PID())

			if err := syscall.Kill(a.PID(), syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			a.eventually("draining", func() bool { return strings.Contains(a.Log(), `"event":"draining"`) })
			start := time.Now()
			if code := a.Signal(second); code != 130 || time.Since(start) > time.Second {
				t.Errorf("exit code %d after %v, want 130 at once", code, time.Since(start))
			}
			if err := <-slow; err == nil {
				t.Error("the call succeeded")
			}
			gone(a, below)
		})
	}
}
