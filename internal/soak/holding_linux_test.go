package soak

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// holding counts what a host holds, by name.
type holding map[string]int

// mayDiffer names what may have grown since the first quiet sample, with the reason.
var mayDiffer = map[string]string{
	"goroutines of the runtime": "the runtime starts its own as it needs " +
		"them, and keeps them",
	"goroutines of net/http.(*conn).serve": "connections of the clients and of this " +
		"test come and go: an SDK closes its own when it likes",
	"goroutines of net/http.(*connReader).backgroundRead": "the same",
	"goroutines of net/http.(*persistConn).readLoop": "connections that are kept for the next " +
		"request to a server behind a URL, for 90 s at most",
	"goroutines of net/http.(*persistConn).writeLoop": "the same",
	"goroutines of mcpd/supervisor/otp.(*runners).run": "those without work are kept for the next " +
		"burst; the number of idle ones is taken off",
	"MiB of memory": "what a Go program has had it gives back when the system asks for it",
}

// gauges are metrics that count what the host holds.
var gauges = map[string]string{
	"sessions": "mcpd_sessions{", "streams": "mcpd_streams", "peers": "mcpd_peers",
	"subscriptions":    "mcpd_subscriptions",
	"bytes of history": "mcpd_history_bytes", "requests in flight": "mcpd_requests_in_flight{",
	"starts that wait": "mcpd_spawn_queue",
}

// families are metrics that are compared for each value of a label.
var families = map[string]struct{ metric, label string }{
	"rows": {"mcpd_actors", "class"}, "messages": {"mcpd_actor_messages", "class"},
	"monitors": {"mcpd_actor_monitors", "class"},
	"watchers": {"mcpd_actor_watchers", "class"}, "timers": {"mcpd_actor_timers", "class"},
	"pending replies": {"mcpd_actor_pending_replies", "class"},
	"reserved bytes":  {"mcpd_reserved_bytes", "budget"},
	"kept bytes":      {"mcpd_kept_bytes", "kind"}, "kept records": {"mcpd_kept_records", "kind"},
}

// labelled adds up the samples of a metric by the value of a label.
func labelled(metrics, metric, label string) map[string]float64 {
	sums := map[string]float64{}
	for _, found := range regexp.MustCompile(`(?m)^`+metric+`\{(?:[^}]*,)?`+label+
		`="([^"]*)"[^}]*\} (\S+)`).FindAllStringSubmatch(metrics, -1) {
		n, _ := strconv.ParseFloat(found[2], 64)
		sums[found[1]] += n
	}
	return sums
}

func TestLabelled(t *testing.T) {
	got := labelled(
		"m{tenant=\"a\",kind=\"x\"} 1\nm{kind=\"x\",z=\"1\"} 2\nm{kind=\"y\"} 1e3\nmm{kind=\"y\"} 5\n",
		"m", "kind",
	)
	if want := map[string]float64{"x": 3, "y": 1000}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// holds returns what the host holds now.
func (r *rig) holds() holding {
	r.t.Helper()
	metrics, err := r.admin(http.MethodGet, "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	profile, err := r.admin(http.MethodGet, "/debug/pprof/goroutine?debug=1")
	if err != nil {
		r.t.Fatal(err)
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.PID()))
	if err != nil {
		r.t.Fatal(err)
	}
	now := holding{"processes": len(r.Processes()), "MiB of memory": residentMiB(r.PID())}
	for name, begin := range gauges {
		now[name] = int(mcptest.SumMetric(r.t, metrics, begin))
	}
	for family, of := range families {
		for label, n := range labelled(metrics, of.metric, of.label) {
			now[family+" of "+label] = int(n)
		}
	}
	running := mcptest.Goroutines(profile)
	now["descriptors"] = len(files) - running["net/http.(*conn).serve"] -
		running["net/http.(*persistConn).readLoop"] -
		int(mcptest.SumMetric(r.t, metrics, "mcpd_upstream_idle_connections"))
	for runs, n := range running {
		if runs == "" {
			runs = "the runtime"
		}
		now["goroutines of "+runs] = n
	}
	return now
}

func residentMiB(pid int) (mib int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, resident int
	_, _ = fmt.Sscan(string(text), &size, &resident)
	return resident * os.Getpagesize() >> 20
}

// restTime bounds the wait until a host without clients is at rest. The host forgets a client
// without a session some time after its last request.
const restTime = 3 * time.Minute

// holdingAtRest returns what the host holds once that has not changed for a second and all clients
// are forgotten, or after restTime.
func (r *rig) holdingAtRest() (now holding) {
	r.t.Helper()
	for end := time.Now().Add(restTime); time.Now().Before(end); {
		before := now
		time.Sleep(time.Second)
		now = r.holds()
		if len(grown(before, now)) == 0 && len(grown(now, before)) == 0 &&
			now["sessions"]+now["peers"] == 0 {
			break
		}
	}
	return now
}

// difference is a count that differs between two holdings.
type difference struct {
	name          string
	before, after int
}

// grown returns the counts that have grown, except those in mayDiffer.
func grown(before, after holding) (all []difference) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if after[name] > before[name] && mayDiffer[name] == "" {
			all = append(all, difference{name, before[name], after[name]})
		}
	}
	return all
}

func TestMore(t *testing.T) {
	before := holding{"sessions": 1, "gone": 1, "MiB of memory": 1}
	got := grown(before, holding{"sessions": 2, "goroutines of x": 1, "MiB of memory": 2})
	if want := []difference{{"goroutines of x", 0, 1}, {"sessions", 1, 2}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
