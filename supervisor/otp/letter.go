package otp

// letter is an entry of the user queue.
type letter struct {
	msg  any
	room bool // it counts against the limit; replies, timers and reserved messages do not
}

// put adds an entry to the user queue. The caller holds the lock.
func (m *mailbox) put(l letter) {
	if m.user.full() {
		m.settle()
	}
	if m.user.push(l) {
		m.swollen.Store(m.user.large())
	}
	if m.user.len() > m.mark.Most() {
		m.settle()
		m.mark.Note(m.user.len())
	}
}

// trim frees the memory of a burst. The goroutine that empties the queue does not call it, because
// the next burst may come at once.
func (m *mailbox) trim() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.running && m.user.len() == 0 {
		m.user.trim()
		m.swollen.Store(false)
	}
}

// settle reconciles the user queue with the cursor: it removes the entries that the goroutine has
// taken. The caller holds the lock.
func (m *mailbox) settle() {
	n := m.hand.taken(m.settled)
	if n == 0 {
		return
	}
	m.settled += uint32(n)
	for range n {
		l := m.user.pop()
		m.current = l.msg
		if l.room {
			m.taken--
		}
	}
	if m.user.len() == 0 {
		m.refused = false
	}
}
