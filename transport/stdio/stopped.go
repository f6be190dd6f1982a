package stdio

import (
	"sync/atomic"
	"time"
)

// stopDetector tracks whether a signal has stopped a server.
type stopDetector struct {
	began time.Time    // the base of the next two times
	read  atomic.Int64 // the last time that bytes were read, in nanoseconds
	sent  atomic.Int64 // the time of the first request since then
	// seen is how the server was last found stopped; nil when it was not.
	lastStopped atomic.Pointer[stoppedState]
	confirmed   atomic.Bool // found stopped twice: the connection ends
}

// stoppedState holds the values that do not change while a server is stopped.
type stoppedState struct {
	read            int64  // the last time that bytes were read
	contextSwitches uint64 // how often the server got the processor
}

// heard notes that bytes were read.
func (s *stopDetector) heard() { s.read.Store(int64(time.Since(s.began))) }

// asked notes that a request was sent. The time without a request to answer does not count as
// quiet.
func (s *stopDetector) asked() {
	if sent := s.sent.Load(); sent <= s.read.Load() {
		s.sent.CompareAndSwap(sent, int64(time.Since(s.began)))
	}
}

// CheckStopped checks whether a signal has stopped the server, so that it does not read, write or
// exit. A caller that waits for a response calls it once per StopCheckInterval.
//
// CheckStopped ends the connection when both are true: nothing was read for QuietTime, nor for
// QuietTime after the first request since then; and two checks in a row found the server stopped,
// without having run in between. Then nothing more is sent, and Recv returns the messages already
// read and ends with CauseStopped, as if the server had died. A busy server is left alone, however
// long it takes. So is a server whose CPU time is limited by stopping and continuing it (SIGSTOP,
// SIGCONT).
func (c *Conn) CheckStopped() {
	s := &c.stopped
	now := stoppedState{read: s.read.Load()}
	if time.Since(s.began)-time.Duration(max(now.read, s.sent.Load())) < QuietTime {
		s.lastStopped.Store(nil)
		return
	}
	var stopped bool
	if now.contextSwitches, stopped = c.child.stopped(); !stopped {
		s.lastStopped.Store(nil)
		return
	}
	if last := s.lastStopped.Swap(&now); last != nil && *last == now && !s.confirmed.Swap(true) {
		c.out.finish()
		c.child.stdout.SetReadDeadline(time.Now().Add(emptyPipeTime)) // wakes Recv
	}
}
