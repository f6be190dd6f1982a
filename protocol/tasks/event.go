package tasks

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonrpc"
)

// Op is what happens to a task.
type Op uint8

// The events.
const (
	Start    Op = iota + 1 // the client's tools/call, which comes first
	Ask                    // a tasks/… request of the client
	Leave                  // the client of a request waits no more
	Answered               // the server's answer to a Call
	Inquire                // a request of the server for the client
	Withdraw               // the server takes it back
	Reply                  // the client's answer to a Put
	Expire                 // the timer fires
	Resume                 // the task was loaded, and has a host again
	Miss                   // the server's answer to a Call, which was lost in a crash
	Notify                 // notifications/tasks/status of a server of the core
)

// Event is one event. Which fields count is said with them.
type Event struct {
	Op      Op
	Request uint64         // Start, Ask, Leave: the client's request, by the host's number of it
	Method  string         // Ask, Inquire
	Params  jsontext.Value // Ask, Inquire, Notify
	Number  uint64         // Answered, Miss: of the Call; Reply: of the Put
	Result  jsontext.Value // Answered, Reply
	Err     error          // Answered, Reply; set for a failure; Miss: why
	ID      jsonrpc.ID     // Inquire, Withdraw: the server's own
	Lives   bool           // Resume: the server has not ended with the host of before
}

// Do is what is to be done.
type Do uint8

// The effects.
const (
	Call    Do = iota + 1 // send the server a request
	Recall                // cancel one
	Answer                // answer a request of the server
	Reject                // refuse one
	Deliver               // answer a request of the client
	Put                   // ask the client, on the stream of a request of its
	Retract               // take that back
	Tell                  // the task is not as it was; Params: how the server told it, if it did
	Release               // the server is not needed any more
	Arm                   // set the timer
	Forget                // the task is no more
)

// Effect is one effect.
type Effect struct {
	Do      Do
	Number  uint64         // Call, Recall: of the request; Put, Retract: of the question
	Method  string         // Call, Put
	Params  jsontext.Value // Call, Put, Tell
	Request uint64         // Deliver, Put: the client's request
	ID      jsonrpc.ID     // Answer, Reject
	Result  jsontext.Value // Answer, Deliver
	Err     error          // Reject, Deliver: set for a failure
	At      time.Time      // Arm; Call: when it is of no use any more
}
