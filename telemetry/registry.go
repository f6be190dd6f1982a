package telemetry

import (
	"iter"
	"reflect"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/supervisor/otp"
)

// MetricsOptions are the sources that are read at a scrape. Every field is optional.
type MetricsOptions struct {
	Version, Commit, GoVersion string

	// Tree returns a snapshot of the live tree.
	Tree func() otp.Node
	// Readiness returns what /readyz says about that tree.
	Readiness func(tree otp.Node) Readiness
	// Sessions returns the downstream sessions.
	Sessions func() iter.Seq[*mcpdv1.Session]
	// Limits returns the bounds of the host. Each has a gauge of its own.
	Limits func() iter.Seq[Limit]
	// Queues returns the queues of the host.
	Queues func() iter.Seq[Queue]
	// Faults returns how many faults are armed.
	Faults func() int
	// Config returns the digest of the configuration in force.
	Config func() string
	// Spawns returns how many programs wait for their turn to be started, and how many have waited
	// so far.
	Spawns func() (now int, all uint64)
	// IdleRunners returns how many goroutines wait for an actor with work.
	IdleRunners func() int
	// IdleUpstream returns how many connections to servers are kept for a next request.
	IdleUpstream func() int
	// Certificate returns how long the certificate of the MCP listener is still valid. Ok is false
	// if there is none.
	Certificate func() (remaining time.Duration, ok bool)
	// Kept returns what each tenant keeps, by kind.
	Kept func() iter.Seq[KeptBytes]
	// History returns how many bytes of events wait for clients or are kept for their return.
	History func() int64
	// Reserved yields the reserved bytes of the host's byte budgets, by name. A name may occur more
	// than once.
	Reserved func() iter.Seq2[string, int64]
	// Records yields how many records the host keeps in addition to those of its rows, by kind.
	Records func() iter.Seq2[string, int]
	// KnownMethod reports whether a word is a method of the protocol, and not made up by a peer.
	KnownMethod func(string) bool
}

// Metrics are the instruments of the table and the registry that holds them. The registry also
// has the instruments of the Go runtime and the process.
type Metrics struct {
	registry    *prometheus.Registry
	instruments map[string]*instrument
	feeds       map[reflect.Type][]fed
	knownMethod func(string) bool
	idleRunners func() int
}

type fed struct {
	eventSource
	to *instrument
}

// NewMetrics returns Metrics with every instrument of the table.
func NewMetrics(o MetricsOptions) *Metrics {
	m := &Metrics{
		registry:    prometheus.NewRegistry(),
		instruments: make(map[string]*instrument, len(metrics)),
		feeds:       make(map[reflect.Type][]fed),
		knownMethod: o.KnownMethod,
		idleRunners: o.IdleRunners,
	}
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	read := make(map[string]scraped)
	for _, row := range metrics {
		if row.direct == atScrape {
			read[row.name] = newScraped(row)
			continue
		}
		i := newInstrument(row, m.registry)
		m.instruments[row.name] = i
		for _, f := range row.from {
			m.feeds[f.event] = append(m.feeds[f.event], fed{f, i})
		}
		if len(row.labels) == 0 && row.kind == counter {
			i.add(0) // an alert needs the zero before the first event
		}
	}
	m.registry.MustRegister(&scrape{options: o, read: read})
	return m
}

// Gatherer returns the source of the metrics endpoint.
func (m *Metrics) Gatherer() prometheus.Gatherer {
	return goroutineGatherer{m.registry, m.idleRunners}
}

// count feeds an event to its instruments.
func (m *Metrics) count(e Event) {
	for _, f := range m.feeds[reflect.TypeOf(e)] {
		if v, labels, ok := f.value(e); ok {
			f.to.add(v, labels...)
		}
	}
}

// named returns an instrument of the table. It panics for an unknown name, which is a bug.
func (m *Metrics) named(name string) *instrument {
	i, ok := m.instruments[name]
	if !ok {
		panic("telemetry: no metric " + name)
	}
	return i
}
