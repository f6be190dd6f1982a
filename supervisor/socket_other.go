//go:build !linux

package supervisor

import (
	"syscall"
	"time"
)

const reusePort = syscall.SO_REUSEPORT

// setAckTimeout does nothing: this system has no such option.
func setAckTimeout(int, time.Duration) error { return nil }
