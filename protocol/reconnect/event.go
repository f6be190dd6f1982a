package reconnect

import (
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// Op is the kind of an Event.
type Op uint8

// The kinds of events of a Link.
const (
	Request    Op = iota + 1 // the client sent the request Message
	Notice                   // the client sent the notification Message
	Reply                    // the client answered a question of the host with Message
	ClientGone               // the client has closed its input, and waits only for open requests
	Answer                   // the host answered with Message
	// the host sent the notification or question Message on the stream of ID
	HostSent
	Failed       // the request ID failed, for Cause
	Disconnected // the connection has ended
	Unreachable  // a stream of the connection cannot reach the host
	Undelivered  // the notification Method, or the answer to question ID, was lost
	Tick         // the time of Arm has come
)

// Cause is the reason of a failed request.
type Cause uint8

// The causes of a failure.
const (
	Broken      Cause = iota + 1 // the connection broke; Written: the host may have the request
	Unreached                    // no connection could be opened
	Refused                      // the host refused the request, with Err
	Later                        // the host refused the request for now, with Err
	Stopping                     // the host is shutting down and has not accepted the request
	SessionLost                  // the host no longer knows the session; the event Cut follows
)

// Event is one input of a Link. Op determines which members are set.
type Event struct {
	Op      Op
	Message jsonrpc.Message
	ID      jsonrpc.ID
	Method  string
	Cause   Cause
	Written bool
	Err     *jsonrpc.Error
	// Why says in words where the host should be and what is wrong there.
	Why string
	// After is the time that the host asks to wait; 0 if it names none.
	After time.Duration
}

// Do is the kind of an Effect.
type Do uint8

// The kinds of effects of a Link.
const (
	Connect Do = iota + 1 // open a new connection; the current one has ended
	Agree                 // use the revision Version on the connection
	Send                  // send Message to the host
	Deliver               // send Message to the client, with the request ID if it is set
	Finish                // Message is the outcome of request ID; the zero Message means no outcome
	Arm                   // call Step with Tick at At; this replaces earlier times
	Log                   // write Text to the log
)

// Effect is one action for the caller of Step. Do determines which members are set.
type Effect struct {
	Do      Do
	Message jsonrpc.Message
	ID      jsonrpc.ID
	Version protocol.Version
	At      time.Time
	Text    string
}
