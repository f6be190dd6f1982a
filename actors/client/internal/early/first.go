package early

import "time"

const (
	// Wait is how long calls wait for the answers to what their server asked before them.
	Wait = 2 * time.Second
	// Rest is how much of that a server has to act on the last answer. Servers do not handle messages
	// in order, so that a call right behind the answer would overtake it.
	Rest = 100 * time.Millisecond
)

// callGate decides whether calls wait for answers.
type callGate struct {
	asked   map[string]bool // unanswered questions that were passed on before the first call
	given   bool            // the server was given a call, or calls wait no longer
	pinging bool            // it is not known yet whether the server asks something first
	rests   time.Time       // the server has until then to act on the answers
	until   time.Time       // calls wait until then; zero while none does
}

// QuestionPassed records that a question was passed on to a client, outside of any call in flight.
func (e *Early) QuestionPassed(id string) {
	if !e.given {
		if e.asked == nil {
			e.asked = map[string]bool{}
		}
		e.asked[id] = true
	}
}

// QuestionOver records that a question is over, and reports whether calls may have waited for it.
func (e *Early) QuestionOver(id string) bool {
	was := e.asked[id]
	delete(e.asked, id)
	return was
}

// Answered gives the server the time Rest to act on the answer to a question, if calls may have
// waited for the question. It reports whether it does.
func (e *Early) Answered(now time.Time) bool {
	if !e.given {
		e.rests = now.Add(Rest)
	}
	return !e.given
}

// CallGiven records that the server is given a call.
func (e *Early) CallGiven() { e.given = true }

// Ping makes calls wait until it is known whether the server asks something because of what it was
// just told. The server asks before it answers a ping.
func (e *Early) Ping() { e.given, e.pinging = false, true }

// Pong records that the ping is answered, or was not sent.
func (e *Early) Pong() { e.pinging = false }

// Asks reports whether something is unanswered that the server asked before its first call, or may
// have asked.
func (e *Early) Asks(now time.Time) bool {
	return !e.given &&
		(e.pinging || len(e.questions) > 0 || now.Before(e.rests) || len(e.asked) > 0)
}

// Queued records that a call waits, and reports whether it is the first that waits for answers. It
// waits for Wait at most.
func (e *Early) Queued(now time.Time) bool {
	if e.Waiting() || !e.Asks(now) {
		return false
	}
	e.until = now.Add(Wait)
	return true
}

// Waiting reports whether calls wait for answers.
func (e *Early) Waiting() bool { return !e.until.IsZero() }

// Release lets the waiting calls go, once there is nothing to wait for or they have waited for long
// enough. It reports whether it does.
func (e *Early) Release(now time.Time) bool {
	asks := e.Asks(now)
	if !e.Waiting() || asks && now.Before(e.until) {
		return false
	}
	e.until, e.given = time.Time{}, e.given || asks
	return true
}
