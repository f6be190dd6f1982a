package fault

import "slices"

// Action is what a fault does where it strikes.
type Action string

// Actions.
const (
	Panic     Action = "panic"     // the actor panics before it handles the message
	Hang      Action = "hang"      // it does not go on until the fault ends or its delay is over
	Slow      Action = "slow"      // it goes on after the delay, and so does what is behind it
	Late      Action = "late"      // what arrives is handed over after the delay, and what is behind it is not held up
	Drop      Action = "drop"      // what it was about to handle, or to write, is lost
	Duplicate Action = "duplicate" // it is handled, or written, twice
	Fail      Action = "fail"      // what was tried fails: an actor's start, a write to the disk
	Garble    Action = "garble"    // what arrives is no JSON
	Truncate  Action = "truncate"  // what arrives ends in the middle
	Cut       Action = "cut"       // the connection ends
	Spin      Action = "spin"      // it computes for the delay, and so keeps a core busy
	Ahead     Action = "ahead"     // the hour is so much later, while the fault is armed
	Behind    Action = "behind"    // it is so much earlier
	ReadOnly  Action = "read_only" // what was to be written is refused, as by a disk that is read-only
	Fill      Action = "fill"      // memory is taken, until so many of a hundred of what there is are in use, while the fault is armed
)

// Place is a kind of place where faults strike.
type Place string

// Places.
const (
	Receive       Place = "receive"        // an actor is about to handle a message
	Routine       Place = "routine"        // a goroutine of an actor is about to run
	Init          Place = "init"           // an actor is about to begin an incarnation
	UpstreamRead  Place = "upstream.read"  // a message of a server has arrived
	UpstreamWrite Place = "upstream.write" // a message is about to be written to a server
	UpstreamDial  Place = "upstream.dial"  // the name of a server is about to be resolved, for a new connection to it
	StoreRead     Place = "store.read"     // a record of an earlier host is about to be read
	StoreWrite    Place = "store.write"    // state is about to be written to the kernel
	StoreSync     Place = "store.sync"     // state is about to be synced to the disk
	LogWrite      Place = "log.write"      // a line is about to be written to the log
	Hour          Place = "hour"           // the machine's clock is read
	Memory        Place = "memory"         // the host looks how much memory is in use
)

// by is what narrows a place.
type by uint8

const (
	ofActor by = iota // a path
	ofWho             // a tenant, a server, a session
	ofHost            // nothing: it is the host's as a whole
)

// row says what may be done at a place.
type row struct {
	place   Place
	by      by
	actions []Action
	Is      string
	lasts   bool // it is so while the fault is armed, and does not strike again and again: it has no count
}

var places = []row{
	{Receive, ofActor, []Action{Panic, Hang, Slow, Spin, Drop, Duplicate}, "an actor is about to handle a message", false},
	{Routine, ofActor, []Action{Panic, Slow, Hang}, "a goroutine of an actor is about to run", false},
	{Init, ofActor, []Action{Fail, Panic, Slow, Hang}, "an actor is about to begin an incarnation", false},
	{UpstreamRead, ofWho, []Action{Drop, Duplicate, Slow, Late, Garble, Truncate, Cut}, "a message of a server has arrived", false},
	{UpstreamWrite, ofWho, []Action{Drop, Duplicate}, "a message is about to be written to a server", false},
	{UpstreamDial, ofWho, []Action{Fail, Slow}, "the name of a server is about to be resolved, for a new connection to it", false},
	{StoreRead, ofWho, []Action{Panic}, "a record of an earlier host is about to be read", false},
	{StoreWrite, ofHost, []Action{Fail, ReadOnly}, "state is about to be written to the kernel", false},
	{StoreSync, ofHost, []Action{Fail, Slow}, "state is about to be synced to the disk", false},
	{LogWrite, ofHost, []Action{Slow, Hang}, "a line is about to be written to the log", false},
	{Hour, ofHost, []Action{Ahead, Behind}, "the machine's clock is read", true},
	{Memory, ofHost, []Action{Fill}, "the host looks how much memory is in use", true},
}

// delayed are the actions that have a delay.
var delayed = []Action{Hang, Slow, Late, Spin, Ahead, Behind}

// Described is a place and what can be done there, for documents and error texts.
type Described struct {
	Place   Place
	Actions []Action
	Actor   bool // a path says which; else tenant, server and session do
	Is      string
}

// Places are all there are.
func Places() []Described {
	list := make([]Described, len(places))
	for i, r := range places {
		list[i] = Described{r.place, slices.Clone(r.actions), r.by == ofActor, r.Is}
	}
	return list
}

func rowOf(p Place) (row, bool) {
	if p == "" {
		p = Receive
	}
	for _, r := range places {
		if r.place == p {
			return r, true
		}
	}
	return row{}, false
}

func placeNames() string {
	names := make([]Place, len(places))
	for i, r := range places {
		names[i] = r.place
	}
	return join(names)
}
