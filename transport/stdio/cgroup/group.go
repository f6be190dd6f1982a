package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Lacks returns which of the limits cannot be enforced here, nil if all can.
func (t *Tree) Lacks(l Limits) error {
	for _, c := range []struct {
		name  string
		limit uint64
	}{{memory, l.Memory}, {pids, l.Processes}} {
		if c.limit > 0 && t.base[c.name] == "" {
			return fmt.Errorf("there is no group of the controller for %s that could be written", c.name)
		}
	}
	return nil
}

// prepare makes groups with limits possible: it moves the processes of our own group, all of which
// are ours, into a leaf of the group.
func (t *Tree) prepare() error {
	base := t.base[memory]
	enabled, err := os.ReadFile(filepath.Join(base, "cgroup.subtree_control"))
	if err != nil {
		return err
	}
	if on := strings.Fields(string(enabled)); slices.Contains(on, memory) &&
		slices.Contains(on, pids) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(base, "cgroup.type")); err == nil {
		to := filepath.Join(base, leaf)
		if err := makeDir(to); err != nil {
			return err
		}
		for _, pid := range processes(base) {
			// ESRCH means that the process has ended.
			if err := put(to, "cgroup.procs", strconv.Itoa(pid)); err != nil &&
				!errors.Is(err, syscall.ESRCH) {
				return err
			}
		}
	}
	return put(base, "cgroup.subtree_control", "+memory +pids")
}

// Group is one control group.
type Group struct {
	tree   *Tree
	limits Limits
	dirs   map[string]string // by controller; with version 2 they are equal
	dir    *os.File          // set with version 2
}

// New makes a group of this name for a program that is about to be started. It leaves out limits
// that Lacks reports.
func (t *Tree) New(name string, l Limits) (*Group, error) {
	name = prefix + strings.ReplaceAll(name, "/", "-")
	g := &Group{tree: t, limits: l, dirs: map[string]string{}}
	if t.unified {
		if err := t.prepare(); err != nil {
			return nil, err
		}
	}
	err := g.make(name)
	if err == nil && t.unified {
		g.dir, err = os.Open(g.dirs[memory])
	}
	if err != nil {
		g.Remove(0)
		return nil, err
	}
	return g, nil
}

func (g *Group) make(name string) error {
	for controller, base := range g.tree.base {
		dir := filepath.Join(base, name)
		if err := makeDir(dir); err != nil {
			return err
		}
		g.dirs[controller] = dir
	}
	limit := strconv.FormatUint(g.limits.Memory, 10)
	switch {
	case g.limits.Memory == 0 || g.dirs[memory] == "":
	case g.tree.unified:
		if err := put(g.dirs[memory], "memory.max", limit); err != nil {
			return err
		}
		_ = put(g.dirs[memory], "memory.swap.max", "0") // the file does not exist without swap
		// A server with some processes killed is of no use, so the kernel kills all. Before Linux 4.19
		// the server itself must handle that.
		_ = put(g.dirs[memory], "memory.oom.group", "1")
	default:
		if err := put(g.dirs[memory], "memory.limit_in_bytes", limit); err != nil {
			return err
		}
		_ = put(g.dirs[memory], "memory.memsw.limit_in_bytes", limit) // not every kernel counts swap
	}
	return nil
}

// FD is the descriptor of the group that a program is started into, with version 2; -1 otherwise.
func (g *Group) FD() int {
	if g == nil || g.dir == nil {
		return -1
	}
	return int(g.dir.Fd())
}

// Around calls start, which starts a program. With version 1 the calling thread is in the group
// meanwhile, so that the program is in it from its first instruction on. The caller has locked the
// thread and passes its id. The error is that of moving the thread or setting the limit.
func (g *Group) Around(thread int, start func()) error {
	if g == nil {
		start()
		return nil
	}
	id := strconv.Itoa(thread)
	var err error
	if !g.tree.unified {
		for _, dir := range g.dirs {
			err = errors.Join(err, put(dir, "tasks", id))
		}
	}
	if err == nil {
		start()
	}
	if !g.tree.unified {
		for _, base := range g.tree.base {
			err = errors.Join(err, put(base, "tasks", id))
		}
	}
	// The limit is set now, because the thread would have counted.
	if dir := g.dirs[pids]; dir != "" && g.limits.Processes > 0 && err == nil {
		err = put(dir, "pids.max", strconv.FormatUint(g.limits.Processes, 10))
	}
	return err
}

// Hit returns which of its limits the group has reached: the kernel has killed one of its processes
// for lack of memory, or has refused it another process. The other limits are 0.
func (g *Group) Hit() (hit Limits) {
	if g == nil {
		return hit
	}
	events := "memory.oom_control"
	if g.tree.unified {
		events = "memory.events"
	}
	if happened(g.dirs[memory], events, "oom_kill") {
		hit.Memory = g.limits.Memory
	}
	if happened(g.dirs[pids], "pids.events", "max") {
		hit.Processes = g.limits.Processes
	}
	return hit
}

// happened reports whether the counter of an event is not zero.
func happened(dir, file, event string) bool {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if name, count, _ := strings.Cut(strings.TrimSpace(line), " "); name == event {
			return count != "0"
		}
	}
	return false
}

// Kill ends every process of the group at once, where the kernel can (Linux 5.14, version 2).
func (g *Group) Kill() {
	if g != nil && g.tree.unified {
		_ = put(g.dirs[memory], "cgroup.kill", "1")
	}
}

// Remove removes the group, and waits up to limit for its last processes to end. It reports whether
// the group is gone.
func (g *Group) Remove(limit time.Duration) bool {
	if g == nil {
		return true
	}
	if g.dir != nil {
		g.dir.Close()
	}
	end := time.Now().Add(limit)
	empty := true
	for _, dir := range g.dirs {
		empty = remove(dir, end) && empty
	}
	return empty
}

func remove(dir string, end time.Time) bool {
	for pause := removePause; ; pause *= 2 {
		if err := os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return true
		}
		remaining := time.Until(end)
		if remaining <= 0 {
			return false
		}
		time.Sleep(min(pause, remaining))
	}
}

// Sweep removes the groups of earlier daemons: those whose names, as given to New, begin with
// earlier and not with own. With version 2 it first kills the processes in a group. It returns how
// many groups it could not remove within limit.
func (t *Tree) Sweep(earlier, own string, limit time.Duration) (remaining int) {
	if t == nil {
		return 0
	}
	begin, ours := prefix+strings.ReplaceAll(earlier, "/", "-"), prefix+
		strings.ReplaceAll(own, "/", "-")
	end := time.Now().Add(limit)
	done := map[string]bool{}
	for _, base := range t.base {
		entries, err := os.ReadDir(base)
		if err != nil || done[base] {
			continue
		}
		done[base] = true
		for _, e := range entries {
			if !e.IsDir() || !strings.HasPrefix(e.Name(), begin) || strings.HasPrefix(e.Name(), ours) {
				continue
			}
			dir := filepath.Join(base, e.Name())
			if t.unified {
				_ = put(dir, "cgroup.kill", "1")
			}
			if !remove(dir, end) {
				remaining++
			}
		}
	}
	return remaining
}

// put writes one value into a file of a group.
func put(dir, file, value string) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644)
}

func makeDir(dir string) error {
	if err := os.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// processes lists the processes of a group.
func processes(dir string) (list []int) {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil
	}
	for _, field := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(field); err == nil {
			list = append(list, pid)
		}
	}
	return list
}
