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

// inherit takes over the exchanges in flight, and mends what a crash left of them.
func (m *Manager) inherit(p *otp.Process) bool {
	_, ok := otp.Inherit(p, func(e *estate) (dropped []otp.Dropped) {
		m.table = e.last.table
		for range m.mend() {
			dropped = append(dropped, otp.Dropped{Part: "exchange", Reason: "unsound"})
		}
		return dropped
	})
	return ok
}

// sound reports whether an exchange can go on and have an outcome.
func sound(id uint64, x *Exchange) bool {
	return x != nil && x.ID == id && x.Sink != nil && x.Owner != nil && x.Upstream != (otp.Ref{})
}

// mend does what the previous incarnation had left to do, and ends what is not sound; it says how many these are. An exchange whose answer was
// lost with the crash gets an error. Each is tried once more: what crashes this incarnation too is let go.
func (m *Manager) mend() (broken int) {
	left, broken := m.table.repair()
	for i, do := range left {
		m.table.done(i)
		x := do.Request.Owner
		switch {
		case x == nil || m.holds(x):
		case !sound(do.Request.Key, x):
			m.bury(x)
		case do.Do == inflight.Withdraw:
			x.Over() // before anybody acts on it, as in step
			_ = m.p.Send(x.Held().Ref, &Withdraw{ID: x.ID, Reason: errBroken.Error()})
		default:
			if do.Err == nil && do.Outcome != inflight.Cancelled {
				do.Err = x.Broken(errBroken)
			}
			m.finish(do, answer{})
		}
	}
	return broken
}

// holds reports whether an exchange is in flight under its own id, whatever else it was under.
func (m *Manager) holds(x *Exchange) bool {
	r, ok := m.table.get(x.ID)
	return ok && r.Owner == x
}

// bury ends an exchange of which not everything is there.
func (m *Manager) bury(x *Exchange) {
	x.kept.Load().Release()
	if x.Sink != nil {
		x.Finish(nil, x.Broken(errBroken))
	}
	if x.Owner != nil {
		// late: as in finish.
		_ = x.Owner.Send(Done{Exchange: x, Failed: true})
	}
	m.end(x, outcome(effect{Err: errBroken}, answer{}), 0)
}

// Fence takes the exchanges in flight from a manager that is stuck.
func (e *estate) Fence() any {
	t := e.last.table.fence()
	if t == nil {
		return nil
	}
	last := New(e.last.o)
	last.p, last.table = e.last.p, t
	return &estate{last}
}

// Abandon ends every exchange: there is nobody left to be in charge of them.
func (e *estate) Abandon(reason error) {
	e.last.mend()
	for _, id := range e.last.keys(func(*Exchange) bool { return true }) {
		r, _ := e.last.table.get(id)
		x := r.Owner
		e.last.finish(effect{Request: r, Outcome: inflight.Lost, Err: protocol.UpstreamLost(x.Server, x.Over(), reason).Repeating(x.Method)}, answer{})
	}
}
