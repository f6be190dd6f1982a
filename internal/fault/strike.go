package fault

import (
	"context"
	"slices"
	"time"

	"mcpd/internal/clock"
)

// Idle reports whether nothing is armed. In that case it is the only cost of a check: one atomic
// load.
func (r *Registry) Idle() bool { return r == nil || r.live.Load() == nil }

// BeforeReceive is called by an actor at path before it handles msg. It returns how often to handle
// msg: once, unless a fault changes that. It panics with an Injected value, or makes the caller
// wait, if a fault says so.
func (r *Registry) BeforeReceive(path string, msg any) (times int) {
	if r.Idle() {
		return 1
	}
	return r.receive(path, msg)
}

// MayStrike reports whether a fault is armed that may strike the messages of the actor at path.
func (r *Registry) MayStrike(path string) bool {
	return !r.Idle() && slices.ContainsFunc(r.list(), func(a *armed) bool {
		return a.fault.Point.Place == Receive && a.covers(path)
	})
}

func (r *Registry) receive(path string, msg any) int {
	times := 1
	for _, a := range r.list() {
		if !a.at(Receive, path, msg, r.causedBy) || !r.strike(a) {
			continue
		}
		switch a.fault.Action {
		case Panic:
			panic(Injected{a.id, Panic, path})
		case Hang, Slow:
			r.wait(context.Background(), a)
		case Spin:
			r.spin(a)
		case Drop:
			return 0
		case Duplicate:
			times = 2
		}
	}
	return times
}

// BeforeRoutine is called by a goroutine of an actor at path before it does anything. The tenant is
// the one for which it works, or empty. If a fault makes it wait, it waits until ctx ends at most.
func (r *Registry) BeforeRoutine(ctx context.Context, path, tenant string) {
	if !r.Idle() {
		r.run(ctx, path, tenant)
	}
}

func (r *Registry) run(ctx context.Context, path, tenant string) {
	for _, a := range r.list() {
		if !a.at(Routine, path, nil, func(any) string { return tenant }) || !r.strike(a) {
			continue
		}
		if a.fault.Action == Panic {
			panic(Injected{a.id, Panic, path})
		}
		r.wait(ctx, a)
	}
}

// BeforeInit is called by an actor at path before it begins an incarnation. The start has to fail
// with a returned error.
func (r *Registry) BeforeInit(path string) error {
	if r.Idle() {
		return nil
	}
	return r.begin(path)
}

func (r *Registry) begin(path string) error {
	for _, a := range r.list() {
		if !a.at(Init, path, nil, r.causedBy) || !r.strike(a) {
			continue
		}
		switch a.fault.Action {
		case Panic:
			panic(Injected{a.id, Panic, path})
		case Hang, Slow:
			r.wait(context.Background(), a)
		case Fail:
			return Injected{a.id, Fail, path}
		}
	}
	return nil
}

// Effect is what the caller has to do at a place that belongs to no actor. The zero value is
// nothing.
type Effect struct {
	// Drop, Duplicate, Late, Garble, Truncate, Cut, Fail, ReadOnly or Panic, for the caller to perform
	Action Action
	ID     string // the fault
	Place  Place
	Delay  time.Duration // of Late
}

// Error returns the text of the effect as the error of the attempted operation.
func (e Effect) Error() string { return Injected{e.ID, e.Action, string(e.Place)}.Error() }

// At is called at a place that belongs to no actor, on behalf of who. If a fault makes the caller
// wait, At returns after the wait, or when ctx ends. The caller performs the returned effect.
func (r *Registry) At(ctx context.Context, place Place, origin Who) Effect {
	if r.Idle() {
		return Effect{}
	}
	return r.effect(ctx, place, origin)
}

func (r *Registry) effect(ctx context.Context, place Place, origin Who) Effect {
	for _, a := range r.list() {
		if !a.of(place, origin) || !r.strike(a) {
			continue
		}
		if a.fault.Action != Slow && a.fault.Action != Hang {
			return Effect{a.fault.Action, a.id, place, a.fault.Delay}
		}
		r.wait(ctx, a)
	}
	return Effect{}
}

// wait returns when the fault's delay is over, the fault has ended, or ctx has ended.
func (r *Registry) wait(ctx context.Context, a *armed) {
	var late chan struct{}
	if a.fault.Delay > 0 {
		late = make(chan struct{})
		defer r.clock.AfterFunc(a.fault.Delay, func() { close(late) }).Stop()
	}
	over := a.over
	if a.fault.Action == Slow && a.fault.Count > 0 {
		over = nil // the last strike has ended the fault, but must last as long as the others
	}
	select {
	case <-late:
	case <-over:
	case <-ctx.Done():
	}
}

// strike claims one of the fault's strikes, so that a count of one breaks exactly one of many
// concurrent callers. A hang or a spin with a count stays armed until it is ended, because the
// struck callers wait for its end.
func (r *Registry) strike(a *armed) bool {
	if !a.chosen() {
		return false
	}
	n := a.struck.Add(1)
	limit := int64(a.fault.Count)
	if limit > 0 && n > limit {
		a.struck.Add(-1)
		return false
	}
	r.hint(a)
	if n == limit && a.fault.Action != Hang && a.fault.Action != Spin {
		r.end(a.id, UsedUp, nil)
	}
	return true
}

// hint reports a strike, at most once a second.
func (r *Registry) hint(a *armed) {
	if a.fault.Action == Panic {
		return
	}
	now, last := clock.SteadyNanos(r.clock.Now()), a.hinted.Load()
	if last != 0 && now-last < int64(time.Second) || !a.hinted.CompareAndSwap(last, now) {
		return
	}
	r.mu.Lock()
	tell, c := r.tell, Change{Struck, a.status()}
	r.mu.Unlock()
	told(tell, c)
}
