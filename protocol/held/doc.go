// Package held implements held calls. A held call is one call of a modern client to a legacy server
// that asks the client questions during the call. A modern client cannot receive requests. It
// therefore gets each question in an input_required result, and sends its answers with a retry. The
// server's own request stays open in the meantime (2026-07-28 §basic/patterns/mrtr, 2025-11-25
// §client).
//
//	client                       held                    server
//	tools/call      ---------->  running    ---------->  tools/call
//	                             collecting <----------  elicitation/create, further questions
//	input_required  <----------  published
//	retry, answers  ---------->  running    ---------->  the answer to elicitation/create
//	result          <----------  done       <----------  result
//
// The package knows no clock, connection or encryption. Its caller tells it the time and the
// events, and carries out the effects that it returns. The caller has verified each requestState,
// and that it belongs to this call. The package does not translate params and results between
// revisions, except that it removes the members of a question that only a request may have.
package held

import "time"

// The times and bounds of a held call.
const (
	// Window is the time to wait for further questions after the first one, so that the client
	// receives them together: 30 ms. A server that asks several questions does so within one turn of
	// its event loop.
	Window = 30 * time.Millisecond
	// MaxRounds bounds the rounds of questions of one call. A server that exceeds it is stopped.
	MaxRounds = 64
	// ProgressInterval is the interval of progress notifications to a server that wants progress of
	// its question: 15 s. Common SDKs time out after 60 s.
	ProgressInterval = 15 * time.Second
)
