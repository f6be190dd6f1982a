//go:build broken_replay

package streamable

// resumeAfter is broken on purpose: a resumed stream skips one event.
func resumeAfter(id eventID) eventID {
	id.seq++
	return id
}
