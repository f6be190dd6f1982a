package resilience

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpd/internal/load"
	"mcpd/internal/mcptest"
	"mcpd/telemetry/admin"
)

// holding is what a host holds.
type holding struct {
	children, files, sessions int
	subscriptions             int    // at the test's own server
	goroutines                string // how many run what, a line each
}

const (
	// idle is what reads a connection to a server that is kept for the next request: how many there are is for those to say who came last.
	idle = "net/http.(*persistConn).readLoop"
	// runner is what actors run on. Those that wait for one that has something to do are kept, and are taken off.
	runner = "mcpd/supervisor/otp.(*runners).run"
)

// passing are goroutines that come and go by themselves, by what they run.
var passing = map[string]string{
	"":                                      "the runtime's",
	"net/http.(*conn).serve":                "serves whoever asks for this; clients' connections are descriptors, and counted as such",
	"net/http.(*connReader).backgroundRead": "the same",
	idle:                                    "taken off the descriptors",
	"net/http.(*persistConn).writeLoop":     "the same",
}

func (h *host) holds() holding {
	h.t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.PID()))
	if err != nil {
		h.t.Fatal(err)
	}
	profile, err := h.admin(http.MethodGet, "/debug/pprof/goroutine?debug=1", admin.Write, "")
	if err != nil {
		h.t.Fatal(err)
	}
	running := mcptest.Goroutines(profile)
	running[runner] -= int(h.metric("mcpd_actor_idle_runners"))
	var lines []string
	for _, runs := range slices.Sorted(maps.Keys(running)) {
		if passing[runs] == "" {
			lines = append(lines, fmt.Sprintf("%s %d", runs, running[runs]))
		}
	}
	return holding{
		children: len(h.Processes()), files: len(files) - running[idle] - int(h.metric("mcpd_upstream_idle_connections")), sessions: int(h.metric("mcpd_sessions{")),
		subscriptions: subscriptionsOf(h.t, h.effects), goroutines: strings.Join(lines, "\n"),
	}
}

// metric is the sum of the samples of a metric that begin so.
func (h *host) metric(begin string) float64 {
	h.t.Helper()
	text, err := h.admin(http.MethodGet, "/metrics", admin.Read, "")
	if err != nil {
		h.t.Fatal(err)
	}
	return mcptest.Total(h.t, text, begin)
}

// baseline is what the host holds when everything was used once and nobody is there: its server runs, there are no sessions.
func (h *host) baseline() holding {
	h.t.Helper()
	s := h.sessions(1, note)
	subscribe(h.t, s[0])
	if _, err := s[0].Call(h.t.Context(), "baseline-"+load.Nonce(strconv.Itoa(h.PID()))); err != nil {
		h.t.Fatal(err)
	}
	leave(h.t, s)
	return h.rest()
}

// baselineOf is baseline for endpoints of the test's own server, whatever it is called.
func (h *host) baselineOf(paths ...string) holding {
	h.t.Helper()
	for _, path := range paths {
		s := h.open(1, path, load.SessionOptions{Tool: note, Argument: "text"})
		if _, err := s[0].Call(h.t.Context(), load.Nonce(fmt.Sprintf("baseline-%d-%s", h.PID(), path))); err != nil {
			h.t.Fatal(err)
		}
		leave(h.t, s)
	}
	return h.rest()
}

// rest is what the host holds when nothing of it changes any more.
func (h *host) rest() (now holding) {
	h.t.Helper()
	eventually(h.t, "at rest", func() bool {
		before := now
		time.Sleep(100 * time.Millisecond) // in which connections that were closed at the other end are let go of
		now = h.holds()
		return now == before && now.sessions == 0 && now.subscriptions == 0
	})
	return now
}

// settles says how long it takes until the host holds what it held before.
func (h *host) settles(before holding) time.Duration {
	h.t.Helper()
	start := time.Now()
	var now holding
	defer func() {
		if h.t.Failed() {
			h.t.Logf("before: %+v\nnow: %+v", before, now)
		}
	}()
	eventually(h.t, "back at what it held before", func() bool {
		now = h.holds()
		return now == before
	})
	return time.Since(start)
}

// event is a line of the log, as much of it as is looked at.
type event struct {
	Time  time.Time `json:"ts"`
	Event string    `json:"event"`
	Path  string    `json:"path"`
	PID   int       `json:"pid"`
}

// events are the log's events of a name, oldest first.
func (h *host) events(name string) (found []event) {
	h.t.Helper()
	for lines := bufio.NewScanner(strings.NewReader(h.Log())); lines.Scan(); {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Event == name {
			found = append(found, e)
		}
	}
	return found
}
