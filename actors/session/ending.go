package session

import (
	"sync"

	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// endBatch is how many sessions the manager ends in one turn. All of a tenant's may be due at once, and whoever opens one meanwhile waits for
// no more than these.
const endBatch = 64

// ends is what the manager is told, and tells itself, while there are sessions that are to end.
type ends struct{}

// Class says that it is owed: there is one, and one more for each incarnation of the manager.
func (ends) Class() otp.Class { return otp.Owed }

// endHeld is what the manager tells itself when tenants may be served again for which nothing was done.
type endHeld struct{}

// Class says that it is owed: there is one timer of it.
func (endHeld) Class() otp.Class { return otp.Owed }

// endings are the sessions that are to end.
type endings struct {
	mu    sync.Mutex // guards the rest
	queue []ending
	held  []ending // of tenants for which nothing is done now; they delay no others
}

type ending struct {
	h      *Handle
	reason telemetry.Closing
}

// add reports whether it is the first, so that somebody must be told.
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

// hold keeps an ending that was taken, until release.
func (e *endings) hold(next ending) {
	if next.h.ending.Swap(true) {
		return // it was asked for again, and is in the queue
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held = append(e.held, next)
}

// release puts those that are held back into the queue.
func (e *endings) release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue, e.held = append(e.queue, e.held...), nil
}

// End asks the manager to end the session; its actor is told so by Expired. However many ask at once, the manager hears of it once.
func (h *Handle) End(reason telemetry.Closing) {
	if h.index.ends.add(h, reason) {
		_ = h.manager.Send(ends{})
	}
}

// endSome ends a batch of those that are to end, and the rest after whatever waits already. The end of a session is its tenant's: a crash costs
// no other. While nothing is done for a tenant its sessions wait.
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

// endLater sees to it that those which are held are tried again.
func (m *Manager) endLater() {
	if !m.holding {
		m.holding = true
		m.p.After(otp.FirstHold, endHeld{})
	}
}

// endAgain tries those that are held.
func (m *Manager) endAgain() {
	m.holding = false
	m.index.ends.release()
	m.endSome()
}
