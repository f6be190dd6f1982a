package request

import (
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// carriedState is the carried state of a manager: the table. Each method of the table is atomic and
// safe for concurrent use. So the next incarnation has nothing to repair, and may use the table
// while a stuck manager still has it.
type carriedState struct{ table *Table }

// restore restores the exchanges in flight.
func (m *Manager) restore(p *otp.Process) bool {
	e, ok := p.CarriedState().(*carriedState)
	if ok {
		m.table = e.table
	}
	return ok
}

// Detach implements otp.Detachable.
func (e *carriedState) Detach() any { return e }

// Abandon ends every exchange: no manager is left to be in charge of them.
func (e *carriedState) Abandon(reason error) {
	e.table.close()
	for _, x := range e.table.Filter(all) {
		lost := protocol.UpstreamLost(x.Server, x.BeginEnd(), reason).MarkRetryable(x.Method)
		x.Settle(Outcome{Ending: Lost, Err: lost})
	}
}
