package chaos

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// steady is what a host holds when nobody uses it. After a fault has healed it must hold the same (I6, I7).
type steady struct {
	goroutines, files  float64
	sessions, inFlight float64
	children           []int
}

func (s steady) String() string {
	return fmt.Sprintf("%v goroutines, %v files, %v sessions, %v requests in flight, children %v", s.goroutines, s.files, s.sessions, s.inFlight, s.children)
}

// reads is how often the host is measured before its least counts as what it holds: to be measured takes up to three goroutines and a
// connection, in one reading out of several fewer.
const reads = 25

// measure reads once.
func (a *arena) measure() steady {
	a.t.Helper()
	text := a.ask("GET", "/metrics", "")
	return steady{
		sum(a, text, "go_goroutines"), sum(a, text, "process_open_fds"), sum(a, text, "mcpd_sessions"), sum(a, text, "mcpd_requests_in_flight"),
		children(a.PID()),
	}
}

// rest waits until nobody uses the host, and returns what it holds then.
func (a *arena) rest() steady {
	a.t.Helper()
	a.eventually("unused", func() bool { now := a.measure(); return now.sessions == 0 && now.inFlight == 0 })
	least := a.measure()
	for range reads {
		now := a.measure()
		least.goroutines, least.files = min(least.goroutines, now.goroutines), min(least.files, now.files)
		least.children = now.children
	}
	return least
}

// settles checks that the host comes back to what it held before, with as many children, of which some may be others.
func (a *arena) settles(before steady) {
	a.t.Helper()
	now := a.measure()
	defer func() {
		if a.t.Failed() {
			a.t.Logf("before: %v\nnow:    %v", before, now)
		}
	}()
	a.eventually("back at what it held before", func() bool {
		next := a.measure()
		next.goroutines, next.files = min(now.goroutines, next.goroutines), min(now.files, next.files)
		now = next
		return now.goroutines <= before.goroutines && now.files <= before.files && now.sessions == 0 && now.inFlight == 0 &&
			len(now.children) == len(before.children)
	})
	for _, pid := range now.children {
		if s := stat(pid); s != nil && s[0] == "Z" {
			a.t.Errorf("child %d is a zombie", pid)
		}
	}
}

// children are the processes below a process, its own children and theirs, sorted.
func children(root int) []int {
	parents := map[int]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if s := stat(pid); s != nil {
				parents[pid], _ = strconv.Atoi(s[1])
			}
		}
	}
	var found []int
	for pid := range parents {
		for up := parents[pid]; up > 1; up = parents[up] {
			if up == root {
				found = append(found, pid)
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

// stat is what /proc/PID/stat says behind the name: state, parent and so on. It is nil when there is no such process.
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}
