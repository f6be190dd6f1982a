package otp

import (
	"context"
	"slices"
	"time"
)

// Done is the message with which an owned goroutine's end reaches the worker that started it.
type Done struct {
	Name string
	Err  error // what the function returned; ErrGoexit when it did not return

	origin string
}

// Origin is whom the goroutine worked for: see GoFor.
func (d Done) Origin() string { return d.origin }

// routine is one owned goroutine.
type routine struct {
	name   string
	origin string // whom its panic is charged to; see Attributed
}

// Go runs f in a goroutine that belongs to this incarnation: its context ends when termination of the incarnation
// begins, its end arrives as a Done message, its panic is a crash of the incarnation, and the incarnation has not
// ended before it has returned (within the child's Shutdown; after that it is abandoned with an event). It must not
// touch the worker's state: Post and PostWait are its way back. Go may be called from an owned goroutine too, and from
// Terminate: once termination has begun f runs with a context that has ended already, so that what it was to answer is
// answered. Only when the incarnation is over, which its abandoned leftovers may not know, f is not run.
func (p *Process) Go(name string, f func(ctx context.Context) error) { p.GoFor("", name, f) }

// GoFor is Go on behalf of an origin, to which a panic of f is charged; see Attributed.
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

// Sleep waits on the system's clock, less when ctx ends: then it returns its cause. It is for owned goroutines.
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

// run is the goroutine.
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
	p.guard.sys.faults.Run(ctx, p.guard.row.path, r.origin)
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
		p.guard.box.PostSystemMessage(routineCrash{p, crash})
	case last:
		p.guard.box.PostSystemMessage(proceed{})
	default:
		p.deliver(done)
	}
}

// routines is the names of the owned goroutines that run.
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

// routineCrash tells a worker that a goroutine of its has panicked.
type routineCrash struct {
	p      *Process
	report *CrashReport
}

// giveUp tells a worker that ends by itself that its goroutines had their time.
type giveUp struct{ p *Process }

// abandonRoutines reports the goroutines that are still there as abandoned.
func (p *Process) abandonRoutines(budget time.Duration) {
	each(p.routines(), func(name string) {
		p.guard.sys.emit(Abandoned{p.guard.row.about(p.inc, p.Now()), name, budget})
	})
}
