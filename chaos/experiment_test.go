package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpd/chaos/record"
	"mcpd/internal/mcptest"
)

// trial is a host with three tenants on which the command runs experiments.
type trial struct {
	*arena
	dir string
}

func openTrial(t *testing.T, top string) *trial {
	t.Helper()
	return openTrialOf(t, "", top)
}

// openTrialOf is openTrial with another build of the host, unless binary is empty.
func openTrialOf(t *testing.T, binary, top string) *trial {
	t.Helper()
	a := &arena{t: t, home: t.TempDir()}
	a.admin.Transport = &http.Transport{DisableKeepAlives: true}
	a.Host = mcptest.Start(t, mcptest.HostOptions{
		Binary: binary, Config: trialConfig(t, top), Args: []string{"--chaos"},
		Env: []string{"XDG_RUNTIME_DIR=" + a.home},
	})
	a.readToken()
	return &trial{a, t.TempDir()}
}

// trialConfig returns the configuration of that host, with top at its beginning.
func trialConfig(t *testing.T, top string) string {
	t.Helper()
	state := t.TempDir()
	server := func(tenant string) string { // as in an arena
		return fmt.Sprintf(
			"demo: {command: %q, args: [chaos, server, --state, %q], env: {GORACE: atexit_sleep_ms=0}}",
			mcptest.Mcpd(t), filepath.Join(state, tenant),
		)
	}
	config := top + "\ntenants:\n" + tenant(acme, server(acme))
	for _, name := range []string{globex, "initech"} {
		config += fmt.Sprintf("  %s: {servers: {%s}}\n", name, server(name))
	}
	return config
}

// begins is the beginning of each experiment of these tests. The phases are just long enough.
const begins = `
name: trial
title: It is tried
hypothesis: It holds.
phases: {baseline: 1s, fault: 3s, heal: 1s}
`

// calls is the load, unless an experiment has its own.
const calls = "load: {rate: 50, sessions: 2, timeout: 5s}\n"

// command returns the command `mcpd chaos run` for an experiment that continues with rest. The run
// is short, so that nothing about time is judged.
func (a *trial) command(ctx context.Context, rest string, flags ...string) *exec.Cmd {
	a.t.Helper()
	file := filepath.Join(a.dir, "trial.yaml")
	text := begins + rest
	if !strings.Contains(rest, "load:") {
		text += calls
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
	args := append([]string{"chaos", "run", file, "--short", "--admin",
		strings.TrimPrefix(a.Admin, "http://"), "--target", acme, "--key", acme + "=env:ACME", "--report",
		a.dir}, flags...)
	cmd := exec.CommandContext(ctx, mcptest.Mcpd(a.t), args...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+a.home, "ACME="+key(acme))
	return cmd
}

// run runs the command to its end, and returns its record, exit code and output.
func (a *trial) run(rest string, flags ...string) (record.Record, int, string) {
	a.t.Helper()
	out, err := a.command(a.t.Context(), rest, flags...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		a.t.Fatal(err)
	}
	code := 0
	if exit != nil {
		code = exit.ExitCode()
	}
	return a.read(string(out)), code, string(out)
}

// read returns the record that the command has written, or an empty record if it has written none.
func (a *trial) read(out string) record.Record {
	a.t.Helper()
	data, err := os.ReadFile(filepath.Join(a.dir, "trial.json"))
	if errors.Is(err, os.ErrNotExist) {
		return record.Record{}
	}
	list, err := record.Read(bytes.NewReader(data))
	if err != nil || len(list) != 1 {
		a.t.Fatalf("record: %v\n%s", err, out)
	}
	return list[0]
}

// failed returns the findings of the failed verdicts, by id.
func failed(r record.Record) map[string]string {
	list := map[string]string{}
	for _, v := range r.Verdicts {
		if v.Result == record.Fail {
			list[v.ID] = v.Found
		}
	}
	return list
}

const panics = `
faults:
  - {do: actor.panic, at: {row: request_manager}, after: 500ms, every: 1s, times: 2}
expect:
  blast: ["mcpd/tenants/{target}/request_manager"]
  restarts: {"mcpd/tenants/{target}/request_manager": hits}
  target_errors: 2
`

// An experiment that holds passes, with every file in which it is shown, and leaves the host as it
// was.
func TestExperimentThatHoldsPasses(t *testing.T) {
	t.Parallel()
	a := openTrial(t, "")
	r, code, out := a.run(panics)
	if code != 0 || len(failed(r)) > 0 {
		t.Fatalf("exit code %d, failed %v\n%s", code, failed(r), out)
	}
	if len(r.Strikes) != 2 || r.Strikes[0].Hits != 1 || r.Strikes[1].Hits != 1 {
		t.Errorf("strikes %+v", r.Strikes)
	}
	roles := map[string]string{}
	for _, g := range r.Groups {
		roles[g.Tenant] = g.Role
	}
	if want := (map[string]string{acme: record.Target, globex: record.Bystander,
		"initech": record.Bystander}); !maps.Equal(roles, want) {
		t.Errorf("roles %v", roles)
	}
	for _, id := range []string{"I1", "I2", "I3", "I6", "I7", "I8", "I9", "I10", "I11", "I13", "E1",
		"E2", "E4"} {
		if !slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool {
			return v.ID == id && v.Result == record.Pass
		}) {
			t.Errorf("%s has not passed\n%s", id, out)
		}
	}
	for _, file := range []string{"report.html", "report.xml"} {
		if _, err := os.Stat(filepath.Join(a.dir, file)); err != nil {
			t.Error(err)
		}
	}
	a.struck()
}

