package telemetry

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// goroutineGatherer counts goroutines before the registry starts its collecting goroutines.
// Otherwise a scrape would count a varying number of its own goroutines, and count an idle runner
// as a working one.
type goroutineGatherer struct {
	registry *prometheus.Registry
	idle     func() int // runners that wait; nil without a runtime
}

// Gather implements prometheus.Gatherer.
func (s goroutineGatherer) Gather() ([]*dto.MetricFamily, error) {
	counts := map[string]float64{"go_goroutines": float64(runtime.NumGoroutine())}
	if s.idle != nil {
		counts["mcpd_actor_idle_runners"] = float64(s.idle())
	}
	families, err := s.registry.Gather()
	for _, f := range families {
		if n, ok := counts[f.GetName()]; ok && len(f.GetMetric()) == 1 {
			f.Metric[0].Gauge = &dto.Gauge{Value: &n}
		}
	}
	return families, err
}
