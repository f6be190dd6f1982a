package request

import (
	"errors"

	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// errBroken is why an exchange ends that a crash left half done.
var errBroken = errors.New("request record damaged by a crash")

// estate is what a manager leaves to its next incarnation.
type estate struct{ table *table }

func heir(p *otp.Process) *table {
	if e, ok := p.Heir().(*estate); ok {
		return e.table
	}
	return nil
}

// Abandon answers every exchange: there is nobody left to be in charge of them.
func (e *estate) Abandon(reason error) {
	for r := range e.table.Pending() {
		if r.Owner != nil {
			r.Owner.Finish(nil, protocol.UpstreamLost(r.Owner.Server, r.Forwarded, reason))
		}
	}
}
