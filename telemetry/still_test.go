package telemetry

import (
	"runtime"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// crowd is a collector that counts goroutines while it collects.
type crowd struct{ desc *prometheus.Desc }

func (c crowd) Describe(out chan<- *prometheus.Desc) { out <- c.desc }

func (c crowd) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue,
		float64(runtime.NumGoroutine()))
}

func TestAScrapeCountsNoGoroutineOfItsOwn(t *testing.T) {
	idle := 5
	m := NewMetrics(MetricsOptions{IdleRunners: func() int {
		defer func() { idle = 0 }()
		return idle
	}})
	m.registry.MustRegister(crowd{
		prometheus.NewDesc("crowd", "goroutines while it collects", nil, nil),
	})
	before := runtime.NumGoroutine()
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "crowd" || f.GetName() == "go_goroutines" ||
			f.GetName() == "mcpd_actor_idle_runners" {
			got[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	if n := got["go_goroutines"]; n != float64(before) {
		t.Errorf("%v goroutines, want %d", n, before)
	}
	if n := got["crowd"]; n <= float64(before) {
		t.Errorf("%v goroutines while collecting, want more than %d: nothing was shown", n, before)
	}
	if n := got["mcpd_actor_idle_runners"]; n != 5 {
		t.Errorf("%v idle runners, want 5", n)
	}
}
