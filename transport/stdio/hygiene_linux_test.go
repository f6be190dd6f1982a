package stdio

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcpd/protocol/jsonrpc"

	"mcpd/transport"
)

// peak resets the memory high-water mark of this process, and returns a function that reports how
// far it has risen since, in bytes.
func peak(t *testing.T) (grown func() int) {
	t.Helper()
	most := func() int {
		text, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); f[0] == "VmHWM:" {
				kib, _ := strconv.Atoi(f[1])
				return kib << 10
			}
		}
		t.Fatal("the kernel does not say how much memory there was")
		return 0
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Skipf("the peak of memory cannot be reset: %v", err)
	}
	before := most()
	return func() int { return most() - before }
}

// The longest line that is read at all is skipped at a limited rate, in the memory of one message.
// The line after it is read.
func TestEndlessLineTakesTheMemoryOfOneMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	const message = endlessBytes / endless
	c := NewConn(start(t, newTestSpawner(t), spec("endless")), Options{MaxMessage: message})
	defer c.Close(context.Background())
	grown := peak(t)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	in, err := c.Recv(ctx)
	if err != nil || in.Message.Method != "after" {
		t.Fatalf("got %v, %v, want what came behind the line", in, err)
	}
	n, took := grown(), time.Since(began)
	t.Logf("%d MiB in %v, with %d MiB more memory", endlessBytes>>20,
		took.Round(time.Millisecond), n>>20)
	// This is room for the buffer, the one that it grew from, uncollected garbage, and the race
	// detector's overhead.
	if n > 16*message {
		t.Errorf("it took %d MiB, and a message may have %d", n>>20, message>>20)
	}
	if least := (endlessBytes - 2*message) /
		(transport.PaceMost * transport.PacePart) * transport.PaceSpan; took < least {
		t.Errorf("it took %v, want %v", took, least)
	}
}

// A server that writes more to its standard error than any pipe holds is never blocked by that, and
// costs no memory.
func TestStandardErrorIsAlwaysDrained(t *testing.T) {
	s := spec("rant")
	var lines atomic.Uint64
	s.Stderr = func([]byte, bool) { lines.Add(1) }
	c := connect(t, s)
	grown := peak(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	if err := c.Send(ctx, request(1, "{}")); err != nil {
		t.Fatal(err)
	}
	in, err := c.Recv(ctx)
	if err != nil || in.Message.ID != jsonrpc.IntID(1) {
		t.Fatalf("got %v, %v", in, err)
	}
	n := grown()
	t.Logf("%d MiB more memory for %d lines", n>>20, rantLines)
	if n > 16<<20 {
		t.Errorf("%d MiB were kept of what nobody will read", n>>20)
	}
	eventually(t, "every line is reported", func() bool { return lines.Load() == rantLines })
	if tail := c.child.Stderr(); len(tail) != tailBytes {
		t.Errorf("%d bytes of the end are there, want %d", len(tail), tailBytes)
	}
}

// Notifications that no caller receives block their server, and take no memory here.
func TestFloodOfNotificationsTakesNoMemory(t *testing.T) {
	c := connect(t, spec("flood"))
	grown := peak(t)
	for range 100_000 {
		if _, err := c.Recv(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	last := int64(-1)
	eventually(t, "it waits, because nobody reads", func() bool {
		was := last
		last = written(t, c.child.Pid())
		time.Sleep(50 * time.Millisecond)
		return last == was
	})
	if n := grown(); n > 16<<20 {
		t.Errorf("it took %d MiB", n>>20)
	}
}

// written returns how many bytes a process has written in all.
func written(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "wchar: "); ok {
			v, _ := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			return v
		}
	}
	t.Fatal("the kernel does not say how much was written")
	return 0
}

// A death is announced, not polled for: readers, writers and waiters notice it at once.
func TestDeathIsSeenAtOnce(t *testing.T) {
	const kills, goal = 20, 10 * time.Millisecond
	s := newTestSpawner(t)
	var exits, ends []time.Duration
	for range kills {
		child := start(t, s, spec("deaf"))
		c := NewConn(child, Options{})
		next(t, c) // it runs
		began := time.Now()
		if err := child.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_, exit := ended(t, c)
		ends = append(ends, time.Since(began))
		at, over := child.Exit()
		if !over || exit.Signal != "SIGKILL" {
			t.Fatalf("it ended as %v", exit)
		}
		exits = append(exits, at.At.Sub(began))
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(exits)
	slices.Sort(ends)
	t.Logf("exit seen after %v, half of them after %v; said to who receives after %v and %v", exits[0],
		exits[kills/2], ends[0], ends[kills/2])
	if exits[0] > goal || exits[kills/2] > 5*goal { // the machine is shared
		t.Errorf("the exit was seen after %v, half of them after %v, want %v", exits[0],
			exits[kills/2], goal)
	}
}

func init() { roles["outcry"] = outcry }

// outcry crashes with more output than is read at once: its standard error pipe holds a megabyte.
func outcry() {
	unix.FcntlInt(2, unix.F_SETPIPE_SZ, 1<<20)
	os.Stderr.WriteString(strings.Repeat("at nothing in particular\n", 40_000) + "no database\n")
	os.Exit(1)
}

// When memory runs out, the kernel kills a child rather than the host, and the processes that a
// child starts as well.
func TestKernelPrefersChildrenWhenMemoryRunsOut(t *testing.T) {
	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Skip(err)
	}
	child := start(t, newTestSpawner(t), spec("deaf"))
	got, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", child.Pid()))
	if err != nil || strings.TrimSpace(string(got)) != strconv.Itoa(childOOMScore) {
		t.Errorf("the child has %q, %v; the host has %q", got, err, own)
	}
}
