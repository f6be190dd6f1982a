//go:build broken_replay

package streamable

// goOn is broken on purpose: a resumed stream skips one event.
func goOn(id eventID) eventID {
	id.seq++
	return id
}
