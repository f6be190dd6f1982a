// Package rounds drives the round trips of one call of a legacy client to a modern server: the server asks by an input_required result,
// the client is asked in requests of its own while its call stays open, and the server gets the answers with a retry (2026-07-28
// §basic/patterns/mrtr).
//
//	client                       rounds                  server
//	tools/call      ──────────▶  calling    ──────────▶  tools/call
//	elicitation/create ◀───────  asking     ◀──────────  input_required
//	its result      ──────────▶  calling    ──────────▶  tools/call, inputResponses, requestState
//	result          ◀──────────  over       ◀──────────  result
//
// It knows no clock, no connection and no revision: it is told the time and what happened, and returns what to do. Questions and results
// are not adapted to the client's revision; a question that cannot be said in it is handed back as refused.
package rounds

import "time"

const (
	// MaxRounds bounds how often the client is asked within one call.
	MaxRounds = 16
	// MaxTime bounds a call with all of its rounds: six questions, each waiting as long as one may.
	MaxTime = 30 * time.Minute
	// Backoff is how long a retry waits when there was nothing to ask, twice as long after each, up to MaxBackoff. It starts anew when
	// the client has been asked something.
	Backoff    = 100 * time.Millisecond
	MaxBackoff = 5 * time.Second
	// MaxWaits bounds such retries in a row: eight minutes, for a user at a web page.
	MaxWaits = 100
)

// Pause is how long a retry waits after that many others.
func Pause(waits int) time.Duration { return min(Backoff<<min(waits, 10), MaxBackoff) }
