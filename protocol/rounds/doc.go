// Package rounds drives one call of a legacy client to a modern server that asks questions. The
// server asks in an input_required result. The client receives each question as a request, while
// its call stays open. The server receives the answers with a retry of the call (2026-07-28
// §basic/patterns/mrtr).
//
//	client                       rounds                  server
//	tools/call      ---------->  calling    ---------->  tools/call
//	elicitation/create <-------  asking     <----------  input_required
//	its result      ---------->  calling    ---------->  tools/call, inputResponses, requestState
//	result          <----------  over       <----------  result
//
// The package knows no clock, connection or revision. Its caller tells it the time and the events,
// and carries out the effects that it returns. The package does not translate questions and results
// to the client's revision. If a question has no form in that revision, the caller reports the
// question as refused.
package rounds

import "time"

// The bounds and waiting times of one call.
const (
	// MaxRounds bounds the number of rounds of questions within one call.
	MaxRounds = 16
	// MaxTime bounds a call with all of its rounds: 30 minutes, which is six questions of
	// protocol.InputTimeout each.
	MaxTime = 30 * time.Minute
	// Backoff is the wait before a retry if the server asked nothing. The wait doubles with each such
	// retry, up to MaxBackoff. It starts again at Backoff after a question to the client.
	Backoff    = 100 * time.Millisecond
	MaxBackoff = 5 * time.Second
	// MaxWaits bounds the retries in a row without a question. They cover eight minutes, for a user at
	// a web page.
	MaxWaits = 100
)

// Pause returns the wait before a retry, after that many retries in a row without a question.
func Pause(waits int) time.Duration { return min(Backoff<<min(waits, 10), MaxBackoff) }
