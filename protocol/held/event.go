package held

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// RequestNumber identifies a request of the client. The owner of the call numbers them from 1. Each
// request gets exactly one of Publish, Deliver and Refuse. A cancelled request gets at most one.
type RequestNumber uint64

// Request is a request of the client without its params.
type Request struct {
	Sink         RequestNumber
	Capabilities protocol.ClientCapabilities // of this request; earlier declarations do not count
	Progress     bool                        // the request has a progress token
}

// Op is the kind of an Event.
type Op uint8

// The kinds of events, with the members of Event that they use.
const (
	Ask      Op = iota + 1 // the server sends a question for this call: ID, Method, Params
	Withdraw               // the server cancels a question: ID
	Progress               // the server reports progress of the call: Params
	Finish                 // the server answered the call: Result or Err
	Lose                   // the server was lost: Err, for the client
	Retry                  // the client sends a retry: Request, Round of its state, Answers
	Cancel                 // the client cancels its open request: Request.Sink
	Abort                  // the host gives up the call, as after a time-out: Err, for the client
	Expire                 // the timer fired
)

// Event is one input of a Call.
type Event struct {
	Op      Op
	ID      jsonrpc.ID
	Method  string
	Params  jsontext.Value
	Result  jsontext.Value
	Err     error
	Request Request
	Round   uint32
	Answers mrtr.Retry
}

// Do is the kind of an Effect.
type Do uint8

// The kinds of effects, with the members of Effect that they use.
const (
	// Publish answers Sink with an input_required result: Inputs, and a state that is sealed for Round
	// and valid until At.
	Publish Do = iota + 1
	// Deliver answers Sink with the outcome of the call: Result or Err. If Round is not 0, the outcome
	// must not be cached.
	Deliver
	Refuse       // answer Sink with Err; the call continues unchanged
	Relay        // report progress to Sink: Params, with the server's token
	Answer       // answer the server's request ID: Result
	Reject       // answer the server's request ID with Err
	SendProgress // report progress to the server: Params of notifications/progress
	Recall       // send the server notifications/cancelled for the call
	Arm          // set the only timer to At
	Forget       // the call is over: drop it after the other effects
)

// Effect is one action for the caller of Step.
type Effect struct {
	Do     Do
	Sink   RequestNumber
	Round  uint32
	Inputs []mrtr.Input
	ID     jsonrpc.ID
	Params jsontext.Value
	Result jsontext.Value
	Err    error
	At     time.Time
}

// Phase is the state of a call.
type Phase uint8

// The phases. Done and all later phases are final, and come with the effect Forget.
const (
	Running    Phase = iota + 1 // the server works; a request of the client is open
	Collecting                  // the server asked; further questions may follow
	Published                   // the client was asked; none of its requests is open
	Parked                      // as Published, but the server has answered the call
	Done                        // the client has the outcome
	Cancelled                   // the client cancelled
	Expired                     // the client sent no retry in time, or the host gave up
	Lost                        // the server was lost
)

// String is the phase in one word.
func (p Phase) String() string {
	return [...]string{"none", "running", "collecting", "published", "parked", "done", "cancelled",
		"expired", "lost"}[p]
}

// Over reports whether the call has ended.
func (p Phase) Over() bool { return p >= Done }
