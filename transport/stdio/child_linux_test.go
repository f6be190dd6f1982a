package stdio

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpd/transport"
)

func TestStartFailureSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", "#!/bin/sh\n", 0o644)
	broken := file("broken", "\x7fELF but not really", 0o755)
	orphan := file("orphan", "#!/no/such/interpreter\n", 0o755)
	s := newTestSpawner(t)
	for _, tt := range []struct {
		name        string
		spec        Spec
		cause, text string
	}{
		{"no such file", Spec{Command: "/no/such/server"}, CauseNotFound, `"/no/such/server"`},
		{"not in PATH", Spec{Command: "mcpd-no-such-server"}, CauseNotFound, "PATH"},
		{"in a relative folder of PATH",
			Spec{Command: "plain", Dir: dir, Env: map[string]string{"PATH": "."}}, CauseNotFound, "PATH"},
		{"not executable", Spec{Command: plain}, CausePermission, plain},
		{"not executable, in PATH", Spec{Command: "plain", Env: map[string]string{"PATH": dir}},
			CausePermission, plain},
		{"a folder", Spec{Command: dir}, CausePermission, "directory"},
		{"no program for this machine", Spec{Command: broken}, CauseFormat, "exec format"},
		{"no interpreter", Spec{Command: orphan}, CauseNotFound, "interpreter"},
		{"no working directory", Spec{Command: "sh", Dir: dir + "/gone"}, CauseNotFound,
			"working directory"},
		{"working directory is a file", Spec{Command: "sh", Dir: plain}, CauseNotFound,
			"working directory"},
		{"NUL in an argument", Spec{Command: "sh", Args: []string{"-c", "a\x00b"}}, CauseStart,
			"argument 2"},
		{"name with =", Spec{Command: "sh", Env: map[string]string{"A=B": ""}}, CauseStart, `"A=B"`},
		{"no command", Spec{}, CauseStart, "empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.Start(within(t), tt.spec)
			var exit *transport.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("got %v, want an ExitError", err)
			}
			if exit.Cause != tt.cause || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got cause %q in %q, want %q and %q in it", exit.Cause, err, tt.cause, tt.text)
			}
		})
	}
}

