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

// holding counts what a host holds.
type holding struct {
	children, files, sessions int
	subscriptions             int    // at the test's own server
	goroutines                string // number of goroutines by function, a line each
}

const (
	// idleConnReader is the function that reads from a connection to a server while the connection is
	// kept for the next request. The number of kept connections depends on the last requests.
	idleConnReader = "net/http.(*persistConn).readLoop"
	// runner is the function that actors run on. Idle runners are kept for actors with work, and are
	// subtracted.
	runner = "mcpd/supervisor/otp.(*runners).run"
)

// uncounted are the functions of goroutines that come and go by themselves, with the reason.
var uncounted = map[string]string{
	"": "the runtime's",
	"net/http.(*conn).serve": "serves whoever asks for this; clients' connections " +
		"are descriptors, and counted as such",
	"net/http.(*connReader).backgroundRead": "the same",
	idleConnReader:                          "taken off the descriptors",
	"net/http.(*persistConn).writeLoop":     "the same",
}

func (h *host) currentHolding() holding {
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
		if uncounted[runs] == "" {
			lines = append(lines, fmt.Sprintf("%s %d", runs, running[runs]))
		}
	}
	return holding{
		children: len(h.Processes()),
		files: len(files) - running[idleConnReader] -
			int(h.metric("mcpd_upstream_idle_connections")),
		sessions:      int(h.metric("mcpd_sessions{")),
		subscriptions: subscriptionsOf(h.t, h.effects), goroutines: strings.Join(lines, "\n"),
	}
}

// metric returns the sum of the samples that begin with begin.
func (h *host) metric(begin string) float64 {
	h.t.Helper()
	text, err := h.admin(http.MethodGet, "/metrics", admin.Read, "")
	if err != nil {
		h.t.Fatal(err)
	}
	return mcptest.SumMetric(h.t, text, begin)
}

// baseline uses everything once and returns what the host holds when all clients have left: its
// server runs, and there are no sessions.
func (h *host) baseline() holding {
	h.t.Helper()
	s := h.sessions(1, note)
	subscribe(h.t, s[0])
	if _, err := s[0].Call(h.t.Context(), "baseline-"+load.Nonce(strconv.Itoa(h.PID()))); err != nil {
		h.t.Fatal(err)
	}
	closeSessions(h.t, s)
	return h.holdingAtRest()
}

// baselineOf is baseline for other endpoints of the test's own server.
func (h *host) baselineOf(paths ...string) holding {
	h.t.Helper()
	for _, path := range paths {
		s := h.open(1, path, load.SessionOptions{Tool: note, Argument: "text"})
		if _, err := s[0].Call(h.t.Context(),
			load.Nonce(fmt.Sprintf("baseline-%d-%s", h.PID(), path))); err != nil {
			h.t.Fatal(err)
		}
		closeSessions(h.t, s)
	}
	return h.holdingAtRest()
}

// holdingAtRest returns what the host holds once that no longer changes.
func (h *host) holdingAtRest() (now holding) {
	h.t.Helper()
	eventually(h.t, "at rest", func() bool {
		before := now
		// Connections that were closed at the other end are released meanwhile.
		time.Sleep(100 * time.Millisecond)
		now = h.currentHolding()
		return now == before && now.sessions == 0 && now.subscriptions == 0
	})
	return now
}

// timeToBaseline returns how long it takes until the host holds the same as before.
func (h *host) timeToBaseline(before holding) time.Duration {
	h.t.Helper()
	start := time.Now()
	var now holding
	defer func() {
		if h.t.Failed() {
			h.t.Logf("before: %+v\nnow: %+v", before, now)
		}
	}()
	eventually(h.t, "back at what it held before", func() bool {
		now = h.currentHolding()
		return now == before
	})
	return time.Since(start)
}

// event is a line of the log, with the fields that the tests read.
type event struct {
	Time  time.Time `json:"ts"`
	Event string    `json:"event"`
	Path  string    `json:"path"`
	PID   int       `json:"pid"`
}

// events returns the events with a name from the log, oldest first.
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