// Rows of the core have nothing to do while clients only make calls. A fault at their messages
// still strikes, because the kind stimulates them. Each row has a host of its own, because two
// crashes on messages of one tenant pause the tenant.
func TestCoreIsStruckWhileItHasNothingToDo(t *testing.T) {
	t.Parallel()
	for _, row := range []string{"session_manager", "storage", "protocol_version"} {
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			a := openTrial(t, "limits: {session_init: 1s}")
			r, code, out := a.run(`
faults:
  - {do: actor.panic, at: {row: mcpd/core/` + row + `}, after: 200ms}
expect:
  blast: [mcpd/core/*]
  restarts: {mcpd/core/*: hits}
  target_errors: 0
`)
			for _, s := range r.Strikes {
				if s.Hits != 1 {
					t.Errorf("%s at %s has struck %d times", s.Kind, s.Target, s.Hits)
				}
			}
			if code != 0 || len(r.Strikes) != 1 {
				t.Errorf("exit code %d, strikes %+v\n%s", code, r.Strikes, out)
			}
		})
	}
}

// An invariant that does not hold is reported by name, and the exit code shows the failure.
func TestExperimentThatDoesNotHoldFailsByName(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, rest, fails, text string }{
		{"calls that get no outcome", `
faults:
  - {do: actor.hang, at: {row: request_manager}, after: 200ms, for: 2s}
load: {timeout: 300ms, rate: 50, sessions: 2}
`, "I1", "had no outcome"},
		{"a restart that nobody expects", `
faults:
  - {do: actor.panic, at: {row: request_manager}, after: 500ms}
expect:
  restarts: {"mcpd/tenants/{target}/request_manager": 0}
`, "I9", "mcpd/tenants/acme/request_manager restarted (1), and was not to"},
		{"a bystander that is hit", `
faults:
  - {do: actor.panic, at: {tenant: bystander, row: request_manager}, after: 500ms}
load: {rate: 50, sessions: 2, timeout: 5s, streams: 0} # news of progress may be lost, and no call fails of that
expect:
  blast: [mcpd/tenants/*/request_manager]
`, "I3", "calls, mostly:"},
		{"faults that never strike", `
faults:
  - {do: actor.panic, at: {row: request_manager}, after: 500ms, with: {message: "*no.Such"}}
`, "E1", "no fault has struck"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := openTrial(t, "")
			r, code, out := a.run(test.rest)
			if fails := failed(r); code != 1 || !strings.Contains(fails[test.fails], test.text) {
				t.Errorf("exit code %d, failed %v, want %s: %s\n%s", code, fails, test.fails, test.text, out)
			}
			a.struck()
		})
	}
}

