//go:build broken_monitor

package otp

// takeBack is broken on purpose: the monitors of an incarnation that is over are never removed.
func takeBack(*row, *monitor) {}
