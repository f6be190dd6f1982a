package inflight

import (
	"cmp"
	"time"
)

// Op is what happened.
type Op uint8

// The events, and which members of Event they read besides Key.
const (
	Register Op = iota + 1 // a request arrived: Method, Owner, Arrived, Timeout, Max
	Forward                // it was handed to the other side
	Complete               // an answer came: Outcome, Err
	Cancel                 // who asked does not want it any more
	Progress               // the other side is still at work
	Park                   // the request waits for its user: Timeout is how long it may
	Unpark                 // the user answered
	Lose                   // the other side went away: Err
	Expire                 // the timer fired; has no Key
)

// Outcome is how a request ended.
type Outcome uint8

// The outcomes.
const (
	Succeeded Outcome = iota + 1
	Failed            // with an error of the other side
	Cancelled
	TimedOut
	Lost // the other side went away
)

// String is the outcome in snake case, for labels.
func (o Outcome) String() string {
	return [...]string{"pending", "succeeded", "failed", "cancelled", "timed_out", "lost"}[o]
}

// Event is one thing that happened. K names requests and must be unique among those in flight; O is whatever their owner wants back.
type Event[K cmp.Ordered, O any] struct {
	Op      Op
	Key     K
	Method  string
	Owner   O
	Timeout time.Duration // until the answer, anew with each progress; 0 for protocol.RequestTimeout
	Arrived time.Time     // from when both count; zero for now
	Max     time.Duration // in all, however much progress there is; 0 for Timeout
	Outcome Outcome       // Succeeded or Failed
	Err     error
}

// Do is what to do.
type Do uint8

// What is to be done, and which members of Effect say more.
const (
	Send     Do = iota + 1 // the request was taken on: send it (Request)
	Reject                 // it was not: answer with Err (Request)
	Finish                 // give the owner its one outcome (Request, Outcome, Err)
	Withdraw               // tell the other side that no answer is wanted any more (Request)
	Drop                   // an event about nothing in flight was counted and ignored (Request.Key, Why)
	Arm                    // set the one timer to At
)

// Why an event was dropped.
type Why uint8

// The reasons.
const (
	Unknown   Why = iota + 1 // no such request in living memory
	Late                     // it was cancelled, lost or timed out before
	Duplicate                // it was answered before
)

// String is the reason in one word, for labels.
func (w Why) String() string { return [...]string{"", "unknown", "late", "duplicate"}[w] }

// Effect is one thing to do.
type Effect[K cmp.Ordered, O any] struct {
	Do      Do
	Request Request[K, O]
	Outcome Outcome
	Err     error
	Why     Why
	At      time.Time
}

// Request is one request in flight (S4-58).
type Request[K cmp.Ordered, O any] struct {
	Key       K
	Method    string
	Owner     O
	Started   time.Time
	Deadline  time.Time
	Forwarded bool // it was handed to the other side, which is told when it ends
	Parked    bool // it waits for its user
	Progress  uint32
}
