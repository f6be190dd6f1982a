package client

import (
	"time"

	"mcpd/supervisor/otp"
)

// A question that names no call is for the only session that uses the connection. Clients of published
// SDKs end without saying so, and their sessions last for hours: a session whose client is gone is nobody
// to ask.

// GoneAfter is how long a client may have neither a request nor a stream before it counts as gone. A
// client that opens its stream anew is back sooner. It is less than QuestionHold, so that a question
// which comes between the end of one client and the start of the next still finds the next.
const GoneAfter = 4 * time.Second

// Presence tells whether the client of a session is there.
type Presence interface {
	// Away is how long the client has had neither a request in flight nor a stream open, 0 while it has.
	Away(now time.Time) time.Duration
	// Unreached is how long the client has had no stream open on which it could be asked something, 0
	// while it has.
	Unreached(now time.Time) time.Duration
}

// away is how long the client of a session has been away, as far as that is known.
func (u User) away(now time.Time) time.Duration {
	if u.Presence == nil {
		return 0
	}
	return u.Presence.Away(now)
}

// only finds the one session whose client is there. It reports soon when it takes time to tell: one
// client is there, and all others have left, but some of them too lately to count as gone. With a single
// session there is nobody else to ask, wherever its client is.
func only(away map[string]time.Duration) (session string, soon bool) {
	if len(away) == 1 {
		for session = range away {
			return session, false
		}
	}
	there, lately := 0, false
	for row, d := range away {
		switch {
		case d == 0:
			there, session = there+1, row
		case d < GoneAfter:
			lately = true
		}
	}
	if there != 1 || lately {
		return "", there == 1
	}
	return session, false
}

// onlySession is the one session to ask what names no call. It has no claim to that when the server was
// given calls of another principal.
func (c *Connection) onlySession() (session string, ref otp.Ref, ok bool) {
	session, _ = c.present()
	if session == "" {
		return "", otp.Ref{}, false
	}
	ok = !c.served.any || !c.served.several && c.served.principal == c.users[session].Principal
	return session, c.sessions[session], ok
}

func (c *Connection) present() (session string, soon bool) {
	away := make(map[string]time.Duration, len(c.sessions))
	for row := range c.sessions {
		away[row] = c.users[row].away(c.p.Now())
	}
	return only(away)
}
