//go:build unix

package streamable

import "syscall"

// canProbe reports whether the state of an idle connection can be tested.
const canProbe = true

// idleProbe tests if a connection has input. It is created once per connection, because the test
// runs before each request.
type idleProbe struct {
	raw     syscall.RawConn
	listen  func(fd uintptr) bool
	nothing bool
}

func newIdleProbe(raw syscall.RawConn) *idleProbe {
	e, one := &idleProbe{raw: raw}, make([]byte, 1)
	e.listen = func(fd uintptr) bool {
		// The read does not block: descriptors of package net are non-blocking.
		_, err := syscall.Read(int(fd), one)
		e.nothing = err == syscall.EAGAIN
		return true
	}
	return e
}

// idle reports whether there is no input, not even the end of the stream.
func (e *idleProbe) idle() bool { return e.raw.Read(e.listen) == nil && e.nothing }
