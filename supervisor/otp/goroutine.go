package otp

import (
	"context"
	"slices"
	"time"
)

// Done is the message that tells a worker that a goroutine it owns has ended.
type Done struct {
	Name string
	Err  error // result of the function; ErrGoexit when it did not return

	origin string
}

// Origin returns the origin that the goroutine worked for; see GoFor.
func (d Done) Origin() string { return d.origin }

// routine is one owned goroutine.
type routine struct {
	name   string
	origin string // its panic is charged to this origin; see Attributed
}

// Go runs f in a goroutine that belongs to this incarnation. The context of f ends when termination
// of the incarnation begins. The end of f arrives as a Done message; a panic in f is a crash of the
// incarnation. An ending incarnation waits until f has returned, but no longer than the child's
// Shutdown. Then the goroutine is abandoned, with an Abandoned event.
//
// f must not touch the worker's state; it reports back with Post and PostWait. Go may also be
// called from an owned goroutine and from Terminate. Once termination has begun, f runs with a
// context that has ended already, so that calls which f is to answer get an answer. When the
// incarnation is over, which an abandoned goroutine may not notice, f does not run.
func (p *Process) Go(name string, f func(ctx context.Context) error) { p.GoFor("", name, f) }

// GoFor is Go on behalf of an origin. A panic of f is charged to that origin; see Attributed.
func (p *Process) GoFor(origin, name string, f func(ctx context.Context) error) {
	ctx := p.Context()
	r := &routine{name, origin}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	x := p.extra()
	if x.routines == nil {
		x.routines = make(map[*routine]struct{})
	}
	x.routines[r] = struct{}{}
	if s := p.guard.sys.scheduler; s != nil {
		s.Go(ctx, p.Path(), name, func() { p.run(ctx, r, f) })
		return
	}
	// owner: the incarnation, whose end waits for it in worker.conclude
	go p.run(ctx, r, f)
}

// Sleep waits for d on the system's clock. When ctx ends first, it returns the cause of ctx. It is
// for owned goroutines.
func (p *Process) Sleep(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	defer p.guard.sys.clock.AfterFunc(d, func() { close(over) }).Stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run is the body of the goroutine.
func (p *Process) run(ctx context.Context, r *routine, f func(ctx context.Context) error) {
	done := Done{Name: r.name, Err: ErrGoexit, origin: r.origin}
	returned := false
	defer func() {
		if returned {
			p.routineEnded(r, done, nil)
			return
		}
		if v := recover(); v != nil {
			p.routineEnded(r, done, p.guard.newReport(v, nil, callers(1)))
			return
		}
		p.routineEnded(r, done, nil) // Goexit
	}()
	p.guard.sys.faults.BeforeRoutine(ctx, p.guard.row.path, r.origin)
	done.Err = f(ctx)
	returned = true
}

func (p *Process) routineEnded(r *routine, done Done, crash *CrashReport) {
	p.mu.Lock()
	delete(p.x.routines, r)
	last := p.cancelled && len(p.x.routines) == 0
	p.mu.Unlock()
	switch {
	case crash != nil:
		crash.Incarnation, crash.Origin = p.inc, r.origin
		p.guard.mailbox.PostSystemMessage(routineCrash{p, crash})
	case last:
		p.guard.mailbox.PostSystemMessage(proceed{})
	default:
		p.deliver(done)
	}
}

// routines returns the names of the owned goroutines that run, sorted.
func (p *Process) routines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.x == nil {
		return nil
	}
	var names []string
	for r := range p.x.routines {
		names = append(names, r.name)
	}
	slices.Sort(names)
	return names
}

// routineCrash tells a worker that one of its goroutines has panicked.
type routineCrash struct {
	p      *Process
	report *CrashReport
}

// giveUp tells a worker that ends by itself that the time of its goroutines is over.
type giveUp struct{ p *Process }

// abandonRoutines reports the goroutines that still run as abandoned.
func (p *Process) abandonRoutines(budget time.Duration) {
	each(p.routines(), func(name string) {
		p.guard.sys.emit(Abandoned{p.guard.row.about(p.inc, p.Now()), name, budget})
	})
}
