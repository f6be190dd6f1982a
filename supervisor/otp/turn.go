package otp

// Who has handed the word over and has nothing left to do need not end while another goroutine is woken for who has it now, whose stack has to grow
// first: the same one goes on. A supervisor and its child speak so, who end and order in turns on the way of every restart, and so do workers that pass
// on what they were sent (Process.Pass).
//
// The other one must not be kept from its turn by anything else. A goroutine that finds another message for its own process first has a new one started for
// it, and the watch does so for whoever has handed over and then not come back: who is stuck in a Receive holds up nobody.

// maxTurns is how often a goroutine goes on with another mailbox before others run: two that pass to each other would else have a processor until the
// runtime takes it from them, after 10 ms. With 10 a supervisor of 1,000 children comes back a sixth later than with no such bound.
const maxTurns = 100

// handOver makes m's goroutine, which is the caller, go on with another mailbox, unless somebody is at work there. It comes before the message.
func (m *mailbox) handOver(to *mailbox) {
	if m.guard.sys.scheduler != nil { // whose turn it is is not ours to say
		return
	}
	to.mu.Lock()
	idle := !to.running && to.dispatch != nil // until then it is its supervisor's to go on with
	if idle {
		to.running = true
	}
	to.mu.Unlock()
	if idle {
		m.goOn(to)
	}
}

// goOn makes m's goroutine go on with another mailbox, of which nobody else has charge.
func (m *mailbox) goOn(to *mailbox) {
	m.guard.sys.watch.stir()
	m.release(m.turn.Swap(to))
	if m.guard.abandoned.Load() { // nobody looks any more whether it comes back
		m.release(m.turn.Swap(nil))
	}
}

// release has another goroutine go on with what was to have this one's turn.
func (m *mailbox) release(to *mailbox) {
	if to != nil {
		m.dispatch.Schedule(to.run)
	}
}

// Pass is to.Send for when Receive has next to nothing left to do: as soon as that returns, its goroutine goes on with the receiver.
func (p *Process) Pass(to Ref, msg any) error {
	if p.isOver() {
		return ErrNoProc
	}
	if to.row != nil {
		if g := to.row.proc.Load(); g != nil {
			p.guard.box.handOver(&g.box)
		}
	}
	return to.Send(msg)
}
