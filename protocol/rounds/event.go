package rounds

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Op is the kind of an Event.
type Op uint8

// The kinds of events, with the members of Event that they use.
const (
	Start  Op = iota + 1 // the client's call arrived
	Result               // the server answered: Result, of any type
	Fail                 // the server answered with an error, or was lost: Err, for the client
	Answer               // the client answered a question: Question, Result
	Refuse               // the client answered with an error, or cannot be asked: Question, Err
	Cancel               // the client cancels its call
	Abort                // the host gives up the call: Err, for the client
	Expire               // the timer fired
)

// Event is one input of a Drive.
type Event struct {
	Op       Op
	Question int
	Params   jsontext.Value
	Result   jsontext.Value
	Err      error
}

// Do is the kind of an Effect.
type Do uint8

// The kinds of effects, with the members of Effect that they use.
const (
	Call     Do = iota + 1 // send the call to the server, with a new id and new _meta: Params
	Stop                   // cancel the call at the server
	Ask                    // ask the client, within its call: Question, Method, Params
	Recall                 // send the client notifications/cancelled for Question
	Complete               // send the client notifications/elicitation/complete: ElicitationID
	Deliver                // answer the client's call, which ends the call: Result or Err
	Arm                    // set the only timer to At
)

// Effect is one action for the caller of Step.
type Effect struct {
	Do            Do
	Question      int // numbered from 1 within the call
	Method        string
	Params        jsontext.Value
	ElicitationID string
	Result        jsontext.Value
	Err           error
	At            time.Time
}

// Phase is the state of a call.
type Phase uint8

// The phases.
const (
	New     Phase = iota // not started
	Calling              // the server works on the call
	Asking               // the client has open questions
	Waiting              // the next retry is pending: the server asked nothing new
	Over                 // the client has the outcome, or cancelled
)

// String is the phase in one word.
func (p Phase) String() string {
	return [...]string{"new", "calling", "asking", "waiting", "over"}[p]
}
