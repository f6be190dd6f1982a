package instances

import (
	"time"

	"mcpd/gateway/tenant"
)

const (
	// Patience is how long a call of a program may last before those that wait for it go elsewhere.
	// Starting another takes as long; and what is done soon is better done where the rest was done. A
	// remote server only has one more session, so that nobody waits.
	Patience = 500 * time.Millisecond
	// MaxRemote bounds the sessions with a remote server in which the calls of one principal overlap;
	// those of programs are bounded by configuration.
	MaxRemote = 64
	// RetryAfter is how long none is started after one could not be.
	RetryAfter = 10 * time.Second
	// Rest is how long one is kept that has nothing to do: calls come in bursts, and to start a
	// program takes longer than most of them.
	Rest = 10 * time.Second
)

// Server is what is known of the server while something is decided.
type Server struct {
	Now     time.Time
	Program bool          // an instance is a process, which is dear
	Bound   int           // of instances, as configured
	Asked   bool          // the first has a question open
	Retired bool          // it is declared otherwise now
	Lingers time.Duration // how long a connection is kept that has no sessions
}

// Most is how many instances there may be, the first among them.
func (s Server) Most() int {
	if s.Program || s.Bound <= 1 {
		return s.Bound
	}
	return MaxRemote
}

// Effect is something to do.
type Effect[Ref comparable] struct {
	Do   Do
	To   Ref
	Key  tenant.Key
	Last uint64
	Wait time.Duration
}

// Do says what to do.
type Do uint8

// The effects.
const (
	Hand  Do = iota + 1 // To is handed the call: Handed, or Forget if it is gone
	Again               // Place is asked again after Wait
	Start               // one more instance is asked for: Joined, or Denied
	Retry               // after Wait, Retried
	Adopt               // To is told who hands it calls, and that Last were handed over so far
	Watch               // Down comes when To ends; it is told what sessions want to hear of
	Look                // after Wait, Rested
	End                 // To, of Key, is ended
	Turns               // calls may have their turn
)
