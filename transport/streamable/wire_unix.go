//go:build unix

package streamable

import "syscall"

// canKeep says that it can be told whether a connection is still good.
const canKeep = true

// quiet reports whether there is nothing to read from a connection, not even its end.
func quiet(raw syscall.RawConn) (nothing bool) {
	var one [1]byte
	err := raw.Read(func(fd uintptr) bool {
		_, err := syscall.Read(int(fd), one[:]) // it does not wait: the net package has none that do
		nothing = err == syscall.EAGAIN
		return true
	})
	return err == nil && nothing
}
