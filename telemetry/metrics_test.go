package telemetry

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/supervisor/otp"
)

func here() []uintptr {
	pcs := make([]uintptr, 8)
	return pcs[:runtime.Callers(1, pcs)]
}

// value returns the value of one series in a scrape, or 0 if the scrape does not have the series.
func value(t *testing.T, m *Metrics, name string, labels ...string) float64 {
	t.Helper()
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, series := range f.GetMetric() {
			if slices.Equal(inOrder(name, series.GetLabel()), labels) {
				return series.GetCounter().GetValue() + series.GetGauge().GetValue() +
					float64(series.GetHistogram().GetSampleCount())
			}
		}
	}
	return 0
}

// inOrder returns the label values of a series in the order of the table.
func inOrder(name string, pairs []*dto.LabelPair) []string {
	i := slices.IndexFunc(metrics, func(m metric) bool { return m.name == name })
	var out []string
	for _, want := range metrics[i].labels {
		for _, p := range pairs {
			if p.GetName() == want {
				out = append(out, p.GetValue())
			}
		}
	}
	return out
}

// Names follow the conventions of Prometheus: a prefix, base units, and _total for counters only.
func TestMetricNames(t *testing.T) {
	units := regexp.MustCompile(`_(seconds|bytes|ratio)(_total)?$`)
	seen := make(map[string]bool)
	for _, m := range metrics {
		if !snake.MatchString(m.name) ||
			!strings.HasPrefix(m.name, "mcpd_") && !strings.HasPrefix(m.name, "mcp_") {
			t.Errorf("%s: want snake case with the prefix mcpd_, or mcp_ for names of the convention",
				m.name)
		}
		if seen[m.name] {
			t.Errorf("%s: twice", m.name)
		}
		seen[m.name] = true
		if isCounter := m.kind == counter; strings.HasSuffix(m.name, "_total") != isCounter {
			t.Errorf("%s is a %s: _total is for counters", m.name, m.kind)
		}
		if match := units.FindStringSubmatch(m.name); match != nil && match[1] != m.unit ||
			match == nil && m.unit != "" {
			t.Errorf("%s: unit %q is not the name's", m.name, m.unit)
		}
		if m.kind == histogram && m.unit == "" {
			t.Errorf("%s: a histogram has a unit", m.name)
		}
		if m.help == "" || strings.HasSuffix(m.help, ".") {
			t.Errorf("%s: help %q: want a sentence without a period", m.name, m.help)
		}
		for _, l := range m.labels {
			if !snake.MatchString(l) ||
				slices.Contains([]string{"le", "quantile", "session", "exchange", "path", "tool", "uri"}, l) {
				t.Errorf("%s: label %q is reserved, unbounded, or not snake case", m.name, l)
			}
		}
		if (m.direct == "") == (len(m.from) == 0) {
			t.Errorf("%s: fed by %d kinds of event and %q, want one or the other", m.name,
				len(m.from), m.direct)
		}
	}
	for name, bounds := range buckets {
		if name != "" && !seen[name] || !slices.IsSorted(bounds) {
			t.Errorf("buckets of %q: unknown or not sorted", name)
		}
	}
}

// The names of the requirements have a metric: S4-134, S4-135, S4-136, S4-137.
func TestRequiredMetricsExist(t *testing.T) {
	for _, want := range []string{
		"mcp.protocol.version.negotiated (S4-134)", "mcp.phase.transitions (S4-135)",
		"mcp.requests.pending (S4-136)", "mcp.errors.total (S4-137)",
	} {
		if !slices.ContainsFunc(metrics, func(m metric) bool { return m.also == want }) {
			t.Errorf("no metric for %s", want)
		}
	}
}

// Prometheus' own linter accepts the result of a scrape.
func TestScrapePassesPromlint(t *testing.T) {
	m := busy()
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "mcp") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	for _, row := range metrics {
		if !slices.Contains(names, row.name) {
			t.Errorf("%s: not in a scrape of a host in which everything has happened", row.name)
		}
	}
}

