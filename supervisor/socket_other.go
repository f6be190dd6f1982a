//go:build !linux

package supervisor

import (
	"syscall"
	"time"
)

const reusePort = syscall.SO_REUSEPORT

// giveUpAfter has no effect where the system's own time is the only one.
func giveUpAfter(int, time.Duration) error { return nil }
