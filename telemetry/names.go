package telemetry

import (
	"slices"
	"strings"
	"sync"
)

// LimitPrefix begins the names of the gauges for the bounds of a host. Each bound has a gauge.
const LimitPrefix = "mcpd_limit_"

// MetricNames returns the names of the table and those of the Go runtime and the process on this
// system, sorted. A host also has the gauges of its bounds.
var MetricNames = sync.OnceValue(func() []string {
	var names []string
	for _, row := range metrics {
		names = append(names, row.name)
		if row.kind == histogram {
			names = append(names, row.name+"_bucket", row.name+"_count", row.name+"_sum")
		}
	}
	// If a collector fails, the families of the others are there.
	families, _ := NewMetrics(MetricsOptions{}).Gatherer().Gather()
	for _, f := range families {
		names = append(names, f.GetName())
		if f.GetType().String() == "SUMMARY" {
			names = append(names, f.GetName()+"_count", f.GetName()+"_sum")
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
})

// KnownMetric reports whether a host can have a metric of that name.
func KnownMetric(name string) bool {
	_, known := slices.BinarySearch(MetricNames(), name)
	return known || strings.HasPrefix(name, LimitPrefix)
}
