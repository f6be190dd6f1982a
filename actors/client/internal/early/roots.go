package early

import (
	"slices"

	"mcpd/transport"
)

// rootsList is the method by which a server asks for roots.
const rootsList = "roots/list"

// roots records which session's roots a server has.
type roots struct {
	refusedNoSession bool   // it was refused roots because there was no session
	refusedAmbiguous bool   // it was refused roots because they could have been anybody's
	askedOf          string // the session that it has last asked for roots outside of a call
}

// Refused records that a question was refused: because there was no session to ask, or because it
// did not say which session is meant.
func (e *Early) Refused(method string, none bool) {
	if method == rootsList {
		e.refusedNoSession, e.refusedAmbiguous = e.refusedNoSession || none, e.refusedAmbiguous || !none
	}
}

// AskedOutside records that a session was asked something outside of its calls.
func (e *Early) AskedOutside(method, session string) {
	if method == rootsList {
		e.askedOf = session
	}
}

// WantsSession reports whether the server wants to ask the first session something.
func (e *Early) WantsSession() bool { return len(e.questions) > 0 || e.refusedNoSession }

// WantsRootsOf reports whether the server is to ask for roots again, from the session that would be
// asked now: it was refused roots, or has those of another session.
func (e *Early) WantsRootsOf(session string) bool {
	asks := func(in transport.Inbound) bool { return in.Message.Method == rootsList }
	return session != "" && (e.refusedNoSession || e.refusedAmbiguous ||
		e.askedOf != "" && e.askedOf != session) &&
		!slices.ContainsFunc(e.questions, asks)
}

// RootsRefusedAmbiguous reports whether the server was refused roots that could have been
// anybody's.
func (e *Early) RootsRefusedAmbiguous() bool { return e.refusedAmbiguous }

// ToldRoots records that the server is told that roots have changed.
func (e *Early) ToldRoots() { e.roots = roots{} }