func TestEnvironmentHoldsOnlyWhatIsAskedFor(t *testing.T) {
	ours := []string{
		"HOME=/home/u", "LC_TIME=C", "LD_PRELOAD=evil.so", "NODE_OPTIONS=--inspect",
		"AWS_SECRET_ACCESS_KEY=s", "TOKEN=t", "MCPD_KEY=k",
		"XDG_RUNTIME_DIR=/run/user/1", "MCPD_INSTANCE=outer", "LANGUAGE=de",
	}
	got := environment(ours, []string{"TOKEN", "ABSENT"},
		map[string]string{"HOME": "/srv", "MCPD_INSTANCE": "forged"}, "i1")
	want := []string{"HOME=/srv", "LC_TIME=C", "MCPD_INSTANCE=i1", "PATH=" + defaultPath, "TOKEN=t"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestInheritedNamesAreSorted(t *testing.T) {
	if !slices.IsSorted(inherited) {
		t.Error("the list of inherited variables is not sorted")
	}
}

func TestChildRunsAsSpecified(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HOST", "s")
	dir := t.TempDir()
	child := start(t, newTestSpawner(t), Spec{
		Command: "sh",
		Args: []string{
			"-c",
			`sleep 0.2; env; pwd; ulimit -n; ulimit -Hn; ulimit -c; ulimit -f; ls /proc/self/fd | wc -l; exec ps -o pgid= -p $$`, "name",
		},
		Dir:   dir,
		Files: 100, FileSize: 10 << 10,
		Ladder: quick,
	})
	all, err := io.ReadAll(child.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	text := string(all)
	if !strings.Contains(text, "MCPD_INSTANCE=test.") ||
		!strings.Contains(text, child.trace.mark+"\n") || strings.Contains(text, "SECRET_OF_THE_HOST") {
		t.Errorf("environment: %s", text)
	}
	lines := strings.Fields(text[strings.LastIndex(text, dir):])
	// ls itself opens the folder that it lists: three pipes and the folder.
	want := []string{dir, "100", "100", "0", "20", "4", strconv.Itoa(child.Pid())}
	if !slices.Equal(lines, want) {
		t.Errorf(
			"working directory, open files soft and hard, core size, file size in 512 bytes, descriptors, "+
				"process group: got %q, want %q", lines, want,
		)
	}
}

// oldKernels are spawners as they are on older or other systems.
var oldKernels = []struct {
	name         string
	pidfd, group bool
}{
	{"group signals through a pidfd", true, true},
	{"pidfd for the leader only", true, false},
	{"no pidfd", false, false},
}

func TestStopLeavesNobodyBehind(t *testing.T) {
	for _, kernel := range oldKernels {
		for _, tt := range []struct {
			name string
			spec Spec
			// max is the longest time for Stop.
			max time.Duration
		}{
			{"obeys the end of its input", spec("echo"), quick.EOF},
			{"ignores end of input and SIGTERM", spec("stubborn"), quick.EOF + quick.Term + time.Second},
			{"left a process and exited", spec("leave"), quick.EOF + quick.Term + time.Second},
			{"left a process that ignores SIGTERM", spec("leave", "STDIO_TEST_ARG", "stubborn"),
				quick.EOF + quick.Term + time.Second},
			{"exits and leaves a process when asked", spec("leave", "STDIO_TEST_STAY", "1"),
				quick.EOF + quick.Term + time.Second},
			{"floods its output", spec("flood"), quick.EOF + time.Second},
			{"is stopped", Spec{Command: "sh", Args: []string{"-c", "kill -STOP $$"}, Ladder: quick},
				quick.EOF + quick.Term + time.Second},
		} {
			t.Run(kernel.name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				s := newTestSpawner(t)
				s.pidfd, s.group = kernel.pidfd, s.group && kernel.group
				child := start(t, s, tt.spec)
				if tt.spec.Command == os.Args[0] && tt.spec.Env[role] != "echo" {
					if _, err := bufio.NewReader(child.Stdout()).ReadString('\n'); err != nil { // it runs now
						t.Fatal(err)
					}
				}
				began := time.Now()
				if err := child.Stop(context.Background()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > tt.max+2*time.Second { // the machine is shared
					t.Errorf("took %s, want at most %s", took, tt.max)
				}
				if remaining := members(child.Pid()); len(remaining) > 0 {
					t.Errorf("processes %v are left", remaining)
				}
				if err := child.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
					t.Errorf("a signal after the end: got %v, want %v", err, os.ErrProcessDone)
				}
				if err := child.h.signalGroup(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
					t.Errorf("a signal to the group after the end: got %v, want %v", err, os.ErrProcessDone)
				}
			})
		}
	}
}

func TestStopKeepsWithinContext(t *testing.T) {
	child := start(t, newTestSpawner(t), Spec{
		Command: os.Args[0], Env: map[string]string{role: "stubborn"},
		Ladder: Ladder{EOF: time.Hour, Term: time.Hour, Kill: 500 * time.Millisecond},
	})
	if _, err := bufio.NewReader(child.Stdout()).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := child.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := ctx.Err(); err != nil {
		t.Errorf("stop outlasted its context: %v", err)
	}
	if exit, _ := child.Exit(); exit.Signal != syscall.SIGKILL {
		t.Errorf("got %+v, want SIGKILL", exit)
	}
}

func TestStopByManyAtOnce(t *testing.T) {
	child := start(t, newTestSpawner(t), spec("stubborn"))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := child.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// The thread that forks must outlive the child, or the kernel kills the child: go.dev/issue/27505.
func TestChildOutlivesTheThreadThatAskedForIt(t *testing.T) {
	s := newTestSpawner(t)
	var child *Child
	var group sync.WaitGroup
	group.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		child = start(t, s, spec("echo"))
	})
	group.Wait()
	conn := NewConn(child, Options{})
	defer conn.Close(context.Background())
	runtime.GC()
	for id := range uint64(20) {
		if err := conn.Send(t.Context(), request(id, `{}`)); err != nil {
			t.Fatal(err)
		}
		next(t, conn)
	}
}

func TestChildDiesWithTheHost(t *testing.T) {
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), role+"=host")
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Fatalf("process %d of the living host is dead", pid)
	}
	host.Process.Kill()
	host.Wait()
	eventually(t, "the child of a killed host ends", func() bool { return !alive(pid) })
}

