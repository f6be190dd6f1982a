//go:build !unix

package streamable

import "syscall"

// canKeep says that it cannot be told whether a connection is still good, other than by waiting for its end, as net/http does.
const canKeep = false

type ear struct{}

func newEar(syscall.RawConn) *ear { return nil }

func (*ear) quiet() bool { return false }
