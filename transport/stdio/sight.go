package stdio

import (
	"sync/atomic"
	"time"
)

// sight is what is known of whether a server was stopped.
type sight struct {
	began time.Time             // from which the next two count
	read  atomic.Int64          // when bytes were read last, in nanoseconds
	sent  atomic.Int64          // when the first request since then was sent
	seen  atomic.Pointer[still] // how the server was seen stopped last; nil when it was not
	ends  atomic.Bool           // it was seen so twice, and the connection ends for it
}

// still is what does not change while a server is stopped.
type still struct {
	read  int64  // when bytes were read last
	turns uint64 // how often it had the processor
}

// heard notes that bytes were read.
func (s *sight) heard() { s.read.Store(int64(time.Since(s.began))) }

// asked notes that a request was sent: a server that had nothing to answer before was not quiet for that.
func (s *sight) asked() {
	if sent := s.sent.Load(); sent <= s.read.Load() {
		s.sent.CompareAndSwap(sent, int64(time.Since(s.began)))
	}
}

// Look is for whoever waits for an answer, to be called once per LookEvery: a server that a signal has stopped does not read, write or
// exit. When nothing was read for Quiet although something was asked, and it is found stopped for the second time in a row and was not continued in
// between, nothing more is sent; Recv returns what was read already and then ends with CauseStopped, as when it had died. One that is busy is not
// touched, however long it takes, nor is one that has less of the processor because it is stopped and continued all the time.
func (c *Conn) Look() {
	s := &c.stopped
	now := still{read: s.read.Load()}
	if time.Since(s.began)-time.Duration(max(now.read, s.sent.Load())) < Quiet {
		s.seen.Store(nil)
		return
	}
	var stopped bool
	if now.turns, stopped = c.child.stopped(); !stopped {
		s.seen.Store(nil)
		return
	}
	if last := s.seen.Swap(&now); last != nil && *last == now && !s.ends.Swap(true) {
		c.out.finish()
		c.child.stdout.SetReadDeadline(time.Now().Add(drainTime)) // wakes Recv
	}
}