// busy returns the metrics of a host in which everything has happened once.
func busy() *Metrics {
	m := NewMetrics(MetricsOptions{
		Version: "1.0.0", Commit: "abc", GoVersion: "go1.26",
		Tree: func() otp.Node { return sampleTree },
		Readiness: func(tree otp.Node) Readiness {
			return Readiness{
				"degraded", []string{"ready", "degraded"}, map[string]bool{"log": false, tree.ID: true},
			}
		},
		Queues:   func() iter.Seq[Queue] { return slices.Values([]Queue{{"events", 3, 4}}) },
		Sessions: func() iter.Seq[*mcpdv1.Session] { return slices.Values(sampleSessions) },
		Faults:   func() int { return 2 },
		Config:   func() string { return "0123456789abcdef" },
		Spawns:   func() (int, uint64) { return 3, 7 },
		IdleRunners: func() int {
			return 5
		}, IdleUpstream: func() int { return 6 }, History: func() int64 { return 8 },
		Certificate: func() (time.Duration, bool) { return time.Minute, true },
		Kept: func() iter.Seq[KeptBytes] {
			return slices.Values([]KeptBytes{{"acme", "tasks", 9}})
		},
		Reserved: func() iter.Seq2[string, int64] {
			return func(yield func(string, int64) bool) { _ = yield("answers", 20) && yield("answers", 22) }
		},
		Records: func() iter.Seq2[string, int] {
			return func(yield func(string, int) bool) {
				_ = yield("known_servers", 3) && yield("parked_sessions", 1)
			}
		},
		KnownMethod: func(s string) bool { return s == "tools/call" },
	})
	r := NewRecorder(Options{Metrics: m})
	for _, row := range events {
		r.Emit(row.event)
	}
	r.Emit(SessionClosed{Age: time.Second})
	r.Emit(UpstreamReady{Start: time.Second, Down: time.Second})
	r.Emit(ChildRestarted{Took: time.Second})
	h := m.Requests("acme", "files", "tools/call")
	h.Begin()
	h.End(OutcomeOK, time.Second, time.Millisecond)
	m.Error(-32601)
	return m
}

// numbered is a connection that has used up a share of its request IDs.
type numbered struct {
	UpstreamStatus
	used float64
}

func (n numbered) RequestIDUsage() float64 { return n.used }

func (n numbered) Records(yield func(string, int) bool) { yield("parked_sessions", 2) }

var sampleTree = otp.Node{ID: "mcpd", Type: otp.SupervisorType, Label: "root", Status: otp.Running,
	Isolated: 3, Children: []otp.Node{
		{ID: "a", Label: "upstream", Status: otp.Running, Mailbox: 3,
			Holds: otp.Holdings{Monitors: 20, Watchers: 30, Timers: 40, Replies: 50},
			Extra: UpstreamStatus{Tenant: "acme", Server: "files", State: StateReady}},
		{ID: "b", Label: "upstream", Status: otp.Running, Mailbox: 7,
			Holds: otp.Holdings{Monitors: 2, Watchers: 3, Timers: 4, Replies: 5},
			Extra: UpstreamStatus{Tenant: "acme", Server: "files", State: StateBackoff}},
		{ID: "c", Label: "upstream", Status: otp.Stopped, Extra: UpstreamStatus{
			Tenant: "acme", Server: "search", State: StateCrashLoop,
		}},
		{ID: "d", Status: otp.Running, Extra: "another actor's status"},
		{ID: "t", Status: otp.Stopped, Extra: TenantStatus{Tenant: "globex", State: "paused"}},
		{ID: "e", Label: "connection", Status: otp.Running, Extra: numbered{
			UpstreamStatus{Tenant: "acme", Server: "files", State: StateReady}, 0.25,
		}},
		{ID: "f", Label: "connection", Status: otp.Running, Extra: numbered{
			UpstreamStatus{Tenant: "acme", Server: "files", State: StateReady}, 0.5,
		}},
	}}

