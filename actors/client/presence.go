package client

import (
	"time"

	"mcpd/actors/client/internal/questions"
	"mcpd/supervisor/otp"
)

// A question that names no call is for the only session that uses the connection. Clients of
// published SDKs end without saying so, and their sessions last for hours. A session whose client
// is gone cannot be asked.

// GoneAfter is how long a client may have neither a request nor a stream before it counts as gone.
const GoneAfter = questions.GoneAfter

// Presence tells whether the client of a session is there.
type Presence interface {
	// Away returns how long the client has had neither a request in flight nor a stream open, 0 while
	// it has.
	Away(now time.Time) time.Duration
	// Unreached returns how long the client has had no stream open on which it could be asked
	// something, 0 while it has.
	Unreached(now time.Time) time.Duration
}

// away returns how long the client of a session has been away, as far as that is known.
func (u User) away(now time.Time) time.Duration {
	if u.Presence == nil {
		return 0
	}
	return u.Presence.Away(now)
}

// present returns the only session whose client is there. It reports soon if that takes time to
// tell.
func (c *Connection) present() (session string, soon bool) {
	away := map[string]time.Duration{}
	for row, u := range c.clients.here() {
		away[row] = u.away(c.p.Now())
	}
	return questions.OnlyPresent(away)
}

// onlySession returns the one session that is asked a question which names no call. The session has
// no claim to the question if the server was given calls of another principal.
func (c *Connection) onlySession() (session string, ref otp.Ref, ok bool) {
	if session, _ = c.present(); session == "" {
		return "", otp.Ref{}, false
	}
	u := c.clients[session]
	return session, u.ref, !c.served.any || !c.served.several && c.served.principal == u.Principal
}
