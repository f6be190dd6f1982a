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

// MetricsOptions say what is read at a scrape. Every field may be left out.
type MetricsOptions struct {
	Version, Commit, GoVersion string

	// Tree is a snapshot of the live tree.
	Tree func() otp.Node
	// Readiness is what /readyz says of that tree: the state of the host, one of states, and whether each check is met.
	Readiness func(tree otp.Node) Readiness
	// Sessions are the downstream sessions.
	Sessions func() iter.Seq[*mcpdv1.Session]
	// Limits are the bounds of the host, each a gauge of its own.
	Limits func() iter.Seq[Limit]
	// Queues are those of the host.
	Queues func() iter.Seq[Queue]
	// Faults is how many are armed.
	Faults func() int
	// Config is the digest of the configuration in force.
	Config func() string
	// Spawns is how many programs wait for their turn to be started, and how many had to so far.
	Spawns func() (now int, all uint64)
	// IdleRunners is how many goroutines wait for an actor that has something to do.
	IdleRunners func() int
	// IdleUpstream is how many connections to servers are kept for a next request.
	IdleUpstream func() int
	// Certificate is how long the certificate of the MCP listener is valid. Not ok is that there is none.
	Certificate func() (left time.Duration, ok bool)
	// Kept is what each tenant keeps, by kind.
	Kept func() iter.Seq[Kept]
	// History is how many bytes of events wait for clients or are kept for their return.
	History func() int64
	// Reserved yields what is taken of the host's byte budgets, by their names; one name may come more than once.
	Reserved func() iter.Seq2[string, int64]
	// Records yields how many records the host keeps beside those of its rows, by kind.
	Records func() iter.Seq2[string, int]
	// KnownMethod tells the protocol's methods from words that a peer made up.
	KnownMethod func(string) bool
}

// Metrics are the instruments of the table and the registry that holds them,
// with those of the Go runtime and the process.
type Metrics struct {
	registry    *prometheus.Registry
	instruments map[string]*instrument
	feeds       map[reflect.Type][]fed
	knownMethod func(string) bool
	idleRunners func() int
}

type fed struct {
	feed
	to *instrument
}

// NewMetrics makes every instrument of the table.
func NewMetrics(o MetricsOptions) *Metrics {
	m := &Metrics{
		registry:    prometheus.NewRegistry(),
		instruments: make(map[string]*instrument, len(metrics)),
		feeds:       make(map[reflect.Type][]fed),
		knownMethod: o.KnownMethod,
		idleRunners: o.IdleRunners,
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
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
			i.add(0) // an alert needs the zero before the first one
		}
	}
	m.registry.MustRegister(&scrape{options: o, read: read})
	return m
}

// Gatherer is what the metrics endpoint reads.
func (m *Metrics) Gatherer() prometheus.Gatherer {
	return still{m.registry, m.idleRunners}
}

// count feeds an event to its instruments.
func (m *Metrics) count(e Event) {
	for _, f := range m.feeds[reflect.TypeOf(e)] {
		if v, labels, ok := f.value(e); ok {
			f.to.add(v, labels...)
		}
	}
}

// named returns an instrument of the table; a name that is not in it is a bug.
func (m *Metrics) named(name string) *instrument {
	i, ok := m.instruments[name]
	if !ok {
		panic("telemetry: no metric " + name)
	}
	return i
}
