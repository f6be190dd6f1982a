package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// files lists the files of a folder with their contents.
func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		if text, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil {
			all = append(all, e.Name()+"="+strings.TrimSpace(string(text)))
		}
	}
	return strings.Join(all, " ")
}

func TestGroupOfVersion2(t *testing.T) {
	dir := machine(t, mountsTwo, "cgroup: 0::/s\n", "sys/s/cgroup.controllers: memory pids\n",
		"sys/s/cgroup.procs: 77\n", "sys/s/cgroup.subtree_control: ", "sys/s/cgroup.type: domain")
	tree, err := find(dir, 77)
	if err != nil {
		t.Fatal(err)
	}
	l := Limits{Memory: 64 << 20, Processes: 32}
	if err := tree.Lacks(l); err != nil {
		t.Error(err)
	}
	g, err := tree.New("a.1-X/7", l)
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, "sys/s")
	if got := files(t, filepath.Join(base, "mcpd")); got != "cgroup.procs=77" {
		t.Errorf("we are in the leaf with %q", got)
	}
	if got, _ := os.ReadFile(filepath.Join(base,
		"cgroup.subtree_control")); string(got) != "+memory +pids" {
		t.Errorf("enabled are %q", got)
	}
	ran := false
	if err := g.Around(5, func() { ran = true }); err != nil || !ran || g.FD() < 0 {
		t.Errorf("ran: %t, %v, descriptor %d", ran, err, g.FD())
	}
	of := filepath.Join(base, "mcpd-a.1-X-7")
	if got, want := files(t, of),
		"memory.max=67108864 memory.oom.group=1 memory.swap.max=0 pids.max=32"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if hit := g.Hit(); hit != (Limits{}) {
		t.Errorf("without events it has hit %v", hit)
	}
	for file, text := range map[string]string{"memory.events": "low 0\noom 1\noom_kill 0\n",
		"pids.events": "max 2\n"} {
		if err := put(of, file, text); err != nil {
			t.Fatal(err)
		}
	}
	if hit := g.Hit(); hit != (Limits{Processes: 32}) {
		t.Errorf("it has hit %v, want its processes", hit)
	}
	if err := put(of, "memory.events", "oom 1\noom_kill 3\n"); err != nil {
		t.Fatal(err)
	}
	if hit := g.Hit(); hit != l {
		t.Errorf("it has hit %v, want both", hit)
	}
	g.Kill()
	if got, _ := os.ReadFile(filepath.Join(of, "cgroup.kill")); string(got) != "1" {
		t.Errorf("killed with %q", got)
	}
	if g.Remove(0) {
		t.Error("a group that is still used: want to hear of it")
	}
}

// With version 1 the thread that starts a program is in its groups meanwhile. The limit of
// processes is set after the thread has left.
func TestGroupsOfVersion1(t *testing.T) {
	dir := machine(t, mountsOne, "cgroup: 4:memory:/m\n2:cpu,pids:/\n", "mem/m/tasks: ",
		"cpu,pids/tasks: ")
	tree, err := find(dir, 77)
	if err != nil {
		t.Fatal(err)
	}
	g, err := tree.New("a/1", Limits{Memory: 1 << 20, Processes: 3})
	if err != nil {
		t.Fatal(err)
	}
	memories, processes := filepath.Join(dir, "mem/m/mcpd-a-1"), filepath.Join(dir,
		"cpu,pids/mcpd-a-1")
	err = g.Around(5, func() {
		if got, want := files(t, memories),
			"memory.limit_in_bytes=1048576 memory.memsw.limit_in_bytes=1048576 tasks=5"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got, want := files(t, processes), "tasks=5"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
	if err != nil || g.FD() != -1 {
		t.Errorf("%v, descriptor %d", err, g.FD())
	}
	if got, want := files(t, processes), "pids.max=3 tasks=5"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, base := range []string{"mem/m", "cpu,pids"} {
		if got := files(t, filepath.Join(dir, base)); got != "tasks=5" {
			t.Errorf("the thread is back in %s with %q", base, got)
		}
	}
	if err := put(memories, "memory.oom_control",
		"oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"); err != nil {
		t.Fatal(err)
	}
	if hit := g.Hit(); hit != (Limits{Memory: 1 << 20}) {
		t.Errorf("it has hit %v, want its memory", hit)
	}
}

func TestLimitWithoutItsController(t *testing.T) {
	dir := machine(t, mountsOne, "cgroup: 2:cpu,pids:/\n", "cpu,pids/tasks: ")
	tree, err := find(dir, 77)
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Lacks(Limits{Processes: 1}); err != nil {
		t.Error(err)
	}
	if err := tree.Lacks(Limits{Memory: 1}); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("got %v, want that memory lacks", err)
	}
}

// Groups that an earlier daemon left are removed. Ours, and those of others, stay.
func TestSweepRemovesGroupsOfEarlierDaemons(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"mcpd", "mcpd-a.1-X-7", "mcpd-a.1-X-8", "mcpd-a.2-Y-1",
		"mcpd-b.1-X-1", "user"} {
		if err := makeDir(filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := put(filepath.Join(base, "mcpd-a.1-X-8"), "used", ""); err != nil {
		t.Fatal(err)
	}
	tree := &Tree{base: map[string]string{memory: base, pids: base}}
	if remaining := tree.Sweep("a.", "a.2-Y", 5*time.Millisecond); remaining != 1 {
		t.Errorf("%d are left, want the one that is used", remaining)
	}
	entries, err := os.ReadDir(base)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names,
		" "), "mcpd mcpd-a.1-X-8 mcpd-a.2-Y-1 mcpd-b.1-X-1 user"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
