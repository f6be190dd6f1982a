package otp

import (
	"context"
	"sync"
	"time"
)

// Process is one incarnation of a worker, as its Behaviour sees it. Unless said otherwise its methods are for the
// worker's own goroutine, that is for Init, Receive and Terminate. When the incarnation is over they have no effect.
type Process struct {
	guard     *guard
	behaviour Behaviour
	inc       uint64

	mu        sync.Mutex // guards the fields below
	cancelled bool       // termination has begun
	over      bool       // nothing of this incarnation has effect any more
	x         *extras
}

// extras is what only some workers need; an idle one goes without.
type extras struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	routines map[*routine]struct{}
	timers   chain[*timer]
	monitors map[*row]*monitor
	crowd    bool // there were many of them
	links    map[*link]struct{}
}

// Self is this row's address.
func (p *Process) Self() Ref { return Ref{p.guard.row} }

// Path is this row's path.
func (p *Process) Path() string { return p.guard.row.path }

// System is the system this worker runs in. Safe for concurrent use.
func (p *Process) System() *System { return p.guard.sys }

// Incarnation is the number of this incarnation: 1 for the row's first, one more at every restart. Safe for
// concurrent use.
func (p *Process) Incarnation() uint64 { return p.inc }

// Now is the time on the system's clock. Safe for concurrent use.
func (p *Process) Now() time.Time { return p.guard.sys.clock.Now() }

// Disturbed reports whether a fault is armed that may strike what the process handles: then nobody is
// to spare it a message.
func (p *Process) Disturbed() bool { return p.guard.sys.faults.Disturbs(p.guard.row.path) }

// Context ends when termination of this incarnation begins; its cause is the reason as far as it is known by then.
// Safe for concurrent use.
func (p *Process) Context() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := p.extra()
	if x.ctx == nil {
		x.ctx, x.cancel = context.WithCancelCause(context.Background())
		if p.cancelled {
			x.cancel(ErrShutdown)
		}
	}
	return x.ctx
}

// Heir is the value that an earlier incarnation, or this one, has given to SetHeir; nil when there is none. Its
// predecessor may have crashed halfway through a change: one that crashes incarnation after incarnation is given up.
func (p *Process) Heir() any {
	if p.isOver() {
		return nil
	}
	r := p.guard.row
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.heir
}

// SetHeir keeps a value for the incarnations to come. The row drops it when it is deleted, when its supervisor ends, or
// when one incarnation after the other crashes with it, and then calls its Abandon(error) method if it has one, so that what it holds can be closed.
func (p *Process) SetHeir(v any) {
	r := p.guard.row
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	r.mu.Lock()
	r.heir = v
	r.mu.Unlock()
}

// SetStatus publishes a value as Node.Extra of this row in snapshots. It is read by others at any time: hand over
// something that will not change.
func (p *Process) SetStatus(v any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.guard.row.extra.Store(&v)
	}
}

// Post puts a message into this worker's own mailbox, for this incarnation only. Errors are ErrOverloaded, and
// ErrNoProc when the incarnation is over. Safe for concurrent use.
func (p *Process) Post(msg any) error {
	if p.isOver() {
		return ErrNoProc
	}
	return p.guard.box.offer(&parcel{p, msg})
}

// Receiver is what takes messages: a Ref, or what stands for one that changes.
type Receiver interface{ Send(msg any) error }

// Send is to.Send on behalf of this incarnation: once that is over, as when it was stuck and has been replaced, the error is ErrNoProc and
// nothing is sent. Safe for concurrent use.
func (p *Process) Send(to Receiver, msg any) error {
	if p.isOver() {
		return ErrNoProc
	}
	return to.Send(msg)
}

// Check ends the caller, by a panic that is nobody's crash, when this incarnation is over, as when it was stuck and has been replaced. It comes before
// what has effect and does not go by way of the Process: writing to a peer, or to a value that others see. It is for the worker and its owned goroutines.
func (p *Process) Check() {
	if p.isOver() {
		panic(ErrStuck)
	}
}

// Progress says that the worker makes progress, in a loop that may take longer than Child.Hard: from now on it has that time again. Like Check it ends
// the caller when this incarnation is over. It costs little enough to be called for each of many things.
func (p *Process) Progress() {
	p.Check()
	p.guard.box.progress()
}

func (p *Process) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

// PostWait is Post that waits while half of the mailbox is taken, which is how a goroutine that reads from a peer makes the
// peer wait as well; the other half is for those who cannot wait. It ends with ErrNoProc when the incarnation ends and with
// the context's cause when ctx does. It is for owned goroutines only: the worker itself would wait for itself.
func (p *Process) PostWait(ctx context.Context, msg any) error {
	if p.isOver() {
		return ErrNoProc
	}
	return p.guard.box.offerWait(ctx, p.Context(), &parcel{p, msg})
}

func (p *Process) extra() *extras {
	if p.x == nil {
		p.x = &extras{}
	}
	return p.x
}

// cancel begins termination: the context ends.
func (p *Process) cancel(reason error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancelled = true
	if p.x != nil && p.x.cancel != nil {
		p.x.cancel(reason)
	}
}

// finish completes it: nothing of this incarnation has effect any more, and nobody keeps a pointer to it.
func (p *Process) finish() {
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		return
	}
	p.over = true
	x := p.extra()
	timers, monitors, links := x.timers.take(), x.monitors, x.links
	x.monitors, x.links = nil, nil
	p.mu.Unlock()
	for _, t := range timers {
		t.done.Store(true)
		t.clock.Stop()
	}
	for at, m := range monitors {
		if at != nil {
			takeBack(at, m)
		}
	}
	for l := range links {
		l.at.unwatch(l)
	}
}
