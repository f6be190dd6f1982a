package session

import (
	"sync"

	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// endBatch is how many sessions the manager ends in one turn. All sessions of a tenant may end at
// once, and a client that opens a session meanwhile waits for at most this many.
const endBatch = 64

// ends tells the manager that there are sessions to end. The manager also sends it to itself.
type ends struct{}

// Class returns otp.Reserved (reserved): there is one such message, and one more for each
// incarnation of the manager.
func (ends) Class() otp.Class { return otp.Reserved }

// endHeld is the manager's timer message: try the held sessions again, whose tenants may be served
// again.
type endHeld struct{}

// Class returns otp.Reserved: at most one timer sends this message.
func (endHeld) Class() otp.Class { return otp.Reserved }

// endings are the sessions that are to end.
type endings struct {
	mu    sync.Mutex // guards the rest
	queue []ending
	// of tenants that are on hold (see otp.Process.OnBehalf); they delay no other session
	held []ending
}

type ending struct {
	h      *Handle
	reason telemetry.Closing
}

// add queues the session. It returns true for the first in the queue, for which the caller must
// wake the manager.
func (e *endings) add(h *Handle, reason telemetry.Closing) (first bool) {
	if h.ending.Swap(true) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = append(e.queue, ending{h, reason})
	return len(e.queue) == 1
}

func (e *endings) take() (next ending, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 {
		e.queue = nil
		return next, false
	}
	next, e.queue = e.queue[0], e.queue[1:]
	next.h.ending.Store(false)
	return next, true
}

// hold sets aside an ending that was taken, until release.
func (e *endings) hold(next ending) {
	if next.h.ending.Swap(true) {
		return // the end was requested again, and is in the queue
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held = append(e.held, next)
}

// release puts the held endings back into the queue.
func (e *endings) release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue, e.held = append(e.queue, e.held...), nil
}

// End asks the manager to end the session; the actor is told by Expired. The manager gets one
// message, however many callers ask at once.
func (h *Handle) End(reason telemetry.Closing) {
	if h.index.ends.add(h, reason) {
		_ = h.manager.Send(ends{})
	}
}

// endSome ends a batch of the sessions that are to end. The rest follows after the messages that
// already wait in the mailbox. Each session is ended on behalf of its tenant, so that a crash is
// charged to that tenant alone. While a tenant is on hold, its sessions wait.
func (m *Manager) endSome() {
	for range endBatch {
		next, ok := m.index.ends.take()
		if !ok {
			return
		}
		if !m.p.OnBehalf(next.h.endpoint.Tenant, func() { m.end(next.h, next.reason) }) {
			m.index.ends.hold(next)
			m.endLater()
		}
	}
	_ = m.p.Send(m.p.Self(), ends{})
}

// endLater schedules another try for the held sessions.
func (m *Manager) endLater() {
	if !m.holding {
		m.holding = true
		m.p.After(otp.FirstOriginPause, endHeld{})
	}
}

// endAgain tries to end the held sessions again.
func (m *Manager) endAgain() {
	m.holding = false
	m.index.ends.release()
	m.endSome()
}
