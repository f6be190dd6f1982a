package chaos

import (
	"os/exec"
	"strings"
	"testing"

	"mcpd/chaos/experiment"
	"mcpd/internal/mcptest"
)

// brokenHosts are builds of the host with a deliberate bug. Each has the experiment that finds the
// bug, the invariant that fails, and a text of the finding.
var brokenHosts = []struct{ tag, experiment, fails, text string }{
	{"broken_leak", "kill-idle-child", "I6", "descriptors:"},
	{"broken_heap", "panic-dispatcher", "I6", "live heap bytes: "},
	{"broken_restart", "panic-dispatcher", "I9", "notification_dispatcher: 0 restarts, want 1"},
	{"broken_once", "panic-dispatcher", "I13", " of them twice: "},
	{"broken_replay", "panic-dispatcher", "I10", "messages were out of their order, first at"},
	{"broken_route", "noisy-tenant", "I2", "replies were another call's"},
	{"broken_session", "churn", "I6", "rows of session: "},
	{"broken_budget", "cancellation-races", "I6", "kept bytes of requests: "},
	{"broken_monitor", "panic-request-manager", "I6", "watchers of connection: "},
}

// brokenCode are builds with a deliberate bug that a test finds within a second, so that no
// experiment has to. Each has the package, the test, and a text of its message.
var brokenCode = []struct{ tag, pkg, test, text string }{
	{"broken_reply", "mcpd/actors/client", "TestEveryReplyOfThousandsArrives",
		"of 3000 calls do not have exactly one outcome"},
	{"broken_catalogue", "mcpd/chaos/sim", "TestNothingIsFound",
		"I9 supervision: mcpd/tenants/acme/catalog does not run at the end"},
}

// There are eleven broken builds, each with its own bug.
func TestBrokenBuildsAreEleven(t *testing.T) {
	tags := map[string]bool{}
	for _, b := range brokenHosts {
		tags[b.tag] = true
	}
	for _, b := range brokenCode {
		tags[b.tag] = true
	}
	if len(tags) != 11 || len(brokenHosts)+len(brokenCode) != 11 {
		t.Errorf("%d builds with %d tags, want 11", len(brokenHosts)+len(brokenCode), len(tags))
	}
}

// A broken host fails the experiment for its bug, with the name of the invariant and of the
// problem. The same experiments pass on a correct host: see TestLibrary.
func TestBrokenBuildIsFoundOut(t *testing.T) {
	t.Parallel()
	for _, test := range brokenHosts {
		t.Run(test.tag, func(t *testing.T) {
			t.Parallel()
			a := openTrialOf(t, mcptest.BrokenHost(t, test.tag), "limits: {session_init: 1s}")
			r, code, out := a.run(body(t, test.experiment))
			if fails := failed(r); code != 1 || !strings.Contains(fails[test.fails], test.text) {
				t.Errorf("exit code %d, failed %v, want %s: %s\n%s", code, fails, test.fails, test.text, out)
			}
		})
	}
}

// Broken code fails the test for its bug. The test passes otherwise, as one of its package's own
// tests.
func TestBrokenCodeIsFoundOutByATest(t *testing.T) {
	t.Parallel()
	for _, test := range brokenCode {
		t.Run(test.tag, func(t *testing.T) {
			t.Parallel()
			args := []string{"test", "-count=1", "-tags", test.tag, "-run", "^" + test.test + "$", test.pkg}
			if test.pkg == "mcpd/chaos/sim" {
				args = append(args, "-seeds", "20")
			}
			out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
			if text := string(out); err == nil || !strings.Contains(text, "--- FAIL: "+test.test) ||
				!strings.Contains(text, test.text) {
				t.Errorf("go %s: %v, want a failure of %s that says %q\n%s", strings.Join(args, " "), err,
					test.test, test.text, out)
			}
		})
	}
}

// body returns the faults and expectations of an experiment of the library, without its name and
// load. These runs are shorter, and have so few calls that broken hosts pass the beginning.
func body(t *testing.T, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(string(experiment.Source(name)), "\nfaults:")
	if !ok {
		t.Fatalf("%s has no faults", name)
	}
	return "load: {rate: 20, sessions: 2, timeout: 5s}\nfaults:" + rest
}
