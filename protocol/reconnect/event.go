package reconnect

import (
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// Op says what happened.
type Op uint8

// The events of a Link.
const (
	Request     Op = iota + 1 // the client sent the request Message
	Notice                    // the client sent the notification Message
	Reply                     // the client answered a question with Message
	Gone                      // the client sends nothing any more, and waits for what it has sent
	Answer                    // the host answered with Message
	Said                      // the host sent a notification or a question, Message, on the stream of ID
	Failed                    // the request ID has failed, for Cause
	Cut                       // the connection is over
	Unreachable               // a stream of the connection finds no host
	Undelivered               // the notification Method, or the answer to question ID, was lost
	Tick                      // the time of Arm has come
)

// Cause is why a request failed.
type Cause uint8

// The causes of a failure.
const (
	Broken      Cause = iota + 1 // the connection broke; Written says whether the host may have the request
	Unreached                    // no connection could be made
	Refused                      // the host said no, in Err
	Later                        // the host says that it takes the request later, in Err
	Stopping                     // the host is about to end, and has not taken the request
	SessionLost                  // the host has forgotten the session; Cut follows
)

// Event is what happened. Which members are set depends on Op.
type Event struct {
	Op      Op
	Message jsonrpc.Message
	ID      jsonrpc.ID
	Method  string
	Cause   Cause
	Written bool
	Err     *jsonrpc.Error
	Why     string        // for people: where the host should be and what is wrong there
	After   time.Duration // when the host says to try again; 0 if it does not
}

// Do says what to do.
type Do uint8

// The effects of a Link.
const (
	Connect Do = iota + 1 // open a new connection; the one there is has ended
	Agree                 // the revision Version is spoken on the connection
	Send                  // send Message to the host
	Deliver               // send Message to the client, with the request ID if it is set
	Finish                // Message is the outcome of the request ID; the zero Message is none
	Arm                   // call Step with Tick at At, instead of earlier times
	Say                   // tell Text to whoever reads the log
)

// Effect is what to do. Which members are set depends on Do.
type Effect struct {
	Do      Do
	Message jsonrpc.Message
	ID      jsonrpc.ID
	Version protocol.Version
	At      time.Time
	Text    string
}
