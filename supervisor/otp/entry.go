package otp

// mailboxEntry is an entry of the user queue.
type mailboxEntry struct {
	msg    any
	counts bool // it counts against the limit; replies, timers and reserved messages do not
}

// put adds an entry to the user queue. The caller holds the lock.
func (m *mailbox) put(l mailboxEntry) {
	if m.user.full() {
		m.reconcile()
	}
	if m.user.push(l) {
		m.oversized.Store(m.user.large())
	}
	if m.user.len() > m.mark.Most() {
		m.reconcile()
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
		m.oversized.Store(false)
	}
}

// reconcile reconciles the user queue with the cursor: it removes the entries that the goroutine
// has taken. The caller holds the lock.
func (m *mailbox) reconcile() {
	n := m.cursor.taken(m.reconciled)
	if n == 0 {
		return
	}
	m.reconciled += uint32(n)
	for range n {
		l := m.user.pop()
		m.currentMessage = l.msg
		if l.counts {
			m.limitCount--
		}
	}
	if m.user.len() == 0 {
		m.refused = false
	}
}
