package otp

import (
	"sync/atomic"
	"time"
)

// Timer is a message that Process.After has scheduled. The zero Timer has none.
type Timer struct{ t *timer }

// Stop prevents the message and reports whether it did. After Stop the message does not arrive,
// even if it was already waiting in the mailbox. It is safe for concurrent use.
func (t Timer) Stop() bool {
	if t.t == nil || !t.t.done.CompareAndSwap(false, true) {
		return false
	}
	t.t.clock.Stop()
	t.t.p.forget(t.t)
	return true
}

// After sends msg to this incarnation after d. A timer that has not fired ends with the
// incarnation.
func (p *Process) After(d time.Duration, msg any) Timer {
	t := &timer{p: p, msg: msg}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		t.done.Store(true)
		return Timer{t}
	}
	x := p.extra()
	x.timers.add(t)
	t.clock = p.guard.sys.clock.AfterFunc(d, t.fire)
	return Timer{t}
}

// timer is also the envelope in which its message travels, so that Stop can void it there.
type timer struct {
	p     *Process
	msg   any
	clock ClockTimer
	done  atomic.Bool // stopped or received
	place[*timer]
}

func (t *timer) fire() {
	t.p.forget(t)
	t.p.deliver(t)
}

func (t *timer) open() (any, bool) { return t.msg, t.done.CompareAndSwap(false, true) }

func (p *Process) forget(t *timer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.extra().timers.drop(t)
}
