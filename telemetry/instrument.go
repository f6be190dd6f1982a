package telemetry

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxSeries bounds the label combinations of one instrument. 64 tenants with 16 servers each fit.
// Beyond that the labels cost a time series database more than they are worth.
const MaxSeries = 1024

// other is the label value of all combinations beyond MaxSeries, and of every word that a peer
// made up.
const other = "_other"

// instrument is one row of the table as a Prometheus collector.
type instrument struct {
	metric
	counters   *prometheus.CounterVec
	gauges     *prometheus.GaugeVec
	histograms *prometheus.HistogramVec

	mu   sync.RWMutex // guards seen
	seen map[string]struct{}
}

func newInstrument(m metric, to prometheus.Registerer) *instrument {
	i := &instrument{metric: m, seen: make(map[string]struct{})}
	switch m.kind {
	case counter:
		i.counters = prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.name, Help: m.help},
			m.labels)
		to.MustRegister(i.counters)
	case gauge:
		i.gauges = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.name, Help: m.help}, m.labels)
		to.MustRegister(i.gauges)
	case histogram:
		i.histograms = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.name, Help: m.help,
			Buckets: bucketsOf(m)}, m.labels)
		to.MustRegister(i.histograms)
	}
	if len(m.labels) == 0 && (m.kind == counter || m.zero) {
		i.add(0)
	}
	return i
}

func bucketsOf(m metric) []float64 {
	if b, ok := buckets[m.name]; ok {
		return b
	}
	return buckets[""]
}

// add applies a value according to the kind of the instrument.
func (i *instrument) add(value float64, labels ...string) {
	labels = i.bounded(labels)
	switch i.kind {
	case counter:
		i.counters.WithLabelValues(labels...).Add(value)
	case gauge:
		i.gauges.WithLabelValues(labels...).Set(value)
	case histogram:
		i.histograms.WithLabelValues(labels...).Observe(value)
	}
}

// bounded returns the labels as valid UTF-8. If there are too many combinations already, it
// returns other for each label.
func (i *instrument) bounded(labels []string) []string {
	key := strings.ToValidUTF8(strings.Join(labels, "\x00"), "?")
	i.mu.RLock()
	_, known := i.seen[key]
	full := len(i.seen) >= MaxSeries
	i.mu.RUnlock()
	if !known && !full {
		i.mu.Lock()
		if full = len(i.seen) >= MaxSeries; !full {
			i.seen[key] = struct{}{}
			known = true
		}
		i.mu.Unlock()
	}
	if !known {
		out := make([]string, len(labels))
		for n := range out {
			out[n] = other
		}
		return out
	}
	out := make([]string, len(labels))
	for n, l := range labels {
		out[n] = strings.ToValidUTF8(l, "?")
	}
	return out
}
