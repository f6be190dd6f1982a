package rounds

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Op is what happened.
type Op uint8

// The events, and which members of Event they read.
const (
	Start  Op = iota + 1 // the client's call is there
	Result               // the server answered: Result, of any type
	Fail                 // it answered with an error, or is gone: Err, for the client
	Answer               // the client answered a question: Question, Result
	Refuse               // it answered with an error, or cannot be asked that: Question, Err
	Cancel               // the client cancels its call
	Abort                // the host gives the call up: Err, for the client
	Expire               // the timer fired
)

// Event is one thing that happened.
type Event struct {
	Op       Op
	Question int
	Params   jsontext.Value
	Result   jsontext.Value
	Err      error
}

// Do is what to do.
type Do uint8

// What is to be done, and which members of Effect say more.
const (
	Call     Do = iota + 1 // send the server the call, under a new id and with fresh _meta: Params
	Stop                   // cancel the call that is at the server
	Ask                    // ask the client, within its call: Question, Method, Params
	Recall                 // send the client notifications/cancelled for Question
	Complete               // send the client notifications/elicitation/complete: ElicitationID
	Deliver                // answer the client's call, which ends it: Result or Err
	Arm                    // set the one timer to At
)

// Effect is one thing to do.
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

// Phase is where a call is.
type Phase uint8

// The phases.
const (
	New     Phase = iota // not started
	Calling              // the server works
	Asking               // the client is asked
	Waiting              // nobody is at it: the server wanted nothing but to be called again
	Over                 // the client has the outcome, or wants none
)

// String is the phase in one word.
func (p Phase) String() string {
	return [...]string{"new", "calling", "asking", "waiting", "over"}[p]
}
