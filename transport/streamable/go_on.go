//go:build !broken_replay

package streamable

// resumeAfter returns the event id after which a resumed stream continues. The build tag
// broken_replay makes it one too high, a fault that experiments must detect.
func resumeAfter(id eventID) eventID { return id }
