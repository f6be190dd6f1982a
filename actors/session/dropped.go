package session

import "mcpd/telemetry"

// droppedRecords counts stored records of an earlier host that are of no use. The log has one line
// for each kind and reason, however many sessions there were.
type droppedRecords []telemetry.RecordDropped

// add counts a record of a session.
func (u *droppedRecords) add(session, kind, reason string) {
	for i := range *u {
		e := &(*u)[i]
		if e.Kind == kind && e.Reason == reason {
			e.Session = "" // the line now stands for several sessions
			e.Count++
			return
		}
	}
	*u = append(*u, telemetry.RecordDropped{
		Where: telemetry.Where{Session: session}, Kind: kind, Reason: reason, Count: 1,
	})
}

// events returns all events, and forgets them.
func (u *droppedRecords) events(path string) []telemetry.RecordDropped {
	told := *u
	*u = nil
	for i := range told {
		told[i].Path = path
	}
	return told
}
