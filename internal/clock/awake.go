package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// A process whose clock shows a gap of more than stall was stopped, by a signal or with its
// machine; no busy machine delays it for so long. The process checks once in a beat.
const (
	stall = time.Second
	beat  = stall / 2
	// fine is the largest age of the last check with which Now does without a check of its own, so
	// that concurrent callers do not wait for one another.
	fine = 10 * time.Millisecond
)

// Awake is a clock that stands still while its process is stopped, so that nothing expires because
// of the stop. Its time is behind by the length of all stops.
type Awake struct {
	base  Clock
	began time.Time
	seen  atomic.Int64 // when the process was last known to run, since began
	lost  atomic.Int64 // the length of the stops

	mu     sync.Mutex // guards changes of seen and lost, and the fields below
	next   Timer
	closed bool
}

// NewAwake returns a clock that agrees with base until the process is stopped. The caller must
// close it.
func NewAwake(base Clock) *Awake {
	a := &Awake{base: base, began: base.Now()}
	a.beat()
	return a
}

// Close ends the checks. Later stops of the process may count as elapsed time.
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

// look records that the process runs, and any gap before. Earlier results of Now are never more
// than fine later than seen.
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

// Now returns the base's time minus all stops. It goes back only if its base does.
func (a *Awake) Now() time.Time {
	seen, lost := a.seen.Load(), a.lost.Load()
	// read last: if it is within fine of seen, then lost includes every stop before it
	now := a.base.Now()
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

// timer waits again if it fires too early because of a stop.
type timer struct {
	clock *Awake
	due   time.Time
	f     func()

	mu   sync.Mutex // guards the fields below
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

// ready reports whether the time has come. Otherwise it sets the timer again.
func (t *timer) ready() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	if remaining := t.due.Sub(t.clock.Now()); remaining > 0 {
		t.next = t.clock.base.AfterFunc(remaining, t.fire)
		return false
	}
	t.over = true
	return true
}
