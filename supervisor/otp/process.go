package otp

import (
	"context"
	"sync"
	"time"
)

// Process is one incarnation of a worker, as its Behaviour sees it. Unless said otherwise, its
// methods may be called only on the worker's own goroutine, that is from Init, Receive and
// Terminate. Once the incarnation is over, they have no effect.
type Process struct {
	guard     *guard
	behaviour Behaviour
	inc       uint64

	mu        sync.Mutex // guards the fields below
	cancelled bool       // termination has begun
	over      bool       // no call of this incarnation has an effect any more
	x         *extras
}

// extras holds the fields that only some workers need. An idle worker does without them.
type extras struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	routines map[*routine]struct{}
	timers   chain[*timer]
	monitors map[*row]*monitor
	// hadMany says that there were many monitors; see manyMonitors.
	hadMany bool
	links   map[*link]struct{}
}

// Self returns the address of this row.
func (p *Process) Self() Ref { return Ref{p.guard.row} }

// Path returns the path of this row.
func (p *Process) Path() string { return p.guard.row.path }

// System returns the system that this worker runs in. It is safe for concurrent use.
func (p *Process) System() *System { return p.guard.sys }

// Incarnation returns the number of this incarnation: 1 for the first of the row, one more at every
// restart. It is safe for concurrent use.
func (p *Process) Incarnation() uint64 { return p.inc }

// Now returns the time on the system's clock. It is safe for concurrent use.
func (p *Process) Now() time.Time { return p.guard.sys.clock.Now() }

// FaultArmed reports whether an armed fault may strike a message that this worker handles. Then
// senders must not optimize messages to this worker away, or the fault would not strike.
func (p *Process) FaultArmed() bool { return p.guard.sys.faults.MayStrike(p.guard.row.path) }

// Context returns a context that ends when termination of this incarnation begins. Its cause is the
// reason, as far as the reason is known at that time. Context is safe for concurrent use.
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

// CarriedState returns the carried state: the value that this incarnation or an earlier one has
// given to SetCarriedState, nil when there is none. The previous incarnation may have crashed
// halfway through a change of the value. If incarnations crash with it one after the other, the
// value is dropped.
func (p *Process) CarriedState() any {
	if p.isOver() {
		return nil
	}
	r := p.guard.row
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.carried
}

// SetCarriedState stores v as carried state for later incarnations. The row drops the value when
// the row is deleted, or when its supervisor ends. It also drops the value when incarnations crash
// with it one after the other, or when an incarnation is stuck and the value is not Detachable. If
// a dropped value has a method Abandon(error), the method is called, so that it can close what the
// value holds.
func (p *Process) SetCarriedState(v any) {
	r := p.guard.row
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	r.mu.Lock()
	r.carried = v
	r.mu.Unlock()
}

// SetStatus publishes a value as Node.Extra of this row in snapshots. Others read the value at any
// time, so it must not change afterwards.
func (p *Process) SetStatus(v any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.guard.row.extra.Store(&v)
	}
}

// Post puts a message into this worker's own mailbox, for this incarnation only. Its errors are
// ErrOverloaded when the mailbox is full, and ErrNoProc when the incarnation is over. It is safe
// for concurrent use.
func (p *Process) Post(msg any) error {
	if p.isOver() {
		return ErrNoProc
	}
	return p.guard.mailbox.offer(&envelope{p, msg})
}

// Receiver takes messages. It is a Ref, or stands for a Ref that changes.
type Receiver interface{ Send(msg any) error }

// Send calls to.Send on behalf of this incarnation. Once the incarnation is over, for example
// because it was stuck and has been replaced, Send returns ErrNoProc and sends nothing. It is safe
// for concurrent use.
func (p *Process) Send(to Receiver, msg any) error {
	if p.isOver() {
		return ErrNoProc
	}
	return to.Send(msg)
}

// Check panics when this incarnation is over, for example because it was stuck and has been
// replaced. The panic ends the caller and does not count as a crash. Call Check before actions that
// have an effect and do not go through the Process: writing to a peer, or to a value that others
// see. Check is for the worker and its owned goroutines.
func (p *Process) Check() {
	if p.isOver() {
		panic(ErrStuck)
	}
}

// Progress reports that the worker makes progress in a loop that may take longer than
// Child.HardTimeout: the times Child.SoftTimeout and Child.HardTimeout start again. Like Check, it
// panics when this incarnation is over. It is cheap enough to be called in each step of a loop.
func (p *Process) Progress() {
	p.Check()
	p.guard.mailbox.progress()
}

func (p *Process) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

// PostWait is Post, but waits while half of the mailbox is taken. So a goroutine that reads from a
// peer makes the peer wait too; the other half of the mailbox is for senders that cannot wait. It
// returns ErrNoProc when the incarnation ends, and the cause of ctx when ctx ends. It is for owned
// goroutines only: the worker itself would wait for itself.
func (p *Process) PostWait(ctx context.Context, msg any) error {
	if p.isOver() {
		return ErrNoProc
	}
	return p.guard.mailbox.offerWait(ctx, p.Context(), &envelope{p, msg})
}

func (p *Process) extra() *extras {
	if p.x == nil {
		p.x = &extras{}
	}
	return p.x
}

// cancel begins termination: it ends the context.
func (p *Process) cancel(reason error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancelled = true
	if p.x != nil && p.x.cancel != nil {
		p.x.cancel(reason)
	}
}

// finish completes termination: no call of this incarnation has an effect any more. It stops timers
// and removes monitors and links, so that nothing keeps a pointer to the incarnation.
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
		t.void()
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
