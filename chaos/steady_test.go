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
	goroutines float64
	files      float64
	sessions   float64
	inFlight   float64
	children   []int
}

func (s steady) String() string {
	return fmt.Sprintf("%v goroutines, %v files, %v sessions, %v requests in flight, children %v", s.goroutines, s.files, s.sessions, s.inFlight, s.children)
}

// steady measures. Reading it twice with the same outcome says that the host has come to rest.
func (a *arena) steady() steady {
	a.t.Helper()
	read := func() steady {
		return steady{
			a.metric("go_goroutines"), a.metric("process_open_fds"), a.metric("mcpd_sessions"), a.metric("mcpd_requests_in_flight"), children(a.PID()),
		}
	}
	last := read()
	a.eventually("at rest", func() bool {
		next := read()
		same := next.String() == last.String() && next.sessions == 0
		last = next
		return same
	})
	return last
}

// settles checks that the host comes back to what it held before, with as many children, of which some may be others.
func (a *arena) settles(before steady) {
	a.t.Helper()
	var now steady
	defer func() {
		if a.t.Failed() {
			a.t.Logf("before: %v\nnow:    %v", before, now)
		}
	}()
	a.eventually("back at what it held before", func() bool {
		now = a.steady()
		return now.goroutines <= before.goroutines && now.files <= before.files && now.inFlight == 0 && len(now.children) == len(before.children)
	})
	for _, pid := range now.children {
		if state := stat(pid)[0]; state == "Z" {
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
