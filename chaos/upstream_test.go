package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// S4-104, F01: the connection to a server. Its actor is restarted in place and starts its program
// again. The calls that the program had received are lost, with an error that says that they may
// have been executed. Waiting calls go to the next program, which also serves the clients'
// subscriptions. A connection that crashes again before its next program is ready has no call in
// flight, and loses nothing more.
func TestChaosUpstreamConnectionCrash(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		times  int // crashes in a row
		rounds int // repetitions, each after calls are answered again
	}{
		"once":                         {1, 1},
		"before it is ready again":     {inARow, 1},
		"as soon as it is ready again": {1, inARow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connectionCrashes(open(t, ""), tt.times, tt.rounds)
		})
	}
}

func connectionCrashes(a *arena, times, rounds int) {
	a.t.Helper()
	a.warm()
	atRest := a.rest()
	watch := a.watch()
	listed := a.tools(watch.session)
	hit, bystander := a.load(acme, "files__echo"), a.load(globex, "files__echo")
	hit.flows(acme, 20)
	bystander.flows(globex, 20)
	before := a.rows()
	row := before.connection(acme, "files")

	for range rounds {
		a.panics(row.GetPath(), "client.inbound", times)
		a.struck()
		hit.flows(acme, 50)
	}
	bystander.flows(globex, 20)

	c := hit.end().Counts
	if most := uint64(rounds * loadWorkers); c.Failed == 0 || c.Failed > most || c.Lost != 0 ||
		c.Crosstalk != 0 || c.Duplicate != 0 {
		a.t.Errorf("acme: %+v, want the calls that the program had in hand failed, at most %d", c, most)
	}
	a.clean(globex, bystander.end())
	watch.hears()
	if now := a.tools(watch.session); !slices.Equal(now, listed) {
		a.t.Errorf("listed: %v, want %v as before", now, listed)
	}
	after, crashes := a.rows(), times*rounds
	if got := after.restarted(before); len(got) != 1 || got[row.GetPath()] != uint32(crashes) {
		a.t.Errorf("restarted: %v, want %s %d times and nothing else", got, row.GetPath(), crashes)
	}
	if n := after.connection(acme, "files"); n.GetIncarnation() != uint32(1+crashes) ||
		n.GetPid() == row.GetPid() || n.GetState() != "ready" {
		a.t.Errorf("row: %v", n)
	}
	watch.end()
	a.settles(atRest)
}

// A request that crashes the connection fails at once, although it was never sent.
func TestCallThatCrashesItsConnectionFailsAtOnce(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	session, _ := a.client(acme, nil)
	a.must(session, "files__echo", map[string]any{"message": "x"})
	a.panics(a.rows().connection(acme, "files").GetPath(), "*request.Forward", 1)
	start := time.Now()
	_, err := a.call(session, "files__echo", map[string]any{"message": "x"})
	if took := time.Since(start); err == nil || took > patience/2 {
		t.Errorf("got %v after %v, want an error at once", err, took)
	}
	a.must(session, "files__echo", map[string]any{"message": "x"})
}

// The built-in server is an actor in the same process. Its connection starts it again as it would
// start a program.
func TestChaosBuiltinServerCrash(t *testing.T) {
	t.Parallel()
	a := open(t, "near: {builtin: demo}")
	session, _ := a.client(acme, nil)
	a.must(session, "near__echo", map[string]any{"message": "x"})
	hit, bystander := a.load(acme, "near__echo"), a.load(acme, "files__echo")
	hit.flows(acme, 40)
	before := a.rows()
	a.panics("mcpd/tenants/acme/client_sup/near/instance-*", "", 1)
	a.struck()
	hit.flows(acme, 100)
	if c := hit.end().Counts; c.Failed > loadWorkers+1 || c.Lost != 0 || c.Crosstalk != 0 ||
		c.Duplicate != 0 {
		t.Errorf("near: %+v, want the calls that it had in hand failed, at most %d", c, loadWorkers+1)
	}
	a.clean("files of the same tenant", bystander.end())
	if got := a.must(session, "near__echo",
		map[string]any{"message": "still here"}); got != "still here" {
		t.Errorf("got %q", got)
	}
	restarted := a.rows().restarted(before)
	for path, times := range restarted {
		if !strings.HasPrefix(path, "mcpd/tenants/acme/client_sup/near/") || times != 1 {
			t.Errorf("restarted: %s, %d times", path, times)
		}
	}
	if len(restarted) != 1 {
		t.Errorf("restarted: %v, want the one connection whose server crashed", restarted)
	}
}
