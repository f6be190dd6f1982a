package telemetry

import (
	"slices"
	"testing"
)

// KnownMetric knows every name that a scrape of a host may have, and no other.
func TestMetricsAreKnownByName(t *testing.T) {
	for _, name := range []string{"mcpd_sessions", "go_goroutines", "go_gc_duration_seconds_count",
		"process_open_fds", "mcpd_gateway_overhead_seconds_sum", "mcpd_limit_memory_bytes"} {
		if !KnownMetric(name) {
			t.Errorf("%s is unknown", name)
		}
	}
	for _, name := range []string{"mcpd_session", "nonsense", "", "mcpd_sessions_count"} {
		if KnownMetric(name) {
			t.Errorf("%s is known", name)
		}
	}
	if !slices.IsSorted(MetricNames()) {
		t.Error("they are not sorted")
	}
}
