//go:build !unix

package streamable

import "syscall"

// canKeep says that it cannot be told whether a connection is still good, other than by waiting for its end, as net/http does.
const canKeep = false

func quiet(syscall.RawConn) bool { return false }
