package otp

import (
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// phase is the phase of a process's life.
//
//	starting -> running -> ending -> parked -> starting …   (a worker, restarted in place)
//	starting | running | parked -> ending -> left
type phase uint8

const (
	starting phase = iota
	running
	ending // the end has begun
	ended  // the end is complete, but not yet reported
	parked // it waits, shut, for its supervisor's decision
	left   // it has left
)

// body is what a guard guards: the incarnation of a worker or of a supervisor. Its methods run on
// the process's own goroutine and may panic. The panic comes back to the guard as EscalateFailure.
type body interface {
	// begin starts the incarnation. At once or later, it calls guard.ready or guard.failed.
	begin()
	// receive handles one message. A non-nil result is the reason to end.
	receive(msg any) error
	// conclude ends the incarnation. At once or later, it calls guard.concluded. After a panic in
	// conclude, it is called again.
	conclude(reason error)
	// signal handles a system message that the guard does not know.
	signal(msg any)
}

// guard is one process of a row. It stands between protoactor's mailbox interface and protoactor's
// actor context, and repairs the life cycle of the context:
//
//   - A panic anywhere is an exit with a report, and only the message that caused it fails.
//   - The end of an incarnation is complete (Terminate has run, its goroutines have ended) before
//     its supervisor hears of it.
//   - Restart begins an incarnation if one has ended. At any other time it is ignored, so nothing
//     is resurrected.
//   - Stop ends the incarnation first, then fails what is left in the mailbox, then leaves.
//   - Once abandoned, none of its actions has an effect.
type guard struct {
	sys     *System
	row     *row
	sup     *supervisor          // its supervisor, nil for a root
	child   *childRecord         // its supervisor's record of it, nil for a root
	top     *Tree                // set for a root
	ctx     actor.MessageInvoker // protoactor's actor context; nil once a worker has left
	mailbox mailbox

	// Written by the supervisor, read by the process.
	killed    atomic.Bool // end without Terminate
	abandoned atomic.Bool
	// heldCarried is carried state that only this process may touch, because it is in the middle of a
	// change.
	heldCarried     atomic.Pointer[any]
	pending         atomic.Pointer[pendingCalls]
	countedIsolated atomic.Bool // it is counted among those that have not returned
	// origin for which it works at the moment; see Process.OnBehalf
	behalf atomic.Pointer[string]

	// Written by the process, read by its supervisor and by code that abandons it.
	current atomic.Pointer[Process] // incarnation of a worker
	number  atomic.Uint64           // number of the incarnation

	// Used only by the process itself.
	phase         phase
	stopping      bool // a Stop order has arrived
	reason        error
	report        *CrashReport
	started       bool // the incarnation was ready once
	proceedQueued bool // a proceed signal is on its way
	broken        bool // the code that ends it has panicked
	// overtaken says that a supervisor was told to end, but decided to end by itself before it began
	// to. The proceed signal that is on its way must not end it once more.
	overtaken bool
	ordered   bool // its supervisor ordered the end and sets its deadline
	body      body
	opened    any // content of the envelope being handled, nil without envelope
}

// childExit is the end of an incarnation, as reported to its supervisor.
type childExit struct {
	guard   *guard
	inc     uint64
	reason  error
	report  *CrashReport
	started bool // false: it was never ready
	parked  bool // the process waits for a decision; false: it has left
	at      time.Time
}

// Signals on the system queue, in addition to protoactor's.
type (
	readied struct{ guard *guard } // to a supervisor: a child is ready
	// halted tells a supervisor that a child's incarnation has ended. Its process waits for a
	// decision, or has left.
	halted   struct{ exit *childExit }
	endOrder struct{} // to a worker: end the incarnation, keep the process
	proceed  struct{} // to itself: continue with the end
)

func (g *guard) attach(ctx actor.MessageInvoker) { g.ctx = ctx }

func (g *guard) inc() uint64 { return g.number.Load() }

// InvokeUserMessage hands one message to the body. It bypasses protoactor's context. Nothing that
// this package promises needs the context's user path, and its frames make the small stack of a
// fresh goroutine grow at every wake-up, which would cost three times as much as the rest of a
// call.
func (g *guard) InvokeUserMessage(msg any) {
	if g.abandoned.Load() {
		g.refuse(msg, ErrKilled)
		return
	}
	if g.behalf.Load() != nil { // left behind by a panic that was recovered
		g.behalf.Store(nil)
	}
	if p := g.current.Load(); p != nil {
		m, ok := p.unpack(msg)
		if !ok {
			g.refuse(msg, ErrNoProc)
			return
		}
		if pc, own := msg.(*envelope); own {
			if g.turnedAway(m, pc.p) {
				return
			}
			g.opened = m
			if reason := g.body.receive(m); reason != nil && g.phase == running {
				g.endWith(reason, &envelope{pc.p, m})
			}
			g.opened = nil
			return
		}
	}
	if g.turnedAway(msg, nil) {
		return
	}
	if reason := g.body.receive(msg); reason != nil && g.phase == running {
		g.endWith(reason, msg)
	}
}

// InvokeSystemMessage handles one signal.
func (g *guard) InvokeSystemMessage(msg any) {
	if g.ctx == nil { // it has left
		g.returned()
		return
	}
	if g.abandoned.Load() {
		g.leaveIsolated()
		return
	}
	g.sys.handle(g.row.path, msg)
	switch msg := msg.(type) {
	case *actor.Started:
		g.number.Store(g.row.inc.Add(1))
		g.ctx.InvokeSystemMessage(msg)
	case *actor.Restart:
		if g.phase == parked && !g.stopping {
			g.number.Store(g.row.inc.Add(1))
			g.reset()
			g.begin()
		}
	case *actor.Stop:
		g.stop()
	case endOrder:
		g.ordered = true
		if g.phase == running {
			g.end(ErrShutdown, nil)
		}
	case proceed:
		g.proceedQueued = false
		switch {
		case g.phase == left:
			g.leave()
		case g.overtaken:
			g.overtaken = false
		case g.phase == ending:
			g.body.conclude(g.reason)
		}
	case *actor.Watch, *actor.Unwatch:
		g.ctx.InvokeSystemMessage(msg)
	default:
		g.body.signal(msg)
	}
}

// Receive learns from protoactor that the process has started. The guard handles the end itself.
func (g *guard) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(*actor.Started); ok {
		g.begin()
	}
}

