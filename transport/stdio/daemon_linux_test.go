package stdio

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcpd/transport/stdio/guard"
)

// hostProcess is a daemon under test.
type hostProcess struct {
	t       *testing.T
	command *exec.Cmd
	in      io.Writer
	out     *bufio.Reader
	remarks *strings.Builder // complete when the process has been waited for
	mark    string
}

// hosts numbers the daemons: the guard of one would end the processes of the next under the same
// name.
var hosts atomic.Uint64

func newHost(t *testing.T, name, earlier string) *hostProcess {
	t.Helper()
	return newInstance(t, fmt.Sprintf("%s-%d-%d", name, os.Getpid(), hosts.Add(1)), earlier)
}

func newInstance(t *testing.T, instance, earlier string) *hostProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=daemon", "STDIO_TEST_ARG="+instance,
		"STDIO_TEST_STAY="+earlier, "GORACE=atexit_sleep_ms=0")
	h := &hostProcess{
		t: t, command: cmd, remarks: &strings.Builder{}, mark: InstanceVariable + "=" + instance + "/",
	}
	cmd.Stderr = h.remarks
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.in, h.out = in, bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.kill()
		look := guard.Of(h.mark)
		look.End(1, patience)
	})
	return h
}

func (h *hostProcess) do(format string, args ...any) string {
	h.t.Helper()
	fmt.Fprintf(h.in, format+"\n", args...)
	line, err := h.out.ReadString('\n')
	if err != nil {
		h.t.Fatalf("%s: %v", format, err)
	}
	return strings.TrimSpace(line)
}

// kill ends the daemon alone, at once.
func (h *hostProcess) kill() {
	_ = h.command.Process.Kill() // ended already, or it ends now
	_ = h.command.Wait()
}

// marked lists the living processes that the daemon has started, and their children.
func (h *hostProcess) marked() []int {
	look := guard.Of(h.mark)
	return look.Signal(guard.All(), 0)
}

// guard returns the process id of the guard, 0 while there is none.
func (h *hostProcess) guard() int {
	look := guard.Look{Mark: func(entry []byte) bool {
		return string(entry) == guard.Variable+"="+h.mark
	}}
	for _, pid := range look.Signal(guard.All(), 0) {
		return pid
	}
	return 0
}

func (h *hostProcess) awaitGuard(other int) (pid int) {
	h.t.Helper()
	eventually(h.t, "there is a guard", func() bool {
		pid = h.guard()
		return pid != 0 && pid != other
	})
	return pid
}

// escape is a shell command that leaves a process in another session, whose parent has ended.
const escape = `(setsid sh -c 'trap "" TERM HUP; echo escaped; exec sleep 600' &)`

// vanish is one that also leaves the process without an environment and without a pipe.
const vanish = `(setsid env -i sh -c 'sleep 600 >/dev/null 2>&1 </dev/null & exit' &); sleep 0.1; echo vanished`

// scripts are programs that leave processes behind, each in its own way. Each prints a line when it
// runs.
var scripts = []struct{ name, text string }{
	{"a program", "echo on; exec sleep 600"},
	{"one that ignores signals", `trap "" TERM HUP INT; echo on; while :; do sleep 600; done`},
	{"one with a child", "sleep 600 & echo on; wait"},
	{"one with a child in another session", "setsid sleep 600 & echo on; wait"},
	{"one whose grandchild has escaped", escape + "; sleep 600"},
	{"one that has ended after its grandchild escaped", "echo on; " + escape},
	{"one that is stopped", "echo on; kill -STOP $$; sleep 600"},
	{"one whose grandchild is stopped", "setsid sh -c 'echo on; kill -STOP $$; sleep 600' & wait"},
	{"one whose grandchild has escaped and cleared its environment", vanish + "; sleep 600"},
	{"one that has cleared its environment", "echo on; exec env -i sleep 600"},
	{"one whose child has cleared its environment", "env -i sh -c 'echo on; sleep 600' & wait"},
}

