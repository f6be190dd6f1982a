//go:build !unix

package streamable

import "syscall"

// canKeep reports whether the state of an idle connection can be tested. Here it cannot, other than
// by waiting for its end, as net/http does.
const canKeep = false

type ear struct{}

func newEar(syscall.RawConn) *ear { return nil }

func (*ear) quiet() bool { return false }