// begin starts an incarnation.
func (g *guard) begin() {
	if g.row.child().Start.Type() == SupervisorType {
		g.body = &supervisor{guard: g}
	} else {
		g.body = &worker{Process: Process{guard: g, inc: g.inc()}}
	}
	g.body.begin()
}

// EscalateFailure gets every panic and every Goexit on the process's goroutine, on the stack that
// panicked. It fails the message last, because a Fail may end the goroutine.
func (g *guard) EscalateFailure(value any, msg any) {
	about := msg
	if pc, own := msg.(*envelope); own && g.opened != nil {
		about = &envelope{pc.p, g.opened}
	}
	rep := g.newReport(value, about, callers(2))
	defer g.refuse(msg, rep)
	if g.abandoned.Load() {
		return
	}
	switch g.phase {
	case starting, running:
		g.end(rep, rep)
	case ending:
		// The end itself panicked, or something between the order to end and its begin. Continue with the
		// rest of the end.
		g.overtaken = false
		g.broken = g.broken || value != ErrGoexit
		g.queueProceed()
		g.sys.emit(TerminatePanicked{g.row.about(g.inc(), rep.At), rep})
	// The Fail of a waiting message ended the goroutine. The supervisor has not heard of the end yet.
	case left:
		if g.ctx != nil {
			g.queueProceed()
		}
	}
}

// refuse fails the message being handled, unless the code that isolated the process has done so.
func (g *guard) refuse(msg any, reason error) {
	if g.mailbox.claim() {
		g.sys.fail(g.row.path, msg, reason)
	}
}

func (g *guard) reset() {
	g.phase, g.reason, g.report, g.started, g.ordered = starting, nil, nil, false, false
	g.opened = nil
}

