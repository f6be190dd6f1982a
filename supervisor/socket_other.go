//go:build !linux

package supervisor

import (
	"syscall"
	"time"
)

const reusePort = syscall.SO_REUSEPORT

// giveUpAfter does nothing: this system has no such option.
func giveUpAfter(int, time.Duration) error { return nil }
