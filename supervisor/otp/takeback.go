//go:build !broken_monitor

package otp

// takeBack removes a monitor of an incarnation that is over. With the build tag broken_monitor it
// does nothing, as a defect that experiments must find.
func takeBack(at *row, m *monitor) { at.unwatch(m) }
