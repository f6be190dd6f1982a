package request

import (
	"errors"

	"mcpd/protocol"
	"mcpd/protocol/inflight"
	"mcpd/supervisor/otp"
)

// errBroken is why an exchange ends that a crash left half done.
var errBroken = errors.New("request record damaged by a crash")

// estate is what a manager leaves to its next incarnation.
type estate struct{ last *Manager }

func heir(p *otp.Process) *table {
	if e, ok := p.Heir().(*estate); ok {
		return e.last.table
	}
	return nil
}

// mend does what the previous incarnation had left to do. An exchange whose answer was lost with it gets an error. Each is tried once more:
// what crashes this incarnation too is let go.
func (m *Manager) mend(left []effect) {
	for i, do := range left {
		left[i] = effect{}
		x := do.Request.Owner
		switch {
		case x == nil:
		case do.Do == inflight.Withdraw:
			_ = x.Upstream.Send(&Withdraw{ID: x.ID, Reason: errBroken.Error()})
		default:
			if do.Err == nil && do.Outcome != inflight.Cancelled {
				do.Err = protocol.InternalError(errBroken)
			}
			m.finish(do, answer{})
		}
	}
}

// Abandon ends every exchange: there is nobody left to be in charge of them.
func (e *estate) Abandon(reason error) {
	for r := range e.last.table.Pending() {
		if x := r.Owner; x != nil {
			e.last.finish(effect{Request: r, Outcome: inflight.Lost, Err: protocol.UpstreamLost(x.Server, r.Forwarded, reason)}, answer{})
		}
	}
}
