package chaos

import (
	"testing"

	"mcpd/internal/load"
)

// S4-103, C13, F01: sessions. A session whose actor crashes is attached again under the same
// Mcp-Session-Id, so that its client, which does not notice, continues. Only the request whose
// message crashed the actor fails, at once. Requests that were queued behind it, and requests in
// flight, are answered.
func TestChaosSessionCrash(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	a.warm()
	atRest := a.rest()
	session, end := a.client(acme, nil)
	hit, bystander := a.load(acme, "files__echo"), a.load(globex, "files__echo")
	hit.flows(acme, 20)
	bystander.flows(globex, 20)
	pending := a.work()
	before := a.rows()

	const crashes = 3
	for range crashes {
		a.panics("mcpd/tenants/acme/server_sup/*", "*session.Deliver", 1)
		a.struck()
		hit.flows(acme, 50)
	}
	bystander.flows(globex, 20)

	r := hit.end()
	pending.finishes()
	a.failed(acme, r, crashes)
	a.clean(globex, bystander.end())
	for path, times := range a.rows().restarted(before) {
		t.Errorf("restarted: %s, %d times", path, times)
	}
	if got := a.metric("mcpd_sessions"); got != 1 {
		t.Errorf("%v sessions, want the one that is open", got)
	}
	a.must(session, "files__echo", map[string]any{"message": "still here"})
	end()
	a.settles(atRest)
}

// F46, I1, I2: ten thousand calls of two tenants, all with id 1, on a few sessions. No call gets
// the reply of another.
func TestEqualIdsNeverMeet(t *testing.T) {
	t.Parallel()
	const calls = 5000
	a := open(t, "near: {builtin: demo}")
	var all [2]load.Result
	first, second := a.burst(acme, "near__echo", calls), a.burst(globex, "files__echo", calls)
	all[0], all[1] = first.await(), second.await()
	for i, r := range all {
		a.clean([]string{acme, globex}[i], r)
		if r.Counts.OK != calls {
			t.Errorf("%d calls, want %d", r.Counts.OK, calls)
		}
	}
}
