package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// A process that hears nothing of its clock for longer than stall, which no busy machine makes it wait, was stopped, by a signal or with its
// machine. It looks every beat.
const (
	stall = time.Second
	beat  = stall / 2
	// fine is how old the last look may be for Now to be without one of its own, so that those who ask at once do not wait for each other.
	fine = 10 * time.Millisecond
)

// Awake is a clock that stands while its process is stopped, so that nothing expires for what nobody was there to do. Its hour is behind by
// the length of all stops.
type Awake struct {
	base  Clock
	began time.Time
	seen  atomic.Int64 // when the process was last known to run, since began
	lost  atomic.Int64 // the length of the stops

	mu     sync.Mutex // guards changes of seen and lost, and the rest
	next   Timer
	closed bool
}

// NewAwake returns a clock that agrees with base until the process is stopped. It is to be closed.
func NewAwake(base Clock) *Awake {
	a := &Awake{base: base, began: base.Now()}
	a.beat()
	return a
}

// Close ends the looks: stops of the process may count again.
func (a *Awake) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.next.Stop()
}

func (a *Awake) beat() {
	a.look()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.next = a.base.AfterFunc(beat, a.beat)
	}
}

// look takes note that the process runs, and for how long it did not. What Now has said until then is never more than fine after what was seen.
func (a *Awake) look() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.base.Now()
	if gap := now.Sub(a.began) - time.Duration(a.seen.Load()); gap > stall {
		a.lost.Add(int64(gap - fine))
	}
	a.seen.Store(int64(now.Sub(a.began))) // after lost: see Now
	return now.Add(-time.Duration(a.lost.Load()))
}

// Now is the base's time less all stops. It never goes back but with its base.
func (a *Awake) Now() time.Time {
	seen, lost := a.seen.Load(), a.lost.Load()
	now := a.base.Now() // read last: when it is so near to what was seen, there was no stop between them that lost lacks
	if now.Sub(a.began)-time.Duration(seen) > fine {
		return a.look()
	}
	return now.Add(-time.Duration(lost))
}

// AfterFunc calls f when the process has run for d.
func (a *Awake) AfterFunc(d time.Duration, f func()) Timer {
	t := &timer{clock: a, due: a.Now().Add(d), f: f}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = a.base.AfterFunc(d, t.fire)
	return t
}

// timer waits again when it fires for a stop.
type timer struct {
	clock *Awake
	due   time.Time
	f     func()

	mu   sync.Mutex // guards the rest
	next Timer
	over bool // called or stopped
}

// Stop prevents the call.
func (t *timer) Stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.over = true
	t.next.Stop()
	return true
}

func (t *timer) fire() {
	if t.ready() {
		t.f()
	}
}

// ready reports whether the time has come.
func (t *timer) ready() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	if left := t.due.Sub(t.clock.Now()); left > 0 {
		t.next = t.clock.base.AfterFunc(left, t.fire)
		return false
	}
	t.over = true
	return true
}