// ready lets the incarnation take messages, unless its end began while it started.
func (g *guard) ready() {
	if g.phase != starting || g.abandoned.Load() {
		return
	}
	g.phase, g.started = running, true
	g.mailbox.resumeUser()
	if g.sup != nil {
		g.tell(readied{g})
	} else {
		g.top.ready()
	}
}

// failed ends an incarnation whose start has failed without a panic.
func (g *guard) failed(reason error) { g.end(reason, nil) }

// endWith ends an incarnation whose receive has returned a reason to end.
func (g *guard) endWith(reason error, msg any) {
	var rep *CrashReport
	if !IsNormal(reason) {
		rep = g.newReport(reason, msg, nil)
	}
	g.refuse(msg, reason)
	g.end(reason, rep)
}

// end begins the end of the incarnation. The end itself runs as a separate message, so that a panic
// in it is caught like any other.
func (g *guard) end(reason error, rep *CrashReport) {
	g.phase, g.reason, g.report = ending, reason, rep
	g.behalf.Store(nil)
	g.mailbox.pauseUser()
	if p := g.current.Load(); p != nil {
		p.cancel(reason)
	}
	g.queueProceed()
}

// queueProceed requests that the end begins or continues. The request is made once, even if
// queueProceed is called several times before it is handled. A worker's goroutines also request it,
// without queueProceed.
func (g *guard) queueProceed() {
	if !g.proceedQueued {
		g.proceedQueued = true
		g.mailbox.PostSystemMessage(proceed{})
	}
}

// closing begins the end of a supervisor that has decided to end and stops its children itself.
func (g *guard) closing(reason error) {
	g.overtaken = g.proceedQueued // it was told to stop and has not begun to
	g.phase, g.reason = ending, reason
	g.mailbox.pauseUser()
}

// stop handles the order to end and leave.
func (g *guard) stop() {
	g.stopping, g.ordered = true, true
	switch g.phase {
	// A starting worker is never interrupted here, because Init has returned before. A starting
	// supervisor is.
	case starting, running:
		reason := ErrShutdown
		if g.killed.Load() {
			reason = ErrKilled
		}
		g.end(reason, nil)
	case parked:
		g.leave()
	}
}

// concluded completes the end of an incarnation. The process then leaves, or is parked until its
// supervisor decides.
func (g *guard) concluded() {
	if g.abandoned.Load() { // watchers of the row watch the successor
		return
	}
	if p := g.current.Swap(nil); p != nil {
		p.finish()
	}
	g.phase = ended
	g.row.down(g.inc(), g.reason)
	if g.stopping || g.row.child().Start.Type() == SupervisorType {
		g.leave()
		return
	}
	g.phase = parked
	g.tell(halted{g.newExit(true)})
}

// tell sends a signal to the supervisor and lets this goroutine continue there.
func (g *guard) tell(news any) {
	g.mailbox.handOver(&g.sup.guard.mailbox)
	g.sup.guard.mailbox.PostSystemMessage(news)
}

func (g *guard) newExit(parked bool) *childExit {
	return &childExit{g, g.inc(), g.reason, g.report, g.started, parked, g.sys.clock.Now()}
}

// leave ends the process: it fails the waiting messages and tells the supervisor.
func (g *guard) leave() {
	g.phase = left
	e := g.newExit(false)
	left, _ := g.mailbox.close(ErrNoProc, false)
	// First the waiting messages fail, so that code that waits for the end sees them failed. If a Fail
	// ends the goroutine, leave is called once more.
	g.sys.failAll(left)
	g.ctx.InvokeSystemMessage(stopOrder)
	g.clear()
	if g.sup == nil {
		g.top.finish(g.reason)
		return
	}
	g.tell(halted{e})
}

// clear drops what the process worked with, once it has left. Code that has its address may keep
// the guard for long.
func (g *guard) clear() { g.body, g.ctx = nil, nil }

func (g *guard) overloaded() {
	now := g.sys.clock.Now()
	g.sys.emit(Overloaded{g.row.about(g.inc(), now), g.mailbox.limit})
}