func TestStartsWaitForTheirTurn(t *testing.T) {
	s := NewSpawner(SpawnerOptions{Starting: 1})
	defer s.Close(context.Background())
	first := start(t, s, spec("echo"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Start(ctx, spec("echo")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a second start at the same time: got %v, want %v", err, context.DeadlineExceeded)
	}
	first.Settled()
	first.Settled()
	second := start(t, s, spec("quit")) // its exit makes room too
	<-second.Gone()
	third := start(t, s, spec("echo"))
	if !first.HasSettled() || second.HasSettled() {
		t.Error("want the first to have settled and the second not: its exit is no sign of life")
	}
	// A silent program delays the next start for a moment only.
	if err := s.await(within(t), &turn{come: make(chan struct{})}); err != nil {
		t.Fatal(err)
	}
	// The tenants of the waiting starts take turns.
	var order []string
	var mu sync.Mutex
	var all sync.WaitGroup
	for i, tenant := range []string{"a", "a", "b"} {
		all.Go(func() {
			sp := spec("leave")
			sp.Tenant = tenant
			c, err := s.Start(within(t), sp)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, tenant)
			mu.Unlock()
			if err := c.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
		eventually(t, "the start waits", func() bool {
			now, _ := s.Waiting()
			return now > i
		})
	}
	s.free()
	all.Wait()
	if !slices.Equal(order, []string{"a", "b", "a"}) {
		t.Errorf("started in the order %q, want the tenants in turn", order)
	}
	for _, c := range []*Child{first, third} {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestClosedSpawnerStartsNothingAndWaitsForTheRest(t *testing.T) {
	s := NewSpawner(SpawnerOptions{})
	child := start(t, s, spec("echo"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close over a living child: got %v, want %v", err, context.DeadlineExceeded)
	}
	if _, err := s.Start(within(t), spec("echo")); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("start after close: got %v, want %v", err, transport.ErrClosed)
	}
	if !alive(child.Pid()) {
		t.Error("close of the spawner killed a child")
	}
	if err := child.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if err := s.Close(within(t)); err != nil {
		t.Error(err)
	}
}

func TestStandardErrorIsReadLineByLine(t *testing.T) {
	type line struct {
		text string
		cut  bool
	}
	var got []line
	sp := spec("complain")
	sp.Stderr = func(text []byte, cut bool) { got = append(got, line{string(text), cut}) }
	child := start(t, newTestSpawner(t), sp)
	<-child.Gone()
	want := []line{
		{"first", false}, {"second", false}, {strings.Repeat("y", maxErrorLine), true}, {"after", false},
		{"unfinished", false},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %.200v", got)
	}
	if tail := string(child.Stderr()); len(tail) != tailBytes ||
		!strings.HasSuffix(tail, "y\nafter\nunfinished") {
		t.Errorf("tail: got %d bytes, ending in %.40q", len(tail), tail[max(0, len(tail)-40):])
	}
}

// A program may have ended before Start returns. The start has not failed for that.
func TestProgramThatEndsAtOnceWasStarted(t *testing.T) {
	s := newTestSpawner(t)
	for range 50 {
		child := start(t, s, Spec{Command: "true", Ladder: quick})
		<-child.Gone()
		if exit, over := child.Exit(); !over || exit.Code != 0 || exit.Signal != 0 {
			t.Fatalf("got %+v, %v", exit, over)
		}
	}
}

func TestWhoeverWritesTooMuchEndsAlone(t *testing.T) {
	s, file := newTestSpawner(t), filepath.Join(t.TempDir(), "file")
	child := start(t, s, Spec{
		Command:  "sh",
		Args:     []string{"-c", `sleep 0.2; exec dd if=/dev/zero of="$0" bs=1k count=100`, file},
		FileSize: 10 << 10, Ladder: quick,
	})
	<-child.Gone()
	if exit, _ := child.Exit(); exit.Signal != syscall.SIGXFSZ {
		t.Errorf("got %+v, want SIGXFSZ", exit)
	}
	if info, err := os.Stat(file); err != nil || info.Size() != 10<<10 {
		t.Errorf("the file has %d bytes (%v), want the limit", info.Size(), err)
	}
}

// The configuration reference names every variable that a child gets.
func TestEnvironmentIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/config.gen.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "| `tenants.*.servers.*.env` |")
	row, _, _ := strings.Cut(rest, "\n")
	for _, name := range append([]string{InstanceVariable}, inherited...) {
		if !regexp.MustCompile(`[ ,]` + regexp.QuoteMeta(name) + `[ ,]`).MatchString(row) {
			t.Errorf("%s is not in the row of env: %s", name, row)
		}
	}
}
