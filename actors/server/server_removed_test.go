package server_test

import (
	"strings"
	"testing"
	"time"

	"mcpd/actors/catalog"
	"mcpd/actors/internal/testrig"
	"mcpd/gateway/tenant"
	"mcpd/protocol/jsonedit"
	"mcpd/telemetry"
)

// listeners are clients that are subscribed to "files" in every possible way.
type listeners struct {
	legacy             *user
	only, whole, alone *testrig.Sink // to its resource, to that and all lists, and at its endpoint
	inFlight           *testrig.Sink
}

func (r *rig) listeners() (l listeners) {
	r.T.Helper()
	l.legacy = r.ready(`{}`)
	if out := l.legacy.ask("resources/subscribe", `{"uri":"test://x"}`); out.Word() != "result" {
		r.T.Fatal(out.All())
	}
	modern, at := r.caller(`{}`), r.caller(`{}`)
	at.server = "files"
	l.only = modern.ask("subscriptions/listen",
		`{"notifications":{"resourceSubscriptions":["test://x"]}}`)
	l.whole = modern.ask("subscriptions/listen", everything)
	l.alone = at.ask("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
	l.inFlight = l.legacy.call()
	return l
}

// gone checks that each client was told of the end of the server once, with its reason.
func (l listeners) gone(t *testing.T, reason string) {
	t.Helper()
	told := l.legacy.heard(updated)
	if len(told) != 1 || string(told[0].Params) != `{"uri":"test://x"}` {
		t.Errorf("a legacy client heard %v", told)
	}
	for name, out := range map[string]*testrig.Sink{"its resource": l.only, "its endpoint": l.alone} {
		why, _ := jsonedit.GetString(out.Outcome().Result, "_meta", "mcpd/reason")
		if len(out.All()) != 1 || !strings.Contains(why, reason) {
			t.Errorf("a subscription to %s ended with %v, want %q", name, out.All(), reason)
		}
	}
	updates := 0
	for _, m := range l.whole.Sent() {
		if m.Method == updated {
			updates++
		}
	}
	if len(l.whole.All()) != 0 || updates != 1 {
		t.Errorf("a subscription to more: ended %v, told %d updates", l.whole.All(), updates)
	}
}

// says checks the error of a call.
func says(t *testing.T, out *testrig.Sink, parts ...string) {
	t.Helper()
	m := out.Outcome()
	if m.Error == nil {
		t.Errorf("the call: %v", out.All())
		return
	}
	for _, part := range parts {
		if !strings.Contains(m.Error.Message+string(m.Error.Data), part) {
			t.Errorf("the call: %s %s, want %s", m.Error.Message, m.Error.Data, part)
		}
	}
}

// When an operator quarantines a server, the subscriptions to it end. Calls name the quarantine,
// and say correctly whether they may have been executed.
func TestQuarantineEndsSubscriptions(t *testing.T) {
	run(t, silent, func(r *rig) {
		l := r.listeners()
		put := catalog.OperateRequest{Server: "files", Verb: catalog.Quarantine}
		if _, err := testrig.Ask[catalog.OperateRequest, catalog.Record](r.Rig, "catalog",
			put); err != nil {
			t.Fatal(err)
		}
		r.WaitIdle()
		l.gone(t, `server "files" is quarantined: an operator has quarantined it`)
		says(t, l.inFlight, "is quarantined; it may have executed", `"reason":"upstream_quarantined"`,
			`"maybeExecuted":true`, `"retryable":false`)
		says(t, l.legacy.call(), "is quarantined: an operator", `"reason":"upstream_quarantined"`,
			`"maybeExecuted":false`, `"retryable":false`)
	})
}

// A server that is given up ten times in a row is quarantined too. The clients are told once: not
// of the nine times before, nor of the probes after.
func TestQuarantineOfALoopEndsSubscriptions(t *testing.T) {
	run(t, silent, func(r *rig) {
		l := r.listeners()
		mute(r, "files")
		quarantined := func() int { // number of quarantined connections, one for each era
			connections := map[string]bool{}
			for _, e := range testrig.Of[telemetry.UpstreamQuarantined](&r.Events) {
				connections[e.Connection] = true
			}
			return len(connections)
		}
		for range 1000 {
			if quarantined() == 2 {
				break
			}
			if quarantined() == 0 && len(l.legacy.heard(updated)) != 0 {
				t.Fatal("told before it was quarantined")
			}
			for len(r.peers["files"]) > 0 {
				(<-r.peers["files"]).Close()
			}
			time.Sleep(500 * time.Millisecond)
			r.WaitIdle()
		}
		if quarantined() != 2 {
			t.Fatalf("%d connections are quarantined", quarantined())
		}
		l.gone(t, `server "files" is quarantined: `)
		retry, _ := jsonedit.Get(l.only.Outcome().Result, "_meta", "mcpd/retryAfterMs")
		incident, _ := jsonedit.GetString(l.only.Outcome().Result, "_meta", "mcpd/incident")
		if incident == "" || len(retry) == 0 {
			t.Errorf("a subscription ended with %s", l.only.Outcome().Result)
		}
		says(t, l.legacy.call(), "is quarantined: ", `"reason":"upstream_quarantined"`, `"incident":"`)
	})
}

// When a reload removes a server, the subscriptions to it end. A call in flight is answered; later
// calls name the removal.
func TestRemovalEndsSubscriptions(t *testing.T) {
	run(t, silent, func(r *rig) {
		l := r.listeners()
		p := r.peer("files")
		r.reload(func(servers []tenant.Server) []tenant.Server { return servers[1:] })
		l.gone(t, `server "files" was removed from the configuration`)
		says(t, l.legacy.call(), "was removed", `"reason":"upstream_removed"`, `"maybeExecuted":false`,
			`"retryable":false`)
		says(t, r.caller(`{}`).call(), "was removed")
		p.finish()
		r.WaitIdle()
		if l.inFlight.Word() != "result" {
			t.Errorf("the call in flight: %v", l.inFlight.All())
		}
		if out := l.legacy.ask("tools/call",
			`{"name":"other__read"}`); strings.Contains(out.Outcome().Error.Message, "removed") {
			t.Errorf("a server that never was: %v", out.All())
		}
	})
}

// A removed server that ends during a call is not started again, and the call names the removal.
func TestRemovedServerIsNotStartedAgain(t *testing.T) {
	run(t, silent, func(r *rig) {
		u := r.ready(`{}`)
		out := u.call()
		p := r.latest("files")
		r.reload(func(servers []tenant.Server) []tenant.Server { return servers[1:] })
		p.Close()
		r.WaitIdle()
		time.Sleep(time.Minute)
		r.WaitIdle()
		says(t, out, "was removed from the configuration; it may have executed",
			`"reason":"upstream_removed"`, `"maybeExecuted":true`, `"retryable":false`)
		if n := len(r.peers["files"]); n != 0 {
			t.Errorf("it was started %d times more", n)
		}
	})
}
