//go:build unix

package streamable

import "syscall"

// canKeep says that it can be told whether a connection is still good.
const canKeep = true

// ear hears whether there is anything to read from a connection. It is made once, because it is asked before each request.
type ear struct {
	raw     syscall.RawConn
	listen  func(fd uintptr) bool
	nothing bool
}

func newEar(raw syscall.RawConn) *ear {
	e, one := &ear{raw: raw}, make([]byte, 1)
	e.listen = func(fd uintptr) bool {
		_, err := syscall.Read(int(fd), one) // it does not wait: the net package has none that do
		e.nothing = err == syscall.EAGAIN
		return true
	}
	return e
}

// quiet reports whether there is nothing to read, not even the end.
func (e *ear) quiet() bool { return e.raw.Read(e.listen) == nil && e.nothing }
