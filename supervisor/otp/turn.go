package otp

// A supervisor and a child of it speak in turns: the child ends and waits for the verdict, the supervisor orders and waits for the next news.
// A goroutine for each of these steps would be started, would grow its stack and be thrown away, on the way of every restart. Instead
// the one that has handed the word over goes on with who has it, as soon as it has nothing left to do for the process it came from.
//
// It must not be kept from that by anything else. So only what this package does by itself hands over, as the last thing before it returns, and
// a goroutine that finds another message for its own process first has a new goroutine started for the other one: whoever is stuck in a
// Receive holds up nobody.

// handOver makes m's goroutine, which is the caller, go on with another mailbox, unless somebody is at work there. It comes before the message.
func (m *mailbox) handOver(to *mailbox) {
	if m.guard.sys.scheduler != nil { // whose turn it is is not ours to say
		return
	}
	to.mu.Lock()
	idle := !to.running
	to.running = true
	to.mu.Unlock()
	if !idle {
		return
	}
	m.guard.sys.watch.stir()
	if m.turn != nil {
		m.dispatch.Schedule(m.turn.run)
	}
	m.turn = to
}
