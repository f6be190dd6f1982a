package otp

import (
	"fmt"
	"time"
)

// supervisor is the actor that performs the decisions of its state. Each value is one incarnation:
// a restarted supervisor is a new process with a new state, over the same rows.
type supervisor struct {
	guard    *guard
	state    *state
	static   map[string]bool // ids in the spec; other children came by StartChild
	template *Child          // template of a pool, otherwise nil
	// undone holds the actions of the last step that are not performed yet. Some are left when other
	// code has ended the goroutine.
	undone  []action
	events  []Event    // sent when the step is done
	alarm   ClockTimer // timer of a pool that ends
	closing bool
}

var _ body = (*supervisor)(nil)

func (v *supervisor) receive(msg any) error {
	if again, ok := msg.(inAgain); ok {
		v.step(again)
		return nil
	}
	v.guard.sys.handle(v.guard.row.path, msg)
	for range v.guard.sys.faults.BeforeReceive(v.guard.row.path, msg) {
		v.request(msg)
	}
	return nil
}

// begin makes the state and the rows, and starts the children.
func (v *supervisor) begin() {
	r := v.guard.row
	if err := v.guard.sys.faults.BeforeInit(r.path); err != nil {
		v.guard.failed(err)
		return
	}
	start := r.child().Start
	spec := start.supervisor(r.arguments())
	err := Validate(spec)
	if v.guard.abandoned.Load() { // while the spec was made: the rows belong to another supervisor
		return
	}
	if err != nil {
		v.guard.failed(err)
		return
	}
	v.state = newState(r.path, spec)
	r.strategy.Store(uint32(spec.Strategy))
	if spec.Strategy == SimpleOneForOne {
		t := spec.Children[0].resolved()
		v.template = &t
		spec.Children = nil
	}
	old := r.rows()
	v.static = make(map[string]bool, len(spec.Children))
	for _, c := range spec.Children {
		v.static[c.ID] = true
	}
	kept := make(map[string]*row, len(old))
	for _, c := range old {
		if r.remove(c); v.static[c.id] {
			kept[c.id] = c
		} else {
			c.forgetStart()
		}
	}
	for _, c := range spec.Children {
		c := c.resolved()
		v.state.roster.add(v.adopt(kept[c.ID], c.ID, &c, nil))
	}
	v.step(inBoot{})
}

// adopt makes the record of a child, over its old row if there is one.
func (v *supervisor) adopt(old *row, id string, c *Child, args any) *childRecord {
	r := old
	if r == nil {
		r = newRow(v.guard.sys, v.guard.row, v, id, c, args)
	} else {
		r.handOver(v, c)
	}
	v.guard.row.add(r, v.guard)
	k := &childRecord{id: id, child: c}
	k.driver.row = r
	return k
}

// step lets the state decide and performs the decisions. First it performs the rest of an earlier
// step that other code has broken off, because the state waits for the effects of that rest.
//
// Events are sent last. So the decisions are under way by then, except for a child that this
// goroutine continues with. They are also sent before anything that makes other supervisors send
// events, so that all events are in order.
func (v *supervisor) step(in any) {
	now := v.guard.sys.clock.Now()
	v.carryOut(now)
	v.undone = v.state.Step(now, in)
	v.carryOut(now)
	v.flush()
}

// carryOut performs the decided actions that have not begun.
func (v *supervisor) carryOut(now time.Time) {
	for len(v.undone) > 0 {
		a := v.undone[0]
		v.undone = dropFirst(v.undone)
		v.perform(now, a)
	}
}

func (v *supervisor) flush() {
	events := v.events
	v.events = nil
	each(events, v.guard.sys.emit)
}

// exited passes on the end of a child, unless it comes from a process that is no longer in its row.
func (v *supervisor) exited(e *childExit) {
	r, k := e.guard.row, e.guard.child
	if k.driver.guard != e.guard {
		return
	}
	blame := v.blame(k, e)
	if k.stage == up || k.stage == away {
		k.driver.ended, k.driver.reason = e.at, e.reason
		if e.report != nil {
			k.driver.ended = e.report.At
		}
	}
	if !e.parked {
		k.driver.guard = nil
		r.house(v, nil, Restarting, e.at) // until the state decides otherwise
	}
	about := r.about(e.inc, e.at)
	switch {
	case e.started:
		v.note(ChildExited{about, e.reason, e.report})
	case e.reason != Ignore:
		v.note(StartFailed{about, e.reason, e.report})
	}
	in := inExit{child: k, reason: e.reason, parked: e.parked, blame: blame}
	if e.report != nil {
		in.origin = e.report.Origin
		_, in.held = r.held(in.origin)
	}
	defer v.decide(in, e.at)
	if k.child.Start.Type() == SupervisorType {
		v.flush()
	}
}

