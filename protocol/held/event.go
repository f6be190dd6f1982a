package held

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// Sink names a request of the client; its owner numbers them, from 1. Each gets at most one of Publish, Deliver and Refuse, and exactly
// one unless it was cancelled.
type Sink uint64

// Request is what a request of the client says beside its params.
type Request struct {
	Sink         Sink
	Capabilities protocol.ClientCapabilities // declared by this request; an earlier one's do not count
	Progress     bool                        // it carries a progress token
}

// Op is what happened.
type Op uint8

// The events, and which members of Event they read.
const (
	Ask      Op = iota + 1 // the server asks, in a request that belongs to this call: ID, Method, Params
	Withdraw               // the server does not want that answer any more: ID
	Progress               // the server reports progress of the call: Params
	Finish                 // the server answered the call: Result or Err
	Lose                   // the server is gone: Err, for the client
	Retry                  // the client continues: Request, Round of its state, Answers
	Cancel                 // the client cancels its open request: Request.Sink
	Abort                  // the host gives the call up, as at a timeout: Err, for the client
	Expire                 // the timer fired
)

// Event is one thing that happened.
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

// Do is what to do.
type Do uint8

// What is to be done, and which members of Effect say more.
const (
	Publish  Do = iota + 1 // answer Sink with input_required: Inputs, and a state sealed for Round, good until At
	Deliver                // answer Sink with the outcome of the call: Result or Err. If Round is not 0 it must not be cached
	Refuse                 // answer Sink with Err; nothing else has changed
	Relay                  // report progress to Sink: Params, with the server's token
	Answer                 // answer the server's request ID: Result
	Reject                 // answer the server's request ID with Err
	Reassure               // report progress to the server: Params of notifications/progress
	Recall                 // send the server notifications/cancelled for the call
	Arm                    // set the one timer to At
	Forget                 // the call is over: drop it, once the other effects are done
)

// Effect is one thing to do.
type Effect struct {
	Do     Do
	Sink   Sink
	Round  uint32
	Inputs []mrtr.Input
	ID     jsonrpc.ID
	Params jsontext.Value
	Result jsontext.Value
	Err    error
	At     time.Time
}

// Phase is where a call is.
type Phase uint8

// The phases. From Done on a call is over, and Forget is among the effects.
const (
	Running    Phase = iota + 1 // the server works, a request of the client is open
	Collecting                  // the server has asked, other questions may follow at once
	Published                   // the client was asked, none of its requests is open
	Parked                      // as Published, but the server has answered the call meanwhile
	Done                        // the client has the outcome
	Cancelled                   // the client cancelled
	Expired                     // the client did not come back, or the host gave up
	Lost                        // the server went away
)

// String is the phase in one word.
func (p Phase) String() string {
	return [...]string{"none", "running", "collecting", "published", "parked", "done", "cancelled", "expired", "lost"}[p]
}

// Over reports that the call has ended.
func (p Phase) Over() bool { return p >= Done }
