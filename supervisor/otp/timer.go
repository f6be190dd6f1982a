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
	if t.t == nil {
		return false
	}
	p := t.t.p.Load()
	if !t.t.void() {
		return false
	}
	p.forget(t.t)
	return true
}

// After sends msg to this incarnation after d. A timer that has not fired ends with the
// incarnation.
func (p *Process) After(d time.Duration, msg any) Timer {
	t := &timer{msg: msg}
	t.p.Store(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return Timer{}
	}
	x := p.extra()
	x.timers.add(t)
	t.clock = p.guard.sys.clock.AfterFunc(d, t.fire)
	return Timer{t}
}

// timer is also the envelope in which its message travels, so that Stop can void it there.
type timer struct {
	p     atomic.Pointer[Process] // nil once it is void
	msg   any
	clock ClockTimer
	done  atomic.Bool // stopped or received
	place[*timer]
}

func (t *timer) fire() {
	if p := t.p.Load(); p != nil {
		p.forget(t)
		p.deliver(t)
	}
}

// void stops the timer and reports whether its message had not been received. The clock may know a
// stopped timer until the time of its message, so the timer lets go of the message and of the
// process, which may hold megabytes.
func (t *timer) void() bool {
	if !t.done.CompareAndSwap(false, true) {
		return false
	}
	t.clock.Stop()
	t.msg = nil
	t.p.Store(nil)
	return true
}

func (t *timer) open() (any, bool) {
	if !t.done.CompareAndSwap(false, true) {
		return nil, false
	}
	return t.msg, true
}

func (p *Process) forget(t *timer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.extra().timers.drop(t)
}
