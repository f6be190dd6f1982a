package request

import (
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// estate is what a manager leaves to its next incarnation: the table, whose methods are each complete
// in themselves, so that there is nothing to mend, and nothing to take from a manager that is stuck.
type estate struct{ table *Table }

// inherit takes over the exchanges in flight.
func (m *Manager) inherit(p *otp.Process) bool {
	e, ok := p.Heir().(*estate)
	if ok {
		m.table = e.table
	}
	return ok
}

// Fence implements otp.Fenced.
func (e *estate) Fence() any { return e }

// Abandon ends every exchange: there is nobody left to be in charge of them.
func (e *estate) Abandon(reason error) {
	e.table.shut()
	for _, x := range e.table.Such(all) {
		lost := protocol.UpstreamLost(x.Server, x.Over(), reason).Repeating(x.Method)
		x.Settle(Outcome{How: Lost, Err: lost})
	}
}
