package interop

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/mcptest"
	"mcpd/transport/stdio/guard"
)

// guardOf returns the process id of a host's guard process, or 0 if there is none.
func guardOf(pid int) int {
	look := guard.Look{Mark: func(entry []byte) bool {
		return bytes.HasPrefix(entry, []byte("MCPD_GUARD=")) &&
			bytes.Contains(entry, fmt.Appendf(nil, ".%d-", pid))
	}}
	for _, pid := range look.Signal(guard.All(), 0) {
		return pid
	}
	return 0
}

// withinGoal waits until ok returns true, and logs how long that took. The goal is for a calm
// machine; more than three times the goal is an error.
func withinGoal(t *testing.T, label string, goal time.Duration, ok func() bool) {
	t.Helper()
	begin := time.Now()
	for !ok() {
		if time.Since(begin) > patience {
			t.Fatalf("never: %s", label)
		}
		time.Sleep(2 * time.Millisecond)
	}
	took := time.Since(begin)
	t.Logf("%s after %v", label, took)
	if took > 3*goal {
		t.Errorf("%s after %v, want %v", label, took, goal)
	}
}

// untidy returns the configuration of a server that leaves processes in their own sessions, whose
// parents have exited: one that ignores signals, one that is stopped, and one that exits by itself.
func untidy(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := `exec 3>&1 >/dev/null 2>&1
(setsid sh -c 'trap "" TERM HUP; while :; do sleep 600; done' </dev/null 3>&- &)
(setsid sh -c 'kill -STOP $$; sleep 600' </dev/null 3>&- &)
(setsid sleep 0.2 </dev/null 3>&- &)
exec "$0" >&3 3>&-`
	return fmt.Sprintf("{command: sh, args: [-c, %q, %q], env: {%s: untidy, %s: %q}}", script, path,
		serveSDK, quickExit[0], quickExit[1])
}

// untidyHost starts a host with the given number of these servers.
func untidyHost(t *testing.T, servers int, state string) *mcptest.Host {
	t.Helper()
	var config strings.Builder
	config.WriteString("tenants: {default: {servers: {\n")
	for i := range servers {
		fmt.Fprintf(&config, "  s%d: %s,\n", i, untidy(t))
	}
	config.WriteString("}}}\n")
	host := mcptest.Start(t, mcptest.HostOptions{Config: config.String(), State: state})
	t.Cleanup(func() {
		look := guard.Look{Mark: func(entry []byte) bool {
			return bytes.HasPrefix(entry, []byte("MCPD_INSTANCE=")) &&
				bytes.Contains(entry, fmt.Appendf(nil, ".%d-", host.PID()))
		}}
		look.End(1, patience)
	})
	for i := range servers {
		c := dial(t, fmt.Sprintf("%s/s%d/mcp", host.MCP, i), "")
		if got := c.call("echo", map[string]any{"text": "hi"}); got != "hi" {
			t.Fatalf("server %d: got %q", i, got)
		}
		_ = c.Close() // the host would wait for an open stream when it stops
	}
	return host
}

// All processes that a server leaves behind are gone a second after mcpd was killed, and mcpd can
// be started again at once on the same state.
func TestNothingOutlivesAKilledHost(t *testing.T) {
	const servers = 10
	host := untidyHost(t, servers, "")
	if n := len(host.Processes()); n < 3*servers {
		t.Fatalf("%d processes run: this shows nothing", n)
	}
	host.Kill()
	withinGoal(t, "no process is left", time.Second, func() bool { return len(host.Processes()) == 0 })
	withinGoal(t, "no guard is left", time.Second, func() bool { return guardOf(host.PID()) == 0 })
	again := untidyHost(t, 1, host.State)
	again.Stop()
	if remaining := again.Processes(); len(remaining) > 0 || guardOf(again.PID()) != 0 {
		t.Errorf("%v and guard %d are left of a host that was told to stop", remaining,
			guardOf(again.PID()))
	}
}

// If the guard is killed together with mcpd, the next mcpd on the same state ends the processes
// that they left. An mcpd on another state does not touch them.
func TestTheNextHostEndsWhatGuardAndHostLeft(t *testing.T) {
	host := untidyHost(t, 2, "")
	pid := guardOf(host.PID())
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil { // so that the guard cannot be faster
		t.Fatal(err)
	}
	host.Kill()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	untidyHost(t, 1, "").Stop()
	if n := len(host.Processes()); n < 4 {
		t.Fatalf("%d processes are left, want those that are in sessions of their own", n)
	}
	next := untidyHost(t, 1, host.State)
	if remaining := host.Processes(); len(remaining) > 0 {
		t.Errorf("%v are left of the host before, while servers of the next one run", remaining)
	}
	if !strings.Contains(next.Log(), "orphans_ended") {
		t.Error("the log does not say so")
	}
}

// A guard that was killed is replaced, and the next guard does its work.
func TestGuardOfAHostComesBack(t *testing.T) {
	host := untidyHost(t, 2, "")
	first := guardOf(host.PID())
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	withinGoal(t, "there is another guard", time.Second, func() bool {
		pid := guardOf(host.PID())
		return pid != 0 && pid != first
	})
	if !strings.Contains(host.Log(), "guard_lost") {
		t.Error("the log does not say so")
	}
	host.Kill()
	withinGoal(t, "no process is left", time.Second, func() bool { return len(host.Processes()) == 0 })
}

// The worker of `npx` is its grandchild. No process of it remains when its server is stopped, when
// only the launcher is killed, and when mcpd is killed.
func TestLaunchersLeaveNothingBehind(t *testing.T) {
	config := fmt.Sprintf(
		"tenants: {default: {servers: {every: {command: npx, args: [-y, %q], cwd: %q}}}}\n", everything,
		mcptest.Modules(t),
	)
	start := func(t *testing.T) (*mcptest.Host, []int) {
		host := mcptest.Start(t, mcptest.HostOptions{Config: config})
		callEcho(t, host)
		pids := host.Processes()
		if len(pids) < 2 {
			t.Fatalf("processes %v, want a launcher and what it launched", pids)
		}
		return host, pids
	}
	t.Run("stopped", func(t *testing.T) {
		host, _ := start(t)
		host.Stop()
		if remaining := host.Processes(); len(remaining) > 0 {
			t.Errorf("%v are left", remaining)
		}
	})
	t.Run("launcher killed", func(t *testing.T) {
		host, before := start(t)
		// the launcher started first
		if err := syscall.Kill(slices.Min(before), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		withinGoal(t, "no process is left", time.Second, func() bool {
			now := host.Processes()
			return !slices.ContainsFunc(before, func(pid int) bool { return slices.Contains(now, pid) })
		})
		callEcho(t, host)
	})
	t.Run("host killed", func(t *testing.T) {
		host, _ := start(t)
		host.Kill()
		withinGoal(t, "no process is left", time.Second, func() bool {
			return len(host.Processes()) == 0
		})
	})
}

func callEcho(t *testing.T, host *mcptest.Host) {
	t.Helper()
	c := dial(t, host.MCP+"/every/mcp", "")
	if got := c.call("echo", map[string]any{"message": "hi"}); got != "Echo: hi" {
		t.Fatalf("got %q", got)
	}
	_ = c.Close() // the host would wait for an open stream when it stops
}
