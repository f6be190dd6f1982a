package chaos

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// steady is what an idle host holds. It excludes holdings that are counted separately: goroutines
// that wait for an actor, and connections that wait for a request. After a fault has healed, the
// host must hold the same (I6, I7).
type steady struct {
	goroutines, files  float64
	sessions, inFlight float64
	children           []int
}

func (s steady) String() string {
	return fmt.Sprintf("%v goroutines, %v files, %v sessions, %v requests in flight, children %v",
		s.goroutines, s.files, s.sessions, s.inFlight, s.children)
}

// reads is how often the host is measured; the median is used. A measurement itself needs
// goroutines and a connection, and their number varies by one now and then.
const reads = 25

// measure measures once.
func (a *arena) measure() steady {
	a.t.Helper()
	text := a.ask("GET", "/metrics", "")
	return steady{
		sum(a, text, "go_goroutines") - sum(a, text, "mcpd_actor_idle_runners"),
		sum(a, text, "process_open_fds") - sum(a, text, "mcpd_upstream_idle_connections"),
		sum(a, text, "mcpd_sessions"), sum(a, text, "mcpd_requests_in_flight"), children(a.PID()),
	}
}

// middle returns the median of several measurements.
func (a *arena) middle() steady {
	a.t.Helper()
	var goroutines, files []float64
	var last steady
	for range reads {
		last = a.measure()
		goroutines, files = append(goroutines, last.goroutines), append(files, last.files)
	}
	slices.Sort(goroutines)
	slices.Sort(files)
	last.goroutines, last.files = goroutines[reads/2], files[reads/2]
	return last
}

// rest waits until the host is idle and its holdings no longer change, and returns them.
func (a *arena) rest() steady {
	a.t.Helper()
	var last steady
	a.eventually("at rest", func() bool {
		before := last
		last = a.middle()
		return last.sessions == 0 && last.inFlight == 0 && last.String() == before.String()
	})
	return last
}

// settles checks that the host returns to what it held before, with as many children, which may be
// other processes.
func (a *arena) settles(before steady) {
	a.t.Helper()
	var now steady
	defer func() {
		if a.t.Failed() {
			a.t.Logf("before: %v\nnow:    %v", before, now)
		}
	}()
	a.eventually("back at what it held before", func() bool {
		now = a.middle()
		return now.goroutines <= before.goroutines && now.files <= before.files && now.sessions == 0 &&
			now.inFlight == 0 &&
			len(now.children) == len(before.children)
	})
	for _, pid := range now.children {
		if s := stat(pid); s != nil && s[0] == "Z" {
			a.t.Errorf("child %d is a zombie", pid)
		}
	}
}

// children returns the descendants of a process, sorted.
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
			if up == root && !guards(pid) {
				found = append(found, pid)
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

// guards reports whether a process is the guard of the host. The guard ends the remaining servers
// when the host is killed.
func guards(pid int) bool {
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return bytes.Contains(environ, []byte("MCPD_GUARD="))
}

// stat returns the fields of /proc/PID/stat after the name: state, parent and so on. It is nil when
// there is no such process.
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}