var sampleSessions = []*mcpdv1.Session{
	{Era: "legacy", Streams: 2, Subscriptions: 3}, {Era: "legacy"},
	{Era: "modern", Streams: 1, Subscriptions: 1},
}

func TestScrapeReadsStates(t *testing.T) {
	m := busy()
	tests := []struct {
		name   string
		labels []string
		want   float64
	}{
		{"mcpd_build_info", []string{"1.0.0", "abc", "go1.26"}, 1},
		{"mcpd_host_state", []string{"ready"}, 0},
		{"mcpd_host_state", []string{"degraded"}, 1},
		{"mcpd_readiness_check", []string{"log"}, 0},
		{"mcpd_readiness_check", []string{"mcpd"}, 1},
		{"mcpd_tls_certificate_expiry_seconds", nil, 60},
		{"mcpd_spawn_queue", nil, 3},
		{"mcpd_queue_high_water", []string{"events"}, 3},
		{"mcpd_queue_limit", []string{"events"}, 4},
		{"mcpd_spawns_delayed_total", nil, 7},
		{"mcpd_upstream_up", []string{"acme", "files"}, 1},
		{"mcpd_upstream_up", []string{"acme", "search"}, 0},
		{"mcpd_upstream_request_id_usage_ratio", []string{"acme", "files"}, 0.5},
		{"mcpd_actors", []string{"upstream", "running"}, 2},
		{"mcpd_actors", []string{"upstream", "stopped"}, 1},
		{"mcpd_actors", []string{"worker", "running"}, 1},
		{"mcpd_actor_hung", nil, 3},
		{"mcpd_actor_idle_runners", nil, 5},
		{"mcpd_upstream_idle_connections", nil, 6},
		{"mcpd_history_bytes", nil, 8},
		{"mcpd_actor_mailbox_depth", []string{"upstream"}, 7},
		{"mcpd_actor_messages", []string{"upstream"}, 10},
		{"mcpd_actor_monitors", []string{"upstream"}, 22},
		{"mcpd_actor_watchers", []string{"upstream"}, 33},
		{"mcpd_actor_timers", []string{"upstream"}, 44},
		{"mcpd_actor_pending_replies", []string{"upstream"}, 55},
		{"mcpd_reserved_bytes", []string{"answers"}, 42},
		{"mcpd_kept_records", []string{"parked_sessions"}, 5},
		{"mcpd_kept_records", []string{"known_servers"}, 3},
		{"mcpd_sessions", []string{"legacy"}, 2},
		{"mcpd_streams", nil, 3},
		{"mcpd_subscriptions", nil, 4},
		{"mcpd_chaos_faults_active", nil, 2},
		{"mcpd_errors_total", []string{"-32601"}, 1},
		{"mcpd_actor_restart_duration_seconds", []string{""}, 1},
		{"mcpd_upstream_restart_to_ready_seconds", nil, 1}, // a first start does not count
	}
	for _, test := range tests {
		if got := value(t, m, test.name, test.labels...); got != test.want {
			t.Errorf("%s%v = %v, want %v", test.name, test.labels, got, test.want)
		}
	}
}

func TestCrashReasonsAreWords(t *testing.T) {
	tests := []struct {
		event ChildCrashed
		want  string
	}{
		{ChildCrashed{Injected: "fault-1", Report: &otp.CrashReport{PCs: here()}}, "injected"},
		{ChildCrashed{Reason: "whatever a peer said", Report: &otp.CrashReport{PCs: here()}}, "panic"},
		{ChildCrashed{Reason: "stuck", Report: &otp.CrashReport{PCs: here(), Reason: otp.ErrStuck}},
			"stuck"},
		{ChildCrashed{Reason: "whatever", Report: &otp.CrashReport{Reason: errors.New("x")}}, "error"},
		{ChildCrashed{}, "error"},
	}
	for _, test := range tests {
		if got := crashReason(test.event); got != test.want {
			t.Errorf("crashReason(%+v) = %q, want %q", test.event, got, test.want)
		}
	}
}

