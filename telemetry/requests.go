package telemetry

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Outcome is how a downstream request ended.
type Outcome uint8

// The outcomes.
const (
	OutcomeOK        Outcome = iota // a result
	OutcomeToolError                // a result that says isError
	OutcomeError                    // an error of the server
	OutcomeTimeout                  // no reply in time
	OutcomeCancelled                // cancelled by the client
	OutcomeLost                     // the server ended while it worked
	OutcomeRejected                 // refused by the host after admission
	outcomeCount
)

var outcomes = [outcomeCount]string{
	"ok", "tool_error", "error", "timeout", "cancelled", "lost", "rejected",
}

func (o Outcome) String() string {
	if o < outcomeCount {
		return outcomes[o]
	}
	return other
}

// Requests counts the requests of one method to one server of one tenant. The caller keeps the
// handle, so counting a request needs no look-up and no wait.
type Requests struct {
	inFlight prometheus.Gauge
	total    prometheus.Observer
	waited   prometheus.Observer
	overhead prometheus.Observer

	// ended are the counters by outcome. Each is made at its first use, so a scrape shows only
	// outcomes that occurred.
	ended    [outcomeCount]atomic.Pointer[prometheus.Counter]
	newEnded func(Outcome) prometheus.Counter
}

// Requests returns the handle for one class of requests. A method that the protocol does not have
// counts as "_other". The call takes locks, so the caller should keep the handle.
func (m *Metrics) Requests(tenant, server, method string) *Requests {
	if m.knownMethod == nil || !m.knownMethod(method) {
		method = other
	}
	pending, requests := m.named("mcpd_requests_in_flight"), m.named("mcpd_requests_total")
	return &Requests{
		inFlight: pending.gauges.WithLabelValues(pending.bounded([]string{tenant, server, method})...),
		total:    m.named("mcp_server_operation_duration_seconds").histograms.WithLabelValues(method),
		waited:   m.named("mcp_client_operation_duration_seconds").histograms.WithLabelValues(method),
		overhead: m.named("mcpd_gateway_overhead_seconds").histograms.WithLabelValues(),
		newEnded: func(o Outcome) prometheus.Counter {
			return requests.counters.WithLabelValues(requests.bounded([]string{tenant, server, method,
				o.String()})...)
		},
	}
}

// Begin counts a request that was admitted.
func (r *Requests) Begin() { r.inFlight.Inc() }

// End counts the outcome of a request. Total is the time since its arrival. Waited is the part of
// total spent waiting for the server, 0 if no server was asked.
func (r *Requests) End(o Outcome, total, waited time.Duration) {
	r.inFlight.Dec()
	r.counter(o).Inc()
	r.total.Observe(total.Seconds())
	if waited > 0 {
		r.waited.Observe(waited.Seconds())
	}
	r.overhead.Observe(max(total-waited, 0).Seconds())
}

func (r *Requests) counter(o Outcome) prometheus.Counter {
	if o >= outcomeCount {
		o = OutcomeError
	}
	if c := r.ended[o].Load(); c != nil {
		return *c
	}
	c := r.newEnded(o)
	r.ended[o].Store(&c)
	return c
}

// Error counts a JSON-RPC error sent downstream.
func (m *Metrics) Error(code int64) { m.named("mcpd_errors_total").add(1, codeLabel(code)) }
