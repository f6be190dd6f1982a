package tasks

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonrpc"
)

// Op is the kind of an Event.
type Op uint8

// The kinds of events.
const (
	Start        Op = iota + 1 // the client's tools/call; always the first event
	Ask                        // a tasks/… request of the client
	ClientCancel               // the client no longer waits for the answer to a request
	Answered                   // the server's answer to a Call
	ServerAsk                  // a question of the server for the client
	Withdraw                   // the server withdraws a question
	Reply                      // the client's answer to a Put
	Expire                     // the timer fires
	Resume                     // the task was loaded in a new host process
	Lost                       // the server's answer to a Call was lost in a crash
	Notify                     // notifications/tasks/status of a server with core tasks
)

// Event is one input of a Task. The comment of each field names the events that use it.
type Event struct {
	Op          Op
	Request     uint64         // Start, Ask, ClientCancel: the host's number of the client's request
	Method      string         // Ask, ServerAsk
	Params      jsontext.Value // Ask, ServerAsk, Notify
	Number      uint64         // Answered, Lost: number of the Call; Reply: number of the Put
	Result      jsontext.Value // Answered, Reply
	Err         error          // Answered, Reply: set for a failure; Lost: the reason
	ID          jsonrpc.ID     // ServerAsk, Withdraw: the id of the server's request
	ServerAlive bool           // Resume: the server did not end with the previous host process
}

// Do is the kind of an Effect.
type Do uint8

// The kinds of effects.
const (
	Call    Do = iota + 1 // send the server a request
	Recall                // cancel a request to the server
	Answer                // answer a request of the server
	Reject                // answer a request of the server with an error
	Deliver               // answer a request of the client
	Put                   // send a question to the client, on the stream of one of its requests
	Retract               // retract a question from the client
	Tell                  // the task has changed; Params: the server's notification, if any
	Release               // the server is no longer needed
	Arm                   // set the timer
	Forget                // drop the task
)

// Effect is one action for the caller of Step. The comment of each field names the effects that use
// it.
type Effect struct {
	Do      Do
	Number  uint64         // Call, Recall: number of the request; Put, Retract: number of the question
	Method  string         // Call, Put
	Params  jsontext.Value // Call, Put, Tell
	Request uint64         // Deliver, Put: the client's request
	ID      jsonrpc.ID     // Answer, Reject
	Result  jsontext.Value // Answer, Deliver
	Err     error          // Reject, Deliver: set for a failure
	At      time.Time      // Arm; Call: time after which the request is pointless
}
