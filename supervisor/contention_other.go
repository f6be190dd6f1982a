//go:build !linux

package supervisor

import "time"

// Contention returns nil: the times are not known on this system.
func Contention() func() (ran, waited time.Duration) { return nil }
