package otp

// letter is a message of the user queue.
type letter struct {
	msg  any
	room bool // it takes some of the limit; what the process has asked for or is owed does not
}

// put puts a letter into the user queue. The caller has the lock.
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

// trim gives back the memory of a burst. Whoever empties the queue does not: the next burst may be there at once.
func (m *mailbox) trim() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.running && m.user.len() == 0 {
		m.user.trim()
		m.swollen.Store(false)
	}
}

// settle takes out of the user queue what the goroutine has taken in hand. The caller has the lock.
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
