package interest

import (
	"time"

	"mcpd/actors/request"
)

// Server is what is known of the server while an event is handled.
type Server struct {
	Ready, Asleep bool
	Listens       bool // its subscriptions are streams of their own: see Listen
	Levels        bool // it can be asked for a log level
}

// Event is something that happened.
type Event struct {
	Op        Op
	Session   string
	Call      *request.Exchange
	URI       string
	URIs      []string
	Level     string // empty for no intent
	Missed    bool   // Intent: URIs may have changed after the session had given them up
	Alone     bool   // Level: the levels of other sessions no longer count
	Late      bool   // Answered: too late for the client
	Waiter    Waiter
	Ask       Ask
	Err       error
	Resources map[string]map[string]bool // Recover: see Table.Resources
	Levels    map[string]string          // Recover: see Table.Levels
}

// Op says what happened.
type Op uint8

// The events.
const (
	Intent    Op = iota + 1 // Session wants URIs, and log lines from Level on; Waiter gets the outcome
	Call                    // Call is a client's call of Ask, about a resource
	Leave                   // Session wants nothing any more
	Follow                  // another connection wants URI for Session
	Unfollow                // another connection does not any more
	Level                   // another connection handed over a call of Session, which wants Level
	Recover                 // Resources and Levels were given up, and are known again
	Restore                 // the server is new, and about to be ready
	Answered                // the server has answered Ask, which may be that of Call
	QueueFull               // the server had no room for Ask
	Retry                   // there may be room again
	Again                   // the pause of Later is over
	Expire                  // Hold is over
	Settle                  // the server is ready
	GiveUp                  // nobody waits for the server any longer
)

// Ask is a request to the server about a log level or a resource.
type Ask struct{ Method, Value string }

// Waiter is told the outcome of a intent.
type Waiter interface {
	Reply(struct{}) (first bool)
	Fail(error)
}

// Effect is something to do.
type Effect struct {
	Do      Do
	Session string
	Call    *request.Exchange
	URI     string
	Op      Op   // Instances: Follow or Unfollow
	Missed  bool // Listen: URI may have changed before
	Waiter  Waiter
	Err     error
	At      time.Time
}

// Do says what to do.
type Do uint8

// The effects. The event Answered follows Listen and Write.
const (
	Listen    Do = iota + 1 // open a stream for URI, and Call if there is one
	Unlisten                // end that stream
	Write                   // Call itself asks the server
	Keep                    // Call waits for Answer
	Answer                  // Call has its outcome: Err, or an empty result
	Grant                   // Waiter has its outcome: Err, or none
	Instances               // tell the other instances of URI, and of the first Session for it
	Serve                   // messages that name no call may be about Session
	Missed                  // tell Session, or all where it is empty, that URI may have changed
	Pause                   // Retry comes after a while
	Later                   // Again comes for URI after AgainAfter
	Hold                    // calls wait until Release; Expire comes At
	Release                 // calls go on
)
