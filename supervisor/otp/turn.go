package otp

// The goroutine that has handed a message over and has nothing left to do continues with the
// receiver's mailbox. Otherwise the goroutine would end while another is woken, whose stack has to
// grow first. A supervisor and its child use this on the way of every restart, where they take
// turns; so do workers that pass on messages (Process.Pass).
//
// A goroutine that has taken a turn must not delay the other mailbox. If it finds another message
// for its own process first, a new goroutine starts for the other mailbox. The watch does the same
// when a goroutine hands over and then does not return: a goroutine that is stuck in Receive delays
// no other process.

// maxTurns is how often a goroutine continues with another mailbox before it lets others run.
// Without a bound, two processes that pass to each other would keep a processor until the runtime
// takes it from them after 10 ms. With a bound of 10, a supervisor of 1,000 children would restart
// a sixth more slowly than without one.
const maxTurns = 100

// handOver makes the goroutine of m, which is the caller, continue with another mailbox, unless a
// goroutine already works there. Call it before the message is sent.
func (m *mailbox) handOver(to *mailbox) {
	if m.guard.sys.scheduler != nil { // the scheduler decides whose turn it is
		return
	}
	to.mu.Lock()
	idle := !to.running && to.dispatch != nil // before, only its supervisor may continue with it
	if idle {
		to.running = true
	}
	to.mu.Unlock()
	if idle {
		m.continueWith(to)
	}
}

// continueWith makes the goroutine of m continue with another mailbox that no other goroutine has
// charge of.
func (m *mailbox) continueWith(to *mailbox) {
	m.guard.sys.watch.wake()
	m.scheduleHandedOver(m.turn.Swap(to))
	if m.guard.abandoned.Load() { // then the watch does not notice if it never returns
		m.scheduleHandedOver(m.turn.Swap(nil))
	}
}

// scheduleHandedOver starts another goroutine for a mailbox that was to be continued by this
// goroutine.
func (m *mailbox) scheduleHandedOver(to *mailbox) {
	if to != nil {
		m.dispatch.Schedule(to.run)
	}
}

// Pass is to.Send for a Receive that has next to nothing left to do: as soon as Receive returns,
// its goroutine continues with the receiver. Its errors are those of Process.Send.
func (p *Process) Pass(to Ref, msg any) error {
	if p.isOver() {
		return ErrNoProc
	}
	if to.row != nil {
		if g := to.row.proc.Load(); g != nil {
			p.guard.mailbox.handOver(&g.mailbox)
		}
	}
	return to.Send(msg)
}
