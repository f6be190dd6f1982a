package otp

// worker is one incarnation of a worker.
type worker struct {
	Process
	concluding bool       // Terminate has been called
	deadline   ClockTimer // for its goroutines
}

func (w *worker) receive(msg any) error {
	w.guard.sys.handle(w.guard.row.path, msg)
	for range w.guard.sys.faults.BeforeReceive(w.guard.row.path, msg) {
		if w.guard.abandoned.Load() { // while a fault made it wait
			return nil
		}
		if reason := w.behaviour.Receive(&w.Process, msg); reason != nil {
			return reason
		}
		w.guard.trackReply(msg)
	}
	return nil
}

func (w *worker) begin() {
	w.guard.current.Store(&w.Process)
	if w.guard.abandoned.Load() { // meanwhile, by code that may not have seen this incarnation
		w.cancel(ErrKilled)
		w.finish()
		return
	}
	r := w.guard.row
	if err := w.guard.sys.faults.BeforeInit(r.path); err != nil {
		w.guard.failed(err)
		return
	}
	w.behaviour = r.child().Start.worker(r.arguments())
	if w.behaviour == nil {
		w.guard.failed(errNilBehaviour)
		return
	}
	if err := w.behaviour.Init(&w.Process); err != nil {
		w.guard.failed(err)
		return
	}
	w.guard.ready()
}

// conclude runs Terminate, then waits for the goroutines. It is called again after a panic in
// Terminate, and when the last goroutine has ended.
func (w *worker) conclude(reason error) {
	g := w.guard
	if !w.concluding {
		w.concluding = true
		if g.started && !g.killed.Load() {
			w.behaviour.Terminate(&w.Process, reason)
		}
	}
	if len(w.routines()) > 0 && w.patient() {
		return
	}
	if w.deadline != nil {
		w.deadline.Stop()
	}
	defer g.concluded()
	w.abandonRoutines(g.row.child().Shutdown)
}

// patient reports whether to wait for goroutines. It sets a deadline if nothing else does: a
// supervisor that has given the Stop order has its own.
func (w *worker) patient() bool {
	g := w.guard
	budget := g.row.child().Shutdown
	if g.killed.Load() || budget == BrutalKill {
		return false
	}
	if w.deadline == nil && !g.ordered && budget != Infinity {
		w.deadline = g.sys.clock.AfterFunc(budget, func() {
			g.mailbox.PostSystemMessage(giveUp{&w.Process})
		})
	}
	return true
}

func (w *worker) signal(msg any) {
	g := w.guard
	switch msg := msg.(type) {
	case routineCrash:
		if msg.p != &w.Process {
			return
		}
		if g.phase == running {
			g.end(msg.report, msg.report)
			return
		}
		g.sys.emit(TerminatePanicked{g.row.about(w.inc, msg.report.At), msg.report})
		if g.phase == ending {
			w.conclude(g.reason)
		}
	case linkExit:
		if msg.p == &w.Process && g.phase == running {
			var rep *CrashReport
			if !IsNormal(msg.reason) {
				rep = g.newReport(msg.reason, nil, nil)
			}
			g.end(msg.reason, rep)
		}
	case giveUp:
		if msg.p == &w.Process && g.phase == ending {
			defer g.concluded()
			w.abandonRoutines(g.row.child().Shutdown)
		}
	}
}