// A run in parts ends each part with the number of experiments that are left, and does not repeat
// experiments that have a record.
func TestRunGoesOnInParts(t *testing.T) {
	t.Parallel()
	a := openTrial(t, "")
	first, code, out := a.run(panics, "nothing", "--within", "1s")
	if code != 1 || !strings.Contains(out, "1 of 2 experiments are left") || len(failed(first)) > 0 {
		t.Errorf("exit code %d, failed %v\n%s", code, failed(first), out)
	}
	if _, err := os.Stat(filepath.Join(a.dir, "nothing.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is left was run: %v", err)
	}
	again, code, out := a.run(panics, "--resume")
	if code != 0 || !again.Begun.Equal(first.Begun) {
		t.Errorf("exit code %d, begun %v, want %v\n%s", code, again.Begun, first.Begun, out)
	}
}

// A guard that trips ends the run with everything healed, and the record gives the reason.
func TestGuardEndsTheRun(t *testing.T) {
	t.Parallel()
	a := openTrial(t, "")
	r, code, out := a.run(`
faults:
  - {do: actor.panic, at: {tenant: bystander, row: request_manager}, after: 200ms, every: 500ms}
load: {rate: 50, sessions: 2, timeout: 5s, streams: 0}
abort_if: {bystander_errors: 2}
`)
	if code != 1 || !strings.HasSuffix(r.Aborted, " calls of bystanders have failed") ||
		len(r.Phases) != 2 {
		t.Errorf("exit code %d, aborted %q, phases %v\n%s", code, r.Aborted, r.Phases, out)
	}
	if _, ok := failed(r)["E1"]; !ok {
		t.Errorf("failed %v, want E1", failed(r))
	}
	a.struck()
}

// A run that is interrupted or killed leaves nothing broken behind: it heals what it has armed, or
// the leases end.
func TestInterruptedRunHeals(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			a := openTrial(t, "")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := a.command(ctx, `
faults:
  - {do: actor.slow, at: {row: request_manager}, with: {delay: 1ms}}
`)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			a.eventually("armed", func() bool {
				return strings.Contains(a.ask("GET", "/admin/v1/faults", ""), `"id"`)
			})
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			if r := a.read(out.String()); signal == syscall.SIGINT &&
				(r.Aborted != "interrupted" || cmd.ProcessState.ExitCode() != 130) {
				t.Errorf("%v, aborted %q\n%s", err, r.Aborted, out.String())
			}
			a.struck()
		})
	}
}

// A host in production is left alone, unless a flag allows it.
func TestProductionIsLeftAlone(t *testing.T) {
	t.Parallel()
	a := openTrial(t, "environment: production")
	if _, code, out := a.run(panics); code != 77 || !strings.Contains(out, "--i-know") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if got := a.rows().restarted(rows{}); len(got) > 0 {
		t.Errorf("restarted: %v", got)
	}
	if r, code, out := a.run(panics, "--i-know"); code != 0 || len(r.Strikes) != 2 {
		t.Errorf("exit code %d, failed %v\n%s", code, failed(r), out)
	}
}

// A key for an unknown tenant is a mistake in the name. The run refuses it before anything is
// broken.
func TestKeyForNobodyIsRefused(t *testing.T) {
	t.Parallel()
	a := openTrial(t, "")
	if r, code, out := a.run(panics, "--key", "amce=env:HOME"); code != 1 ||
		!strings.Contains(out, `there is no tenant "amce": did you mean "acme"?`) || len(r.Strikes) > 0 {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
