package early

import (
	"slices"

	"mcpd/transport"
)

// rootsList is how a server asks for roots.
const rootsList = "roots/list"

// roots is whose roots a server has.
type roots struct {
	none   bool   // it was refused them because there was no session
	unsaid bool   // it was refused them because they could have been anybody's
	of     string // the session that it has asked for them last outside of a call
}

// Refused says that a question was refused: because there was no session to ask, or it was not said
// which.
func (e *Early) Refused(method string, none bool) {
	if method == rootsList {
		e.none, e.unsaid = e.none || none, e.unsaid || !none
	}
}

// AskedOutside says that a session was asked something outside of its calls.
func (e *Early) AskedOutside(method, session string) {
	if method == rootsList {
		e.of = session
	}
}

// WantsSession reports whether the server wants to ask the first session something.
func (e *Early) WantsSession() bool { return len(e.questions) > 0 || e.none }

// WantsRootsOf reports whether the server is to ask for roots anew, of the session that would be
// asked now: it was refused those of a session, or has those of another.
func (e *Early) WantsRootsOf(session string) bool {
	asks := func(in transport.Inbound) bool { return in.Message.Method == rootsList }
	return session != "" && (e.none || e.unsaid || e.of != "" && e.of != session) &&
		!slices.ContainsFunc(e.questions, asks)
}

// WantsRootsSaid reports whether the server was refused roots that could have been anybody's.
func (e *Early) WantsRootsSaid() bool { return e.unsaid }

// ToldRoots says that the server is told that roots have changed.
func (e *Early) ToldRoots() { e.roots = roots{} }
