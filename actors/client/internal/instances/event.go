package instances

import (
	"time"

	"mcpd/gateway/tenant"
)

const (
	// Patience is how long a call of a program may last before those that wait for it go elsewhere.
	// Starting another instance takes as long, and short calls are better run where the others ran.
	// Another instance of a remote server is only one more session, so calls do not wait there.
	Patience = 500 * time.Millisecond
	// MaxRemote bounds the sessions with a remote server in which the calls of one principal overlap.
	// Instances of programs are bounded by the configuration.
	MaxRemote = 64
	// RetryAfter is how long no instance is started after one could not be.
	RetryAfter = 10 * time.Second
	// Rest is how long an instance is kept that has nothing to do: calls come in bursts, and starting
	// a program takes longer than most calls.
	Rest = 10 * time.Second
)

// Server is what is known of the server when something is decided.
type Server struct {
	Now     time.Time
	Program bool          // an instance is a process, which is expensive
	Bound   int           // of instances, as configured
	Asked   bool          // the first instance has a question open
	Retired bool          // the server is declared differently now
	Lingers time.Duration // how long a connection is kept that has no sessions
}

// Most returns how many instances there may be, including the first.
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
	Hand  Do = iota + 1 // hand the call to To: Handed, or Forget if it is gone
	Again               // ask Place again after Wait
	Start               // ask for one more instance: Joined, or Denied
	Retry               // call Retried after Wait
	Adopt               // tell To who hands it calls, and that Last were handed over so far
	Watch               // call Down when To ends; tell To what sessions want to be told
	Look                // call Rested after Wait
	End                 // end To, of Key
	Turns               // calls may have their turn
)
