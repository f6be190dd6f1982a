package request

import (
	"errors"
	"sync"
	"time"

	"mcpd/protocol"
	"mcpd/telemetry"
)

// Meter counts exchanges. Begin is called for each that is accepted or refused, End for each of
// them when it has its outcome.
type Meter interface {
	Begin(x *Exchange)
	End(x *Exchange, o Outcome)
}

// Meters counts exchanges by their servers and methods. Make one with NewMeters.
type Meters struct {
	of  func(server, method string) *telemetry.Requests
	now func() time.Time

	mu  sync.Mutex // guards all
	all map[class]*telemetry.Requests
}

var _ Meter = (*Meters)(nil)

// class identifies exchanges that are counted together.
type class struct{ server, method string }

// NewMeters makes Meters that count with the values that of returns.
func NewMeters(of func(server, method string) *telemetry.Requests, now func() time.Time) *Meters {
	return &Meters{of: of, now: now, all: map[class]*telemetry.Requests{}}
}

// Begin implements Meter.
func (m *Meters) Begin(x *Exchange) {
	r := m.meter(x)
	x.meter.Store(r)
	r.Begin()
}

// End implements Meter. An exchange may be settled before Begin has stored its meter.
func (m *Meters) End(x *Exchange, o Outcome) {
	r := x.meter.Load()
	if r == nil {
		r = m.meter(x)
	}
	r.End(o.counts(), m.now().Sub(x.Arrived), o.Waited)
}

// meter caches the meters, so that a request needs no other look-up. Servers and methods are few,
// because the session has checked both.
func (m *Meters) meter(x *Exchange) *telemetry.Requests {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := class{x.Server, x.Method}
	r := m.all[c]
	if r == nil {
		r = m.of(c.server, c.method)
		m.all[c] = r
	}
	return r
}

// begin counts an exchange that will be accepted or refused.
func (t *Table) begin(x *Exchange) {
	if !x.counted.Swap(true) {
		t.o.Meter.Begin(x)
	}
}

// end counts the end of an exchange that was counted.
func (t *Table) end(x *Exchange, o *Outcome) {
	if x.counted.Swap(false) {
		t.o.Meter.End(x, *o)
	}
}

// counts returns the class under which an outcome is counted.
func (o *Outcome) counts() telemetry.Outcome {
	switch {
	case o.Ending == Cancelled:
		return telemetry.OutcomeCancelled
	case o.Ending == TimedOut:
		return telemetry.OutcomeTimeout
	case o.Ending == Lost:
		return telemetry.OutcomeLost
	case o.Ending == Refused:
		return telemetry.OutcomeRejected
	case errors.Is(o.Err, protocol.ConditionUpstreamLost),
		errors.Is(o.Err, protocol.ConditionUpstreamQuarantined),
		errors.Is(o.Err, protocol.ConditionUpstreamRemoved):
		return telemetry.OutcomeLost
	case o.Err != nil:
		return telemetry.OutcomeError
	case o.ToolError:
		return telemetry.OutcomeToolError
	}
	return telemetry.OutcomeOK
}