// A peer that makes up words cannot create an unbounded number of series.
func TestSeriesAreBounded(t *testing.T) {
	m := NewMetrics(MetricsOptions{})
	for i := range 2 * MaxSeries {
		m.count(UpstreamExited{
			Where: Where{Tenant: "acme", Server: "files"}, Cause: fmt.Sprintf("made up %d\xff", i),
		})
	}
	if got := value(t, m, "mcpd_upstream_exits_total", other, other, other); got != MaxSeries {
		t.Errorf("%v exits counted as %s, want %d", got, other, MaxSeries)
	}
	if got := value(t, m, "mcpd_upstream_exits_total", "acme", "files", "made up 3?"); got != 1 {
		t.Errorf("an early series has %v, want 1", got)
	}
}

func TestRequestsAreCounted(t *testing.T) {
	m := NewMetrics(MetricsOptions{KnownMethod: func(s string) bool { return s == "tools/call" }})
	call, odd := m.Requests("acme", "files", "tools/call"), m.Requests("acme", "files",
		"tools/evil\x00name")
	for range 3 {
		call.Begin()
	}
	call.End(OutcomeOK, 2*time.Second, 1900*time.Millisecond)
	call.End(OutcomeLost, time.Second, 0)
	odd.Begin()
	odd.End(Outcome(200), time.Second, time.Hour)
	tests := []struct {
		name   string
		labels []string
		want   float64
	}{
		{"mcpd_requests_in_flight", []string{"acme", "files", "tools/call"}, 1},
		{"mcpd_requests_total", []string{"acme", "files", "tools/call", "ok"}, 1},
		{"mcpd_requests_total", []string{"acme", "files", "tools/call", "lost"}, 1},
		{"mcpd_requests_total", []string{"acme", "files", other, "error"}, 1},
		{"mcp_server_operation_duration_seconds", []string{"tools/call"}, 2},
		{"mcp_client_operation_duration_seconds", []string{"tools/call"}, 1},
		{"mcpd_gateway_overhead_seconds", nil, 3},
	}
	for _, test := range tests {
		if got := value(t, m, test.name, test.labels...); got != test.want {
			t.Errorf("%s%v = %v, want %v", test.name, test.labels, got, test.want)
		}
	}
}

// An event that stands for several drops counts for all of them.
func TestDropsAreCountedForAllThatTheyStandFor(t *testing.T) {
	m := NewMetrics(MetricsOptions{})
	r := NewRecorder(Options{Logger: slog.New(slog.DiscardHandler), Metrics: m})
	for _, n := range []uint32{1, 40} {
		r.Emit(NotificationDropped{Reason: "too_fast", Count: n})
		r.Emit(ReplyDropped{Reason: "late", Count: n})
	}
	for name, reason := range map[string]string{"mcpd_notifications_dropped_total": "too_fast",
		"mcpd_upstream_late_replies_total": "late"} {
		if got := value(t, m, name, reason); got != 41 {
			t.Errorf("%s = %v, want 41", name, got)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	h := NewMetrics(MetricsOptions{}).Requests("acme", "files", "tools/call")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			h.Begin()
			h.End(OutcomeOK, 3*time.Millisecond, 2*time.Millisecond)
		}
	})
}

// Counters without labels, and the level of the memory, exist before the first event.
func TestMetricsBeginAtZero(t *testing.T) {
	families, err := NewMetrics(MetricsOptions{}).Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, f := range families {
		shown[f.GetName()] = true
	}
	for _, row := range metrics {
		if row.kind == counter && len(row.labels) == 0 && row.direct == "" && !shown[row.name] {
			t.Errorf("%s is missing", row.name)
		}
	}
	if !shown["mcpd_overload_level"] {
		t.Error("mcpd_overload_level is missing")
	}
}
