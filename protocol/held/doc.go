// Package held is one call of a modern client to a legacy server that asks its client something in the midst of it. The client cannot be
// sent a request: it is answered with an input_required result, and brings its answers with a retry, while the server's own request stays
// open (2026-07-28 §basic/patterns/mrtr, 2025-11-25 §client).
//
//	client                       held                    server
//	tools/call      ──────────▶  running    ──────────▶  tools/call
//	                             collecting ◀──────────  elicitation/create, and what else comes soon after
//	input_required  ◀──────────  published
//	retry, answers  ──────────▶  running    ──────────▶  the answer to elicitation/create
//	result          ◀──────────  done       ◀──────────  result
//
// It knows no clock, no connection and no seal: it is told the time and what happened, and returns what to do. That a requestState is
// genuine, and meant for this call, is known before it comes here. Params and results of either side are not adapted to the other's
// revision, except that a question is stripped of what only a request can have.
package held

import "time"

const (
	// Window is how long a question waits for others, so that the client is asked all of them at once: servers that ask several things
	// do so within one turn of their loop.
	Window = 30 * time.Millisecond
	// MaxRounds bounds how often one call may ask its client; a server that asks for ever is stopped.
	MaxRounds = 64
	// Reassurance is how often a server that wants progress of its question hears that somebody is at it. Common SDKs wait 60 s.
	Reassurance = 15 * time.Second
)
