package chaos

import "testing"

// F11, I3, I9: a tenant whose component crashes more often than its budget allows (5 in 30 s) is restarted as a whole, once, and nothing
// above it is. Its sessions come back with their next request. The other tenant and its sessions see nothing of it.
func TestTenantWhoseBudgetRunsOutIsRestartedAlone(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	session, _ := a.client(acme, nil)
	other, _ := a.client(globex, nil)
	a.must(session, "files__echo", map[string]any{"message": "x"})
	a.must(other, "files__echo", map[string]any{"message": "x"})
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
	a.eventually("back", func() bool {
		rows := a.rows()
		return rows["mcpd/tenants/acme"].GetRestarts() == 1 && rows["mcpd/tenants/acme/server_sup"].GetStatus() == "running"
	})
	if got := a.must(session, "files__echo", map[string]any{"message": "back"}); got != "back" {
		t.Errorf("acme, in the session it had: got %q", got)
	}
	bystander.flows(globex, 50)
	a.clean(globex, bystander.end())
	a.must(other, "files__echo", map[string]any{"message": "x"})

	after := a.rows()
	for path, times := range after.restarted(before) {
		switch want, ok := map[string]uint32{"mcpd/tenants/acme": 1, "mcpd/tenants/acme/request_manager": budget}[path]; {
		case !ok:
			t.Errorf("restarted: %s, %d times", path, times)
		case times != want:
			t.Errorf("restarted: %s, %d times, want %d", path, times, want)
		}
	}
	if n := after.connection(globex, "files"); n.GetPid() != pid || n.GetIncarnation() != 1 {
		t.Errorf("globex: %v, want pid %d", n, pid)
	}
	a.story("mcpd/tenants/acme", "intensity_exceeded", "child_restarted")
	a.eventually("down to one child process for each tenant", func() bool { return len(children(a.PID())) == 2 })
}
