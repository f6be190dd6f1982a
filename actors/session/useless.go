package session

import "mcpd/telemetry"

// useless counts what an earlier host has stored that is of no use, so that the log has one line for
// each kind and reason, however many sessions there were.
type useless []telemetry.RecordDropped

// add counts a record of a session.
func (u *useless) add(session, kind, reason string) {
	for i := range *u {
		e := &(*u)[i]
		if e.Kind == kind && e.Reason == reason {
			e.Session = "" // of several
			e.Count++
			return
		}
	}
	*u = append(*u, telemetry.RecordDropped{Where: telemetry.Where{Session: session}, Kind: kind, Reason: reason, Count: 1})
}

// events tells of all, and forgets them.
func (u *useless) events(path string) []telemetry.RecordDropped {
	told := *u
	*u = nil
	for i := range told {
		told[i].Path = path
	}
	return told
}