// decide is the step that follows an end.
func (v *supervisor) decide(in inExit, at time.Time) {
	v.step(in)
	if k := in.child; k.stage == idle && k.parked { // its group is not started again yet
		k.driver.row.mark(v, Restarting, at)
	}
}

// rest marks a row in which nothing runs any more. The row of an abandoned child keeps its status.
func (v *supervisor) rest(k *childRecord) {
	k.driver.guard = nil
	r, now := k.driver.row, v.guard.sys.clock.Now()
	if Status(r.status.Load()) != StatusAbandoned {
		r.rest(v, Stopped, now)
	} else if r.proc.Load() != nil {
		r.rest(v, StatusAbandoned, now)
	}
}

// signal handles a message of the system queue.
func (v *supervisor) signal(msg any) {
	switch msg := msg.(type) {
	case halted:
		v.exited(msg.exit)
	case readied:
		if k := msg.guard.child; k.driver.guard == msg.guard {
			v.readied(k)
		}
	case inTimeout:
		msg.full = msg.child != nil && msg.child.driver.row.atIsolationLimit()
		v.step(msg)
	case overdue:
		v.stuck(msg)
	}
}

// stuck replaces a child that does not return from a message. If too many were replaced that way,
// the supervisor gives up. A child that is a supervisor is abandoned with everything below it. If
// it does not return while it starts or stops, its time for that is over.
func (v *supervisor) stuck(o overdue) {
	g, now := o.guard, v.guard.sys.clock.Now()
	k := g.child
	sup := g.row.child().Start.Type() == SupervisorType
	if k.driver.guard != g || k.stage != up && !sup {
		return
	}
	full := g.row.atIsolationLimit()
	end := g.replace
	if sup {
		end = g.abandonIfStuck
	}
	cut, ok := end(o.since, o.report)
	if !ok {
		return
	}
	defer v.guard.sys.failAll(cut.lost)
	if k.stage != up {
		defer v.step(inTimeout{k, k.timer, full})
	} else {
		var reason error = o.report
		if full {
			reason = tooMany(o.report)
		}
		k.driver.guard, k.driver.ended, k.driver.reason = nil, now, reason
		g.row.mark(v, Restarting, now)
		v.note(ChildExited{g.row.about(g.inc(), now), reason, o.report})
		_, held := g.row.held(o.report.Origin)
		defer v.step(inExit{child: k, reason: reason, lost: true, origin: o.report.Origin, held: held})
	}
	cut.takeCarried()
}

// tooMany makes the reason for which a supervisor gives up instead of restarting more stuck
// children.
func tooMany(reason error) error {
	return fmt.Errorf("%w: too many do not come back: %w", ErrGiveUp, reason)
}

func (v *supervisor) readied(k *childRecord) {
	r, now := k.driver.row, v.guard.sys.clock.Now()
	if k.stage == going {
		r.mark(v, Running, now)
		about := r.about(r.inc.Load(), now)
		if k.restarted {
			v.note(ChildRestarted{
				about, r.restarts.Load(), k.driver.inPlace, now.Sub(k.driver.ended), k.driver.reason,
			})
		} else {
			v.note(ChildStarted{about})
		}
		k.driver.reason = nil
	}
	defer v.step(inReady{k})
	v.flush()
}

func (v *supervisor) note(e Event) {
	if v.guard.sys.events != nil {
		v.events = append(v.events, e)
	}
}

// conclude stops the children. If other code has ended the goroutine meanwhile, conclude is called
// again and continues where it was. After a panic, which only a bug of this package can cause, it
// abandons everything below instead, so that the supervisor above can start afresh. Without a
// state, because the spec was invalid, there is nothing to stop.
func (v *supervisor) conclude(reason error) {
	if v.state == nil || v.closing && v.guard.broken {
		v.collapse(reason)
		return
	}
	v.closing = true
	v.step(inStop{reason})
}

func (v *supervisor) collapse(reason error) {
	now := v.guard.sys.clock.Now()
	if v.state != nil {
		for k := v.state.roster.first; k != nil; k = k.next {
			if k.driver.guard != nil {
				v.abandon(now, k, 0, nil)
			}
		}
	}
	v.exit(now, reason)
}

// exit ends the supervisor itself. Rows of the spec stay for the next incarnation of the
// supervisor; the others are removed.
func (v *supervisor) exit(now time.Time, reason error) {
	if v.alarm != nil {
		v.alarm.Stop()
	}
	r := v.guard.row
	v.note(SupervisorStopped{r.about(r.inc.Load(), now), reason})
	defer v.guard.concluded()
	defer v.flush()
	each(r.rows(), func(c *row) {
		left, ok := c.release(v, now)
		if !ok {
			return
		}
		defer v.guard.sys.failAll(left)
		if !v.static[c.id] {
			r.remove(c)
			c.forgetStart()
		}
		c.dropAllCarried(reason)
	})
}
