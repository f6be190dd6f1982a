package otp

import (
	"sync"
	"time"
)

// DefaultCallTimeout is how long Do waits for an answer when its context has no deadline, up to
// timeoutTick longer. It is longer than DefaultHardTimeout, so that the caller of a stuck actor is
// told that it is stuck.
const DefaultCallTimeout = 2 * DefaultHardTimeout

// timeoutTick is how exactly calls time out. A timer for each call would be exact, and would double
// the time that a call takes.
const timeoutTick = time.Second

// timeouts fails calls that wait longer than DefaultCallTimeout. While there are any, it looks at
// them every timeoutTick.
type timeouts struct {
	clock Clock

	mu      sync.Mutex    // guards the fields below
	calls   chain[*timed] // oldest first
	tick    uint32
	ticking bool
}

// timed is a call with a time-out.
type timed struct {
	call  Failer
	since uint32 // the tick in which it began
	place[*timed]
}

func (t *timeouts) begin(c *timed) {
	t.mu.Lock()
	c.since = t.tick
	t.calls.add(c)
	start := !t.ticking
	t.ticking = true
	t.mu.Unlock()
	if start {
		t.clock.AfterFunc(timeoutTick, t.look)
	}
}

func (t *timeouts) end(c *timed) {
	t.mu.Lock()
	t.calls.drop(c)
	t.mu.Unlock()
}

func (t *timeouts) look() {
	over, again := t.over()
	for _, c := range over {
		c.Fail(ErrTimeout)
	}
	if again {
		t.clock.AfterFunc(timeoutTick, t.look)
	}
}

// over takes out the calls whose time is over, and reports whether others wait.
func (t *timeouts) over() (over []Failer, others bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tick++
	for c := range t.calls.all() {
		if t.tick-c.since <= uint32(DefaultCallTimeout/timeoutTick) {
			break
		}
		over = append(over, c.call)
		t.calls.drop(c)
	}
	t.ticking = t.calls.first != nil
	return over, t.ticking
}
