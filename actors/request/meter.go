package request

import (
	"errors"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/inflight"
	"mcpd/telemetry"
)

func (m *Manager) meter(x *Exchange) *telemetry.Requests {
	c := class{x.Server, x.Method}
	r := m.meters[c]
	if r == nil {
		r = m.o.Meter(c.server, c.method)
		m.meters[c] = r
	}
	return r
}

// begin counts an exchange that is in the table, or is refused a place there: of one that a crash keeps out of it nobody would count the end.
func (m *Manager) begin(x *Exchange) {
	if !x.counted.Swap(true) {
		m.meter(x).Begin()
	}
}

// end counts the end of one that was counted.
func (m *Manager) end(x *Exchange, o telemetry.Outcome, waited time.Duration) {
	if x.counted.Swap(false) {
		m.meter(x).End(o, m.p.Now().Sub(x.Arrived), waited)
	}
}

// outcomes says how an end that is no answer is counted.
var outcomes = map[inflight.Outcome]telemetry.Outcome{
	inflight.Cancelled: telemetry.OutcomeCancelled,
	inflight.TimedOut:  telemetry.OutcomeTimeout,
	inflight.Lost:      telemetry.OutcomeLost,
}

// outcome is how the end of an exchange is counted.
func outcome(do effect, a answer) telemetry.Outcome {
	if o, ok := outcomes[do.Outcome]; ok {
		return o
	}
	switch {
	case do.Do == inflight.Reject:
		return telemetry.OutcomeRejected
	case errors.Is(do.Err, protocol.ConditionUpstreamLost),
		errors.Is(do.Err, protocol.ConditionUpstreamQuarantined),
		errors.Is(do.Err, protocol.ConditionUpstreamRemoved):
		return telemetry.OutcomeLost
	case do.Err != nil:
		return telemetry.OutcomeError
	}
	if a.toolError {
		return telemetry.OutcomeToolError
	}
	return telemetry.OutcomeOK
}
