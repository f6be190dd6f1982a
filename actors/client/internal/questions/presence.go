package questions

import "time"

// GoneAfter is how long a client may have neither a request nor a stream before it counts as gone.
// A client that opens its stream anew is back sooner. The time is less than QuestionHold, so that a
// question which comes between the end of one client and the start of the next still finds the
// next.
const GoneAfter = 4 * time.Second

// OnlyPresent returns the one session whose client is there. It reports soon if that takes time to
// tell: one client is there, and all others have left, but some of them too lately to count as
// gone. A single session is returned wherever its client is, because there is nobody else to ask.
func OnlyPresent(away map[string]time.Duration) (session string, soon bool) {
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
