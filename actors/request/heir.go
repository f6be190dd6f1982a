package request

import (
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// estate is the carried state of a manager: the table. Each method of the table is atomic and safe
// for concurrent use. So the next incarnation has nothing to repair, and may use the table while a
// stuck manager still has it.
type estate struct{ table *Table }

// inherit restores the exchanges in flight.
func (m *Manager) inherit(p *otp.Process) bool {
	e, ok := p.Heir().(*estate)
	if ok {
		m.table = e.table
	}
	return ok
}

// Fence implements otp.Fenced.
func (e *estate) Fence() any { return e }

// Abandon ends every exchange: no manager is left to be in charge of them.
func (e *estate) Abandon(reason error) {
	e.table.shut()
	for _, x := range e.table.Such(all) {
		lost := protocol.UpstreamLost(x.Server, x.Over(), reason).Repeating(x.Method)
		x.Settle(Outcome{How: Lost, Err: lost})
	}
}
