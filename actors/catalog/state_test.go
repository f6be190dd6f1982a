package catalog

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/actors/catalog/internal/recovery"
	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/telemetry"
)

//go:generate go test -run ^TestStatesAreDocumented$ . -update

var update = flag.Bool("update", false, "rewrite the generated page")

const page = "../../docs/upstream-states.gen.md"

// The page is generated from the table, so that the two agree.
func TestStatesAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("# States of a server\n\n" +
		"Written from the table in actors/catalog/state.go by `go generate ./actors/catalog`. `mcpd " +
		"tree`, `/admin/v1/servers`, the event\n" +
		"`upstream_state_changed` and the metric `mcpd_upstream_state` show the state. The first row " +
		"that applies is the state.\n\n" +
		"| state | when |\n|---|---|\n")
	for _, row := range states {
		fmt.Fprintf(&b, "| `%s` | %s |\n", row.state, row.is)
	}
	fmt.Fprintf(&b, "\nA server that is not ready also has a cause with a class, the end of its "+
		"standard error, and the incident that the log and the\n"+
		"callers of failed requests show. The class is `%s` for a program that is missing, not "+
		"executable or not a program, and\n"+
		"for a program that exits before its handshake at every start and was given up %d times in a "+
		"row. The class is `%s` for all other causes.\n\n"+
		"The pause of a connection that was given up is %v at first and at most %v, with full jitter. "+
		"The pause of a quarantined connection is %v at first and %v\n"+
		"at most. The next call after the pause is the probe: a failure pauses the connection again, "+
		"and a success ends the quarantine. So does a reload\n"+
		"that changes the server, or `mcpd server release`. A quarantine survives a restart of the "+
		"host.\n",
		client.Permanent, MaxGivenUp, client.Transient, FirstPause, LastPause, FirstProbe, LastProbe)
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s is not current: run go generate ./actors/catalog", page)
	}
}

// Each row of the table is the state of a server for which its condition holds first, and every
// state has a row.
func TestStateIsThatOfTheTable(t *testing.T) {
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	key, other := tenant.Key{Share: tenant.ByPrincipal, Principal: "ci"}, tenant.Key{
		Share: tenant.ByPrincipal, Principal: "bob",
	}
	in := func(state client.State, lacks string) func(s *server) {
		return func(s *server) {
			c := &conn{}
			s.conns[key] = c
			s.in[""]++
			s.noteReport(c, &client.Report{Key: key, State: client.Starting}, now)
			s.noteReport(c, &client.Report{Key: key, State: state, Lacks: lacks}, now)
		}
	}
	given := func(times int) func(s *server) {
		return func(s *server) {
			for range times {
				in := recovery.Event{Op: recovery.GiveUp, Key: other, Ending: &client.Ending{Text: "down"}}
				s.recovery.Step(now, rand.N[time.Duration], in)
			}
		}
	}
	whole := func(operator bool) func(s *server) {
		return func(s *server) {
			ending := &client.Ending{Text: "whole"}
			if in := (recovery.Event{Op: recovery.Report, Key: key, State: client.Quarantined,
				Ending: ending}); !operator {
				s.recovery.Step(now, rand.N[time.Duration], in)
			} else {
				s.recovery.QuarantineByOperator(ending, now)
			}
		}
	}
	asked := func(s *server) { s.awaitingStart[key] = []pending{{}} }
	ran := func(s *server) { s.ran = true }
	seen := map[client.State]bool{}
	for name, tt := range map[string]struct {
		is    []func(s *server)
		state client.State
		cause string
	}{
		"new":       {nil, client.Idle, ""},
		"asked for": {[]func(*server){asked}, client.Starting, ""},
		"dialling": {[]func(*server){in(client.Starting, "")},
			client.Starting, ""},
		"ready": {[]func(*server){in(client.Ready, "")}, client.Ready, ""},
		"ready, another asked for": {[]func(*server){in(client.Ready, ""), asked},
			client.Ready, ""},
		"ready without a list": {[]func(*server){in(client.Ready, "tools/list: no")},
			client.Degraded, "tools/list: no"},
		"ready, another given up": {[]func(*server){in(client.Ready, ""), given(1)},
			client.Degraded, "down"},
		"ready, another quarantined": {[]func(*server){in(client.Ready, ""), given(MaxGivenUp)},
			client.Degraded, "down"},
		"ready, and no program any more": {[]func(*server){in(client.Ready, ""), whole(false)},
			client.Degraded, "whole"},
		"failed": {[]func(*server){in(client.Backoff, "")},
			client.Backoff, ""},
		"given up": {[]func(*server){ran, given(1)}, client.CrashLoop, "down"},
		"given up, another starting": {[]func(*server){given(1), in(client.Starting, "")},
			client.Starting, "down"},
		"given up too often": {[]func(*server){given(MaxGivenUp)},
			client.Quarantined, "down"},
		"no program": {[]func(*server){whole(false)}, client.Quarantined, "whole"},
		"no program, and it is tried again": {[]func(*server){whole(false), in(client.Starting, "")},
			client.Quarantined, "whole"},
		"put away": {[]func(*server){whole(true)}, client.Quarantined, "whole"},
		"put away, still ending": {[]func(*server){whole(true), in(client.Ready, "")},
			client.Quarantined, "whole"},
		"ran and is not used": {[]func(*server){ran}, client.Stopped, ""},
	} {
		s := newServer(tenant.Server{Name: "files", Command: tenant.NewSecret("x")}, now)
		for _, is := range tt.is {
			is(s)
		}
		s.state = s.computeState()
		seen[s.state] = true
		if got := s.record(now); got.State != tt.state || got.Ending.Cause != tt.cause {
			t.Errorf("%s: %s because %q, want %s because %q", name, got.State, got.Ending.Cause,
				tt.state, tt.cause)
		}
	}
	var shown []string
	for _, state := range client.States() {
		shown = append(shown, string(state))
		if !seen[state] {
			t.Errorf("no server is seen as %s", state)
		}
	}
	if !slices.Equal(shown, telemetry.States) {
		t.Errorf("telemetry shows %v, want %v", telemetry.States, shown)
	}
}
