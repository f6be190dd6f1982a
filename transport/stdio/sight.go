package stdio

import (
	"sync/atomic"
	"time"
)

// sight is what is known of whether a server was stopped.
type sight struct {
	began time.Time    // from which read counts
	read  atomic.Int64 // when bytes were read last, in nanoseconds
	seen  atomic.Int64 // what read was when the server was seen stopped; 0 when it was not
	ends  atomic.Bool  // it was seen twice, and the connection ends for it
}

// heard notes that bytes were read.
func (s *sight) heard() { s.read.Store(int64(time.Since(s.began))) }

// Look is for whoever waits for an answer, to be called about once per Quiet: a server that a signal has stopped does not read, write or
// exit. When nothing was read for Quiet, and it is found stopped for the second time in a row, Recv returns what was read already and then
// ends with CauseStopped, as when it had died. One that is busy is not touched, however long it takes.
func (c *Conn) Look() {
	s := &c.stopped
	read := s.read.Load()
	switch {
	case time.Since(s.began)-time.Duration(read) < Quiet, !c.child.h.stopped():
		s.seen.Store(0)
	case s.seen.Swap(read) == read && !s.ends.Swap(true):
		c.child.stdout.SetReadDeadline(time.Now().Add(drainTime)) // wakes Recv
	}
}
