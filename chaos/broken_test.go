package chaos

import (
	"strings"
	"testing"

	"mcpd/chaos/experiment"
	"mcpd/internal/mcptest"
)

// A host that was broken when it was built is found out by the experiment that is meant for it, and by name. The same experiments pass on a sound
// one: see TestLibrary.
func TestBrokenBuildIsFoundOut(t *testing.T) {
	t.Parallel()
	tests := []struct{ tag, experiment, fails, says string }{
		{"broken_leak", "kill-idle-child", "I6", "descriptors:"},
		{"broken_heap", "panic-dispatcher", "I6", "live heap bytes: "},
		{"broken_restart", "panic-dispatcher", "I9", "notification_dispatcher: 0 restarts, want 1"},
		{"broken_once", "panic-dispatcher", "I13", " of them twice: "},
		{"broken_replay", "panic-dispatcher", "I10", "messages were out of their order, first at"},
		{"broken_route", "noisy-tenant", "I2", "replies were another call's"},
	}
	for _, test := range tests {
		t.Run(test.tag, func(t *testing.T) {
			t.Parallel()
			a := openTrialOf(t, mcptest.Broken(t, test.tag), "limits: {session_init: 1s}")
			r, code, out := a.run(body(t, test.experiment))
			if fails := failed(r); code != 1 || !strings.Contains(fails[test.fails], test.says) {
				t.Errorf("exit code %d, failed %v, want %s: %s\n%s", code, fails, test.fails, test.says, out)
			}
		})
	}
}

// body is what an experiment of the library breaks and expects, without its name and load: these runs are shorter, and calls so few that hosts
// with something wrong begin well.
func body(t *testing.T, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(string(experiment.Source(name)), "\nfaults:")
	if !ok {
		t.Fatalf("%s has no faults", name)
	}
	return "load: {rate: 20, sessions: 2, timeout: 5s}\nfaults:" + rest
}
