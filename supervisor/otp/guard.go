package otp

import (
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// phase is where a process is in its life.
//
//	starting -> running -> ending -> parked -> starting …   (a worker, restarted in place)
//	starting | running | parked -> ending -> left
type phase uint8

const (
	starting phase = iota
	running
	ending // its end has begun
	ended  // its end is complete, but not yet reported
	parked // it waits, shut, for its supervisor's verdict
	left   // it is gone
)

// body is what a guard guards: a worker's incarnation or a supervisor's. Its methods run on the process's own goroutine and may panic: the panic
// comes back to the guard as EscalateFailure.
type body interface {
	// begin ends in guard.ready or guard.failed, at once or later.
	begin()
	// receive handles one message; its result is the reason to end, if any.
	receive(msg any) error
	// conclude ends it, and ends in guard.concluded, at once or later. It is called again after a panic in itself.
	conclude(reason error)
	// signal handles a system message that the guard does not know.
	signal(msg any)
}

// guard is one process of a row. It stands between protoactor's mailbox seam and protoactor's actor context, and
// repairs the context's life cycle:
//
//   - a panic anywhere is an exit with a report, and only what it hit fails;
//   - an incarnation's end is complete (Terminate has run, its goroutines are gone) before its supervisor hears of it;
//   - Restart begins an incarnation if one has ended, and is ignored at any other time, so nothing is resurrected;
//   - Stop ends the incarnation first, then fails what is left in the mailbox, then leaves;
//   - once abandoned, nothing it does has effect.
type guard struct {
	sys *System
	row *row
	sup *supervisor          // its supervisor, nil for a root
	kid *kid                 // its supervisor's record of it, nil for a root
	top *Tree                // set for a root
	ctx actor.MessageInvoker // protoactor's actor context; nil once a worker has left
	box mailbox

	// Written by the supervisor, read by the process.
	killed    atomic.Bool // no time for Terminate
	abandoned atomic.Bool
	relic     atomic.Pointer[any] // the heir that only it may touch, because it is in the middle of something
	debts     atomic.Pointer[debts]
	missed    atomic.Bool            // it is counted among those who have not come back
	behalf    atomic.Pointer[string] // on whose behalf it does a part of what it does; see Process.OnBehalf

	// Written by the process, read by its supervisor and by those who abandon it.
	current atomic.Pointer[Process] // a worker's incarnation
	number  atomic.Uint64           // of the incarnation

	// The process's own.
	phase     phase
	stopping  bool // a Stop order has come
	reason    error
	report    *CrashReport
	started   bool // the incarnation became ready
	due       bool // proceed is on its way
	broken    bool // the end has panicked
	overtaken bool // a supervisor ends by its own decision, taken since it was told to: what is on its way is not to end it once more
	ordered   bool // its end was ordered by the supervisor, who then watches the time
	body      body
	opened    any // the message in hand, when it came in an envelope
}

// exit is an incarnation's end, as the supervisor hears of it.
type exit struct {
	guard   *guard
	inc     uint64
	reason  error
	report  *CrashReport
	started bool // false: it did not become ready
	parked  bool // the process waits for a verdict; false: it has left
	at      time.Time
}

// Signals on the system queue, beside protoactor's.
type (
	readied  struct{ guard *guard } // to a supervisor: a child is ready
	halted   struct{ exit *exit }   // to a supervisor: a child's incarnation has ended; its process waits for the verdict, or has left
	endOrder struct{}               // to a worker: end the incarnation, keep the process
	proceed  struct{}               // to itself: go on with the end
)

func (g *guard) attach(ctx actor.MessageInvoker) { g.ctx = ctx }

func (g *guard) inc() uint64 { return g.number.Load() }

// InvokeUserMessage hands one message to the body. It does not go by way of protoactor's context: its user path has no
// part in what is promised here, and its frames make the small stack of a fresh goroutine grow at every wake-up, which
// costs three times as much as all the rest of a call.
func (g *guard) InvokeUserMessage(msg any) {
	if g.abandoned.Load() {
		g.refuse(msg, ErrKilled)
		return
	}
	if g.behalf.Load() != nil { // a panic was recovered from
		g.behalf.Store(nil)
	}
	if p := g.current.Load(); p != nil {
		m, ok := p.unpack(msg)
		if !ok {
			g.refuse(msg, ErrNoProc)
			return
		}
		if pc, own := msg.(*parcel); own {
			if g.turnedAway(m, pc.p) {
				return
			}
			g.opened = m
			if reason := g.body.receive(m); reason != nil && g.phase == running {
				g.returned(reason, &parcel{pc.p, m})
			}
			g.opened = nil
			return
		}
	}
	if g.turnedAway(msg, nil) {
		return
	}
	if reason := g.body.receive(msg); reason != nil && g.phase == running {
		g.returned(reason, msg)
	}
}

// InvokeSystemMessage handles one signal.
func (g *guard) InvokeSystemMessage(msg any) {
	if g.ctx == nil { // it has left
		g.back()
		return
	}
	if g.abandoned.Load() {
		g.vanish()
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
		g.due = false
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

// Receive hears from protoactor that the process has started. Its end the guard has seen to already.
func (g *guard) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(*actor.Started); ok {
		g.begin()
	}
}

// begin begins an incarnation.
func (g *guard) begin() {
	if g.row.child().Start.Type() == SupervisorType {
		g.body = &supervisor{guard: g}
	} else {
		g.body = &worker{Process: Process{guard: g, inc: g.inc()}}
	}
	g.body.begin()
}

// EscalateFailure is where every panic and every Goexit on the process's goroutine arrives, on the stack that panicked. Others are told last: a Fail may
// take the goroutine with it.
func (g *guard) EscalateFailure(value any, msg any) {
	about := msg
	if pc, own := msg.(*parcel); own && g.opened != nil {
		about = &parcel{pc.p, g.opened}
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
		// The end itself panicked, or something between the order for it and its begin. It goes on with what is left of it.
		g.overtaken = false
		g.broken = g.broken || value != ErrGoexit
		g.goOn()
		g.sys.emit(TerminatePanicked{g.row.about(g.inc(), rep.At), rep})
	case left: // a Fail of what waited took the goroutine with it; who supervises it has not heard yet
		if g.ctx != nil {
			g.goOn()
		}
	}
}

// refuse fails the message in hand, unless whoever has fenced the process off has done so.
func (g *guard) refuse(msg any, reason error) {
	if g.box.claim() {
		g.sys.fail(g.row.path, msg, reason)
	}
}

func (g *guard) reset() {
	g.phase, g.reason, g.report, g.started, g.ordered = starting, nil, nil, false, false
	g.opened = nil
}

// ready: the incarnation takes messages, unless its end has begun while it started.
func (g *guard) ready() {
	if g.phase != starting || g.abandoned.Load() {
		return
	}
	g.phase, g.started = running, true
	g.box.unshut()
	if g.sup != nil {
		g.tell(readied{g})
	} else {
		g.top.ready()
	}
}

// failed: the start has failed in an orderly way.
func (g *guard) failed(reason error) { g.end(reason, nil) }

// returned: Receive has returned a reason to end.
func (g *guard) returned(reason error, msg any) {
	var rep *CrashReport
	if !IsNormal(reason) {
		rep = g.newReport(reason, msg, nil)
	}
	g.refuse(msg, reason)
	g.end(reason, rep)
}

// end begins the end of the incarnation. The end itself runs as a message of its own, so that a panic in it is caught
// as any other.
func (g *guard) end(reason error, rep *CrashReport) {
	g.phase, g.reason, g.report = ending, reason, rep
	g.behalf.Store(nil)
	g.box.shut()
	if p := g.current.Load(); p != nil {
		p.cancel(reason)
	}
	g.goOn()
}

// goOn has the end begun, or gone on with: once, however often it is called until then. A worker's goroutines do that too, by themselves.
func (g *guard) goOn() {
	if !g.due {
		g.due = true
		g.box.PostSystemMessage(proceed{})
	}
}

// closing begins the end of a supervisor that decided for it and sees to it itself.
func (g *guard) closing(reason error) {
	g.overtaken = g.due // it was told to stop, and has not begun to
	g.phase, g.reason = ending, reason
	g.box.shut()
}

// stop is the order to end and leave.
func (g *guard) stop() {
	g.stopping, g.ordered = true, true
	switch g.phase {
	case starting, running: // a starting worker is never interrupted here, a starting supervisor is
		reason := ErrShutdown
		if g.killed.Load() {
			reason = ErrKilled
		}
		g.end(reason, nil)
	case parked:
		g.leave()
	}
}

// concluded: the end is complete.
func (g *guard) concluded() {
	if g.abandoned.Load() { // who watches the row watches its successor
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
	g.tell(halted{g.exit(true)})
}

// tell hands over to the supervisor, which hears this.
func (g *guard) tell(news any) {
	g.box.handOver(&g.sup.guard.box)
	g.sup.guard.box.PostSystemMessage(news)
}

func (g *guard) exit(parked bool) *exit {
	return &exit{g, g.inc(), g.reason, g.report, g.started, parked, g.sys.clock.Now()}
}

// leave ends the process: what waits is failed, the supervisor hears of it.
func (g *guard) leave() {
	g.phase = left
	e := g.exit(false)
	left, _ := g.box.close(ErrNoProc, false)
	g.sys.mourn(left) // who waits for the end finds that told; when this takes the goroutine with it, leave is called once more
	g.ctx.InvokeSystemMessage(stopOrder)
	g.let()
	if g.sup == nil {
		g.top.finish(g.reason)
		return
	}
	g.tell(halted{e})
}

// let lets go of what the process was doing once it has left: who has its address may keep it for long.
func (g *guard) let() { g.body, g.ctx = nil, nil }

func (g *guard) overloaded() {
	now := g.sys.clock.Now()
	g.sys.emit(Overloaded{g.row.about(g.inc(), now), g.box.limit})
}