func TestNothingOutlivesAKilledDaemon(t *testing.T) {
	h := newHost(t, t.Name(), "")
	var pids []int
	for range 3 {
		for _, s := range scripts {
			if s.name != "one that has ended after its grandchild escaped" { // its leftovers end with it
				h.do("start %s", s.text)
			}
		}
	}
	for _, pid := range guard.All() { // also processes without a mark: their parents are known
		if descends(pid, h.command.Process.Pid) && pid != h.guard() {
			pids = append(pids, pid)
		}
	}
	h.kill()
	began := time.Now()
	eventually(t, "all processes end", func() bool {
		return !slices.ContainsFunc(pids, alive) && len(h.marked()) == 0
	})
	took := time.Since(began)
	t.Logf("%d processes ended within %v", len(pids), took)
	if took > time.Second+2*time.Second { // the goal is 1 s; the machine is shared
		t.Errorf("took %v", took)
	}
	eventually(t, "the guard ends", func() bool { return h.guard() == 0 })
}

// descends reports whether from is an ancestor of pid.
func descends(pid, from int) bool {
	for pid > 1 && pid != from {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			return false
		}
		pid, _ = strconv.Atoi(
			strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[1],
		)
		if pid == from {
			return true
		}
	}
	return false
}

func TestNothingOutlivesItsServer(t *testing.T) {
	h := newHost(t, t.Name(), "")
	h.do("start echo on; exec sleep 600") // of another server, and stays
	var other []int
	eventually(t, "it has an environment, after exec", func() bool {
		other = h.marked()
		return len(other) == 1
	})
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			one := newHost(t, t.Name(), "")
			one.do("start %s", s.text)
			one.do("stop")
			if remaining := strings.Fields(one.children()); len(remaining) > 0 &&
				!slices.Equal(remaining, []string{strconv.Itoa(one.guard())}) {
				t.Errorf("children %v are left", remaining)
			}
			if remaining := one.marked(); len(remaining) > 0 {
				t.Errorf("%v are left", remaining)
			}
			if got := one.do("close"); got != "closed" {
				t.Error(got)
			}
			if left := one.children(); left != "" {
				t.Errorf("children %s are left", left)
			}
		})
	}
	if got := h.marked(); !slices.Equal(got, other) || len(got) != 1 {
		t.Errorf("of another daemon: got %v, want %v still", got, other)
	}
}

// The last step of the ladder applies to escaped processes too: the time before it is shared with
// the program.
func TestStopClimbsOneLadderForAllThatIsLeft(t *testing.T) {
	h := newHost(t, t.Name(), "")
	h.do(`patient trap "" TERM HUP; %s; while :; do sleep 600; done`, escape)
	h.do("stop") // it fails if a process is left after Kill
	if remaining := h.marked(); len(remaining) > 0 {
		t.Errorf("%v are left", remaining)
	}
}

// children lists the daemon's child processes, including zombies.
func (h *hostProcess) children() string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", h.command.Process.Pid))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

func TestExitsAreTakenByWhoeverWaitsForThem(t *testing.T) {
	h := newHost(t, t.Name(), "")
	for i := range 30 {
		// Orphans end before the program, with it and after it.
		if got, want := h.do(
			"run for i in 1 2 3 4 5; do (setsid true &); (setsid sleep 0.0%d &); done; exit %d", i%4, i+1,
		), fmt.Sprintf("%d %v", i+1, syscall.Signal(0)); got != want {
			t.Fatalf("got exit %q, want %q", got, want)
		}
	}
	eventually(t, "no zombie is left", func() bool {
		return strings.TrimSpace(h.children()) == strconv.Itoa(h.guard()) ||
			!strings.Contains(h.children(), " ")
	})
}

