package chaos

import (
	"net/http"
	"strings"
	"testing"
)

// F11, I3, I9: a tenant whose component crashes more often than its budget allows (5 in 30 s) ends
// alone, and no supervisor above it counts that as a crash. Its clients get an error with the time
// to retry and the incident id of the log. The tenant is back after its pause, with its sessions.
// Clients with a wrong key get the same answer as always. The other tenant and its sessions are not
// affected.
func TestTenantWhoseBudgetRunsOutIsPausedAlone(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	session, _ := a.client(acme, nil)
	other, _ := a.client(globex, nil)
	a.must(session, "files__echo", map[string]any{"message": "x"})
	a.must(other, "files__echo", map[string]any{"message": "x"})
	stranger := a.stranger(acme)
	bystander := a.load(globex, "files__echo")
	bystander.flows(globex, 20)
	before := a.rows()
	pid := before.connection(globex, "files").GetPid()

	const budget = 5
	a.panics("mcpd/tenants/acme/request_manager", "*request.Submit", budget+1)
	for range budget + 1 {
		if _, err := a.call(session, "files__echo", map[string]any{"message": "x"}); err == nil {
			t.Error("a call that crashed the request manager succeeded")
		}
	}
	a.struck()
	a.eventually("paused", func() bool { return len(a.ofKind("tenant_paused")) == 1 })
	if got := a.stranger(acme); got != stranger {
		t.Errorf("a stranger is told %q, was told %q", got, stranger)
	}
	a.eventually("back", func() bool {
		n := a.rows()["mcpd/tenants/acme"]
		return n.GetIncarnation() == 2 && n.GetStatus() == "running" &&
			a.rows()["mcpd/tenants/acme/server_sup"].GetStatus() == "running"
	})
	a.eventually("serving acme", func() bool {
		_, err := a.call(session, "files__echo", map[string]any{"message": "x"})
		return err == nil
	})
	if got := a.must(session, "files__echo", map[string]any{"message": "back"}); got != "back" {
		t.Errorf("acme, in the session it had: got %q", got)
	}
	bystander.flows(globex, 50)
	a.clean(globex, bystander.end())
	a.must(other, "files__echo", map[string]any{"message": "x"})

	after := a.rows()
	for path, times := range after.restarted(before) {
		switch want, ok := map[string]uint32{"mcpd/tenants/acme/request_manager": budget}[path]; {
		case !ok:
			t.Errorf("restarted: %s, %d times", path, times)
		case times != want:
			t.Errorf("restarted: %s, %d times, want %d", path, times, want)
		}
	}
	if n := after.connection(globex, "files"); n.GetPid() != pid || n.GetIncarnation() != 1 {
		t.Errorf("globex: %v, want pid %d", n, pid)
	}
	if pause := a.event("mcpd/tenants/acme", "tenant_paused"); pause["incident"] == nil ||
		pause["cause"] == nil {
		t.Errorf("told: %v, want the incident and the cause", pause)
	}
	a.story("mcpd/tenants/acme", "intensity_exceeded", "supervisor_stopped", "tenant_paused",
		"tenant_resumed", "child_started")
	if n := a.metric("mcpd_tenant_pauses_total", `tenant="acme"`); n != 1 {
		t.Errorf("%v pauses were counted", n)
	}
	if n := a.metric("mcpd_supervisor_escalations_total"); n != 1 {
		t.Errorf("%v supervisors gave up, want the tenant's alone", n)
	}
	a.eventually("down to one child process for each tenant", func() bool {
		return len(children(a.PID())) == 2
	})
}

// An operator quarantines a tenant. Its clients get an error with an incident and a time to retry.
// Clients with a wrong key get the same answer as for any tenant. Readiness is degraded, with
// status 200. A release brings the tenant back at once.
func TestTenantIsQuarantinedAndReleased(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	session, _ := a.client(acme, nil)
	a.must(session, "files__echo", map[string]any{"message": "x"})
	stranger, nobody := a.stranger(acme), a.stranger("nobody")
	if stranger != nobody {
		t.Errorf("a stranger is told %q of a tenant and %q of none", stranger, nobody)
	}
	if got := a.operates(acme, "quarantine"); got != "quarantined" {
		t.Errorf("quarantine: %s", got)
	}
	status, header, body := a.greets(acme, key(acme))
	if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" ||
		!strings.Contains(body, `"incident":"`) || !strings.Contains(body, "quarantined") {
		t.Errorf("its client is told %d, Retry-After %q, %s", status, header.Get("Retry-After"), body)
	}
	if got := a.stranger(acme); got != stranger {
		t.Errorf("a stranger is told %q, was told %q", got, stranger)
	}
	if got := a.ask(http.MethodGet, "/readyz", ""); !strings.Contains(got, `"degraded"`) ||
		!strings.Contains(got, "acme is quarantined") {
		t.Errorf("readiness: %s", got)
	}
	if n := a.rows()["mcpd/tenants/acme"]; n.GetState() != "quarantined" ||
		n.GetStatus() != "stopped" || n.GetIncident() == "" {
		t.Errorf("tree: %v", n)
	}
	if n := a.metric("mcpd_tenant_state", `tenant="acme"`, `state="quarantined"`); n != 1 {
		t.Errorf("metric: %v", n)
	}
	if got := a.operates(acme, "release"); got != "running" {
		t.Errorf("release: %s", got)
	}
	if got := a.must(session, "files__echo", map[string]any{"message": "back"}); got != "back" {
		t.Errorf("in the session it had: %q", got)
	}
	if got := a.ask(http.MethodGet, "/readyz", ""); !strings.Contains(got, `"ready"`) {
		t.Errorf("readiness: %s", got)
	}
}
