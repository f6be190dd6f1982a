package request

import (
	"errors"

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
	case errors.Is(do.Err, protocol.ConditionUpstreamLost):
		return telemetry.OutcomeLost
	case do.Err != nil:
		return telemetry.OutcomeError
	}
	if a.toolError {
		return telemetry.OutcomeToolError
	}
	return telemetry.OutcomeOK
}
