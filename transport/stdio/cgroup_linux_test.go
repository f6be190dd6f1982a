package stdio

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpd/transport/stdio/cgroup"
)

// contained returns a spawner that may make control groups. It skips the test if this machine has
// none or forbids it.
func contained(t *testing.T, l cgroup.Limits) *Spawner {
	t.Helper()
	tree, err := cgroup.Find()
	if err == nil {
		err = tree.Lacks(l)
	}
	if err != nil {
		t.Skipf("no control group of our own: %v", err)
	}
	s := NewSpawner(SpawnerOptions{Instance: fmt.Sprintf("test-%d", os.Getpid()), Starting: 64})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	s.limits = tree
	return s
}

// groups lists the folders of control groups that this process has made and not removed.
func groups(t *testing.T) []string {
	t.Helper()
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() &&
			strings.HasPrefix(d.Name(), fmt.Sprintf("mcpd-test-%d-", os.Getpid())) {
			found = append(found, path)
		}
		return nil // an unreadable folder is not ours
	})
	return found
}

// A program that exceeds its memory limit is killed, and its ending says why. No other program is
// killed.
func TestMemoryIsLimited(t *testing.T) {
	const limit = 48 << 20
	s := contained(t, cgroup.Limits{Memory: limit})
	other := start(t, s, spec("echo"))
	hog := spec("hog")
	hog.Memory = limit
	c := start(t, s, hog)
	conn := NewConn(c, Options{})
	_, exit := ended(t, conn)
	if exit.Cause != CauseMemory || exit.Signal != "SIGKILL" ||
		!strings.Contains(exit.Error(), "48MiB") {
		t.Errorf("got %q by %q: %v", exit.Cause, exit.Signal, exit)
	}
	if err := conn.Close(within(t)); err != nil {
		t.Error(err)
	}
	if !alive(other.Pid()) {
		t.Error("another program was killed too")
	}
	if remaining := groups(t); len(remaining) > 0 {
		t.Errorf("%v are left", remaining)
	}
}

// A program that keeps starting others reaches its own limit, and the rest of the machine does not
// notice. All processes are gone after Stop.
func TestProcessesAreLimited(t *testing.T) {
	s := contained(t, cgroup.Limits{Processes: 8})
	bomb := spec("")
	bomb.Command, bomb.Processes = "/bin/sh", 8
	bomb.Args = []string{
		"-c", "n=0; while sleep 600 & do n=$((n+1)); [ $n -lt 100 ] || break; done; exit 3",
	}
	c := start(t, s, bomb)
	<-c.Exited()
	if exit, _ := c.Exit(); exit.Hit.Processes != 8 {
		t.Errorf("it ended as %+v, want its bound to be hit", exit)
	}
	if err := c.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if remaining := groups(t); len(remaining) > 0 {
		t.Errorf("%v are left", remaining)
	}
}

// A program is in its group from its first instruction on, and this process stays where it was.
func TestGroupIsThereFromTheStart(t *testing.T) {
	s := contained(t, cgroup.Limits{Memory: 1, Processes: 1})
	before, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	say := spec("")
	say.Command, say.Args, say.Memory, say.Processes = "/bin/cat",
		[]string{"/proc/self/cgroup"}, 64<<20, 8
	for range 5 {
		c := start(t, s, say)
		buf := make([]byte, 4<<10)
		n, _ := c.Stdout().Read(buf)
		if want := "mcpd-test-" + strconv.Itoa(os.Getpid()); !strings.Contains(string(buf[:n]), want) {
			t.Errorf("its groups are\n%s\nwant %s", buf[:n], want)
		}
		<-c.Gone()
	}
	tasks, err := filepath.Glob("/proc/self/task/*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if after, err := os.ReadFile(task); err == nil && !strings.Contains(string(after), "/mcpd") &&
			string(after) != string(before) || strings.Contains(string(after), "mcpd-test") {
			t.Errorf("%s: before\n%sand now\n%s", task, before, after)
		}
	}
}

// BenchmarkLimitedSpawn measures a start with limits, and the pauses of a kernel that moves threads
// between groups.
func BenchmarkLimitedSpawn(b *testing.B) {
	tree, err := cgroup.Find()
	if err != nil {
		b.Skip(err)
	}
	s := NewSpawner(SpawnerOptions{Instance: fmt.Sprintf("test-%d", os.Getpid())})
	defer s.Close(context.Background())
	s.turns.rate, s.limits = rate{}, tree
	var starts time.Duration
	for b.Loop() {
		began := time.Now()
		child, err := s.Start(b.Context(), Spec{Command: "/bin/true", Memory: 64 << 20, Processes: 8})
		if err != nil {
			b.Fatal(err)
		}
		starts += time.Since(began)
		<-child.Gone()
		if err := child.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(starts.Nanoseconds())/float64(b.N), "ns/start")
}