func TestGuardComesBack(t *testing.T) {
	h := newHost(t, t.Name(), "")
	h.do("start echo on; exec sleep 600")
	last := 0
	for range 3 {
		last = h.awaitGuard(last)
		if err := syscall.Kill(last, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	last = h.awaitGuard(last)
	// Only a guard that is told of the group can find it.
	h.do("start env -i sh -c 'echo on; sleep 600' & wait")
	h.do("start echo on; setsid sleep 600 & wait")
	// A signal to the daemon's group does not reach the guard.
	if sid, err := unix.Getsid(last); err != nil || sid != last {
		t.Errorf("the guard is in session %d (%v), want %d of its own", sid, err, last)
	}
	var pids []int
	for _, pid := range guard.All() {
		if descends(pid, h.command.Process.Pid) && pid != last {
			pids = append(pids, pid)
		}
	}
	h.kill()
	eventually(t, "all processes end", func() bool { return !slices.ContainsFunc(pids, alive) })
	if n := strings.Count(h.remarks.String(), GuardLost+" 0 killed by SIGKILL"); n != 3 {
		t.Errorf("%d remarks about the guard, want 3: %s", n, h.remarks)
	}
}

// A hanging guard is replaced as soon as it does not take a message, and the daemon's end waits for
// it for a bounded time.
func TestHangingGuardHoldsNothingUp(t *testing.T) {
	h := newHost(t, t.Name(), "")
	h.do("start echo on; exec sleep 600")
	if err := syscall.Kill(h.awaitGuard(0), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	h.do("start echo on; exec sleep 600")
	h.do("stop")
	began := time.Now()
	h.do("close")
	if took := time.Since(began); took > sweepTime+5*time.Second {
		t.Errorf("close took %v", took)
	}
}

func TestWhatAnEarlierDaemonLeftEndsBeforeTheFirstStart(t *testing.T) {
	lock, other := fmt.Sprintf("%d-a.", os.Getpid()), newHost(t,
		fmt.Sprintf("%d-b.1", os.Getpid()), "")
	other.do("start %s; sleep 600", escape)
	other.do("start %s; sleep 600", vanish)
	before := newHost(t, lock+"1", "")
	before.do("start %s; sleep 600", escape)
	before.do("start %s; sleep 600", vanish)
	var theirs, remaining []int
	eventually(t, "both have environments, after exec", func() bool {
		theirs, remaining = other.marked(), before.marked()
		return len(theirs) == 6 && len(remaining) == 6
	})
	// Daemon and guard are killed together: no process is left to clean up.
	pid := before.awaitGuard(0)
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
		before.command.Process.Signal(sig)
	}
	before.kill()
	if now := before.marked(); len(now) == 0 {
		t.Fatalf("%v of %v are left of the earlier daemon: this shows nothing", now, remaining)
	}
	after := newHost(t, lock+"2", lock)
	after.do("start echo on; exec sleep 600")
	if now := before.marked(); len(now) > 0 {
		t.Errorf("%v of the earlier daemon run beside those of the next", now)
	}
	eventually(t, "its own has an environment, after exec", func() bool {
		return len(after.marked()) == 1
	})
	if now := other.marked(); !slices.Equal(now, theirs) {
		t.Errorf("of another daemon: got %v, want %v still", now, theirs)
	}
	after.kill()
	if !strings.HasPrefix(after.remarks.String(), Earlier+" ") {
		t.Errorf("no remark about the earlier ones: %s", after.remarks)
	}
}

// Daemons of one lock file may have stamps that begin alike, and the guard of a killed daemon may
// be slow. It does not end the next daemon, nor the children of that.
func TestTheNextDaemonOutlivesTheGuardOfTheLast(t *testing.T) {
	for name, awake := range map[string]time.Duration{"slow": sweepTime / 4,
		"hanging": 4 * sweepTime} {
		t.Run(name, func(t *testing.T) {
			lock := fmt.Sprintf("%d-%s.", os.Getpid(), name)
			of := func(n int) uint64 {
				return guard.Stamp(fmt.Sprintf("%s=%s%d/", InstanceVariable, lock, n))
			}
			same := 2
			for of(same) != of(1) {
				same++
			}
			before := newInstance(t, lock+"1", lock)
			before.do("start echo on; exec sleep 600")
			pid := before.awaitGuard(0)
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			before.kill()
			// ended, if the wait timed out
			wake := time.AfterFunc(awake, func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
			defer wake.Stop()
			after := newInstance(t, lock+strconv.Itoa(same), lock)
			after.do("start env -i sh -c 'echo on; exec sleep 600' & wait")
			children := after.children()
			eventually(t, "the guard ends", func() bool { return before.guard() == 0 })
			after.do("start echo on; exec sleep 600")
			if now := after.children(); !strings.HasPrefix(now, strings.TrimSpace(children)) {
				t.Errorf("children %s, were %s", now, children)
			}
		})
	}
}
