//go:build !unix

package streamable

import "syscall"

// canProbe reports whether the state of an idle connection can be tested. Here it cannot, other
// than by waiting for its end, as net/http does.
const canProbe = false

type idleProbe struct{}

func newIdleProbe(syscall.RawConn) *idleProbe { return nil }

func (*idleProbe) idle() bool { return false }
