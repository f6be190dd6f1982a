package otp

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"mcpd/internal/clock"
)

// perform does one action that the state has decided. It never waits. Within an action, calls of
// other code come last, because they may end the goroutine.
func (v *supervisor) perform(now time.Time, a action) {
	switch a.verb {
	case doAdd:
		v.guard.row.add(a.child.driver.row, v.guard)
	case doSpawn:
		v.spawn(now, a.child)
	case doDropCarried:
		r := a.child.driver.row
		if !r.ownedBy(v) {
			return
		}
		v.note(StateDropped{r.about(r.inc.Load(), now), "crashes with it"})
		r.dropCarried(a.reason)
	case doBegin:
		a.child.driver.inPlace = true
		a.child.driver.row.mark(v, v.starting(a.child), now)
		v.order(a.child.driver.guard, restartOrder)
	case doPark:
		v.order(v.ending(now, a.child, ErrShutdown), endOrder{})
	case doStop:
		v.order(v.ending(now, a.child, ErrShutdown), stopOrder)
	case doKill:
		a.child.driver.guard.killed.Store(true)
		v.order(v.ending(now, a.child, ErrKilled), stopOrder)
	case doReap:
		v.order(a.child.driver.guard, stopOrder)
		v.rest(a.child)
	case doRest:
		v.rest(a.child)
	case doAbandon:
		v.abandon(now, a.child, a.delay, a.reason)
	case doArm:
		v.arm(a)
	case doDisarm:
		if t := a.child.driver.alarm; t != nil {
			t.Stop()
			a.child.driver.alarm = nil
		}
	case doAgain:
		a.child.driver.row.mark(v, Restarting, now)
		v.guard.mailbox.push(inAgain{a.child})
	case doDelete:
		r := a.child.driver.row
		if left, ok := r.release(v, now); ok {
			defer v.guard.sys.failAll(left)
			v.guard.row.remove(r)
			r.forgetStart()
			r.dropAllCarried(ErrShutdown)
		}
	case doReply:
		v.answer(a)
	case doReady:
		defer v.guard.ready()
		v.flush()
	case doOpen:
		if v.guard.phase == running { // not about to end
			v.guard.mailbox.resumeUser()
		}
	case doShut:
		v.guard.mailbox.pauseUser()
	case doGiveUp:
		r := v.guard.row
		v.note(IntensityExceeded{r.about(r.inc.Load(), now), a.reason.(*IntensityError)})
		v.flush() // before children end because of this event, since their ends may refer to it
	case doCharge:
		v.charge(now, a)
	case doPause:
		r := a.child.driver.row
		r.mark(v, Paused, now)
		r.unstable.Store(clock.SteadyNanos(now.Add(a.delay + v.state.backoff.Stable)))
		v.note(ChildPaused{r.about(r.inc.Load(), now), a.reason, a.delay})
	case doClose:
		v.closing = true
		v.guard.closing(a.reason)
	case doExit:
		v.exit(now, a.reason)
	}
}

// order tells a child's process what to do, and continues there.
func (v *supervisor) order(g *guard, order any) {
	v.guard.mailbox.handOver(&g.mailbox)
	g.mailbox.PostSystemMessage(order)
}

var (
	restartOrder = &actor.Restart{}
	stopOrder    = &actor.Stop{}
)

// starting counts the start of an incarnation and returns the status of the row during the start.
func (v *supervisor) starting(k *childRecord) Status {
	if !k.restarted {
		return Starting
	}
	k.driver.row.restarts.Add(1)
	return Restarting
}

// spawn starts a new process in the row.
func (v *supervisor) spawn(now time.Time, k *childRecord) {
	r, sys := k.driver.row, v.guard.sys
	g := sys.newGuard(r, v)
	g.child = k
	if old := r.proc.Load(); old != nil { // it was isolated
		g.mailbox.takeOver(&old.mailbox)
		g.pending.Store(old.pending.Load())
	}
	first := sys.scheduler == nil // its first goroutine is this one
	g.mailbox.running = first
	k.driver.guard, k.driver.inPlace = g, false
	if !r.house(v, g, v.starting(k), now) {
		return // this supervisor was abandoned
	}
	if err := sys.spawn(g); err != nil {
		panic(err) // names are unique: only a bug can cause it
	}
	if first {
		v.guard.mailbox.continueWith(&g.mailbox)
	}
}

// ending marks the row as stopping. It ends the context of the incarnation before the order is
// sent, so that blocking calls under the context return.
func (v *supervisor) ending(now time.Time, k *childRecord, reason error) *guard {
	g := k.driver.guard
	g.row.mark(v, Stopping, now)
	if p := g.current.Load(); p != nil {
		p.cancel(reason)
	}
	return g
}

// charge reports a crash that is charged to an origin. If crashes repeat, the row refuses the
// origin from now on, so that waiting messages of the origin do not crash the next incarnations
// too.
func (v *supervisor) charge(now time.Time, a action) {
	r := a.child.driver.row
	if a.times > 1 || a.delay > 0 {
		r.refuse(a.origin, now, a.delay, a.reason)
	}
	v.note(CrashCharged{r.about(r.inc.Load(), now), a.origin, a.reason, a.times, a.delay})
}

func (v *supervisor) arm(a action) {
	box := &v.guard.mailbox
	in := inTimeout{child: a.child, timer: a.timer}
	t := v.guard.sys.clock.AfterFunc(a.delay, func() { box.PostSystemMessage(in) })
	if a.child == nil {
		v.alarm = t
		return
	}
	if old := a.child.driver.alarm; old != nil {
		old.Stop()
	}
	a.child.driver.alarm = t
}

// abandon gives up a child after its time. It may still run, but it is no longer in the tree. With
// a reason, the child is started again in a process that takes over the waiting messages.
func (v *supervisor) abandon(now time.Time, k *childRecord, budget time.Duration, reason error) {
	r, g := k.driver.row, k.driver.guard
	k.driver.guard = nil
	v.note(Abandoned{Row: r.about(r.inc.Load(), now), Budget: budget})
	if reason != nil {
		if cut, ok := g.replace(0, reason); ok {
			r.mark(v, StatusAbandoned, now)
			defer v.guard.sys.failAll(cut.lost)
			cut.takeCarried()
			return
		}
	}
	cut := g.abandon()
	defer v.guard.sys.failAll(cut.lost)
	defer r.rest(v, StatusAbandoned, now)
	cut.takeCarried()
}
