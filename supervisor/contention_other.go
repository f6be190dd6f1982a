//go:build !linux

package supervisor

import "time"

// Contention is not known here.
func Contention() func() (ran, waited time.Duration) { return nil }
