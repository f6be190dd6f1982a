package telemetry

import (
	"slices"
	"strings"
	"sync"
)

// LimitPrefix is how the names of the gauges begin that are a host's bounds, one each.
const LimitPrefix = "mcpd_limit_"

// MetricNames are the names of the table, and those of the Go runtime and the process on this system, sorted. A host has the gauges of its bounds too.
var MetricNames = sync.OnceValue(func() []string {
	var names []string
	for _, row := range metrics {
		names = append(names, row.name)
		if row.kind == histogram {
			names = append(names, row.name+"_bucket", row.name+"_count", row.name+"_sum")
		}
	}
	families, _ := NewMetrics(MetricsOptions{}).Gatherer().Gather() // of a collector that fails the others are there
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
