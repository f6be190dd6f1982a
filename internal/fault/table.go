package fault

import "slices"

// Action is what a fault does where it strikes.
type Action string

// The actions of faults.
const (
	Panic Action = "panic" // the actor panics before it handles the message
	Hang  Action = "hang"  // the caller waits until the fault ends or its delay is over
	Slow  Action = "slow"  // the caller continues after the delay, and so does everything behind it
	// the message is delivered after the delay, without delaying the messages behind it
	Late      Action = "late"
	Drop      Action = "drop"      // the message is lost instead of being handled or written
	Duplicate Action = "duplicate" // the message is handled, or written, twice
	Fail      Action = "fail"      // the operation fails: an actor's start, a write to the disk
	Garble    Action = "garble"    // the received message is not valid JSON
	Truncate  Action = "truncate"  // the received message is cut off in the middle
	Cut       Action = "cut"       // the connection ends
	Spin      Action = "spin"      // the actor computes for the delay, and so keeps a core busy
	Ahead     Action = "ahead"     // the wall clock is ahead by the delay, while the fault is armed
	Behind    Action = "behind"    // the wall clock is behind by the delay
	ReadOnly  Action = "read_only" // the write is refused, as by a read-only disk
	Fill      Action = "fill"      // a percentage of memory is in use, while the fault is armed
)

// Place is a kind of place where faults strike.
type Place string

// The places of faults.
const (
	Receive       Place = "receive"        // an actor is about to handle a message
	Routine       Place = "routine"        // a goroutine of an actor is about to run
	Init          Place = "init"           // an actor is about to begin an incarnation
	UpstreamRead  Place = "upstream.read"  // a message of a server has arrived
	UpstreamWrite Place = "upstream.write" // a message is about to be written to a server
	// the name of a server is about to be resolved, for a new connection to it
	UpstreamDial Place = "upstream.dial"
	StoreRead    Place = "store.read"  // a record of an earlier host is about to be read
	StoreWrite   Place = "store.write" // state is about to be written to the kernel
	StoreSync    Place = "store.sync"  // state is about to be synced to the disk
	LogWrite     Place = "log.write"   // a line is about to be written to the log
	WallClock    Place = "hour"        // the machine's wall clock is read
	Memory       Place = "memory"      // the host checks how much memory is in use
)

// by says how a place is narrowed.
type by uint8

const (
	ofActor by = iota // a path
	ofWho             // a tenant, a server, a session
	ofHost            // nothing: it belongs to the host as a whole
)

// row says which actions a place allows.
type row struct {
	place       Place
	by          by
	actions     []Action
	description string
	// lasts says that the fault holds while it is armed, instead of striking repeatedly. It has no
	// count.
	lasts bool
}

var places = []row{
	{Receive, ofActor, []Action{Panic, Hang, Slow, Spin, Drop, Duplicate},
		"an actor is about to handle a message", false},
	{Routine, ofActor, []Action{Panic, Slow, Hang}, "a goroutine of an actor is about to run", false},
	{Init, ofActor, []Action{Fail, Panic, Slow, Hang},
		"an actor is about to begin an incarnation", false},
	{UpstreamRead, ofWho, []Action{Drop, Duplicate, Slow, Late, Garble, Truncate, Cut},
		"a message of a server has arrived", false},
	{UpstreamWrite, ofWho, []Action{Drop, Duplicate},
		"a message is about to be written to a server", false},
	{UpstreamDial, ofWho, []Action{Fail, Slow},
		"the name of a server is about to be resolved, for a new connection to it", false},
	{StoreRead, ofWho, []Action{Panic}, "a record of an earlier host is about to be read", false},
	{StoreWrite, ofHost, []Action{Fail, ReadOnly},
		"state is about to be written to the kernel", false},
	{StoreSync, ofHost, []Action{Fail, Slow}, "state is about to be synced to the disk", false},
	{LogWrite, ofHost, []Action{Slow, Hang}, "a line is about to be written to the log", false},
	{WallClock, ofHost, []Action{Ahead, Behind}, "the machine's clock is read", true},
	{Memory, ofHost, []Action{Fill}, "the host looks how much memory is in use", true},
}

// delayed are the actions that have a delay.
var delayed = []Action{Hang, Slow, Late, Spin, Ahead, Behind}

// Described is a place with its actions, for documents and error texts.
type Described struct {
	Place   Place
	Actions []Action
	Actor   bool // narrowed by a path; else by tenant, server and session, or by nothing
	Is      string
}

// Places returns all places.
func Places() []Described {
	list := make([]Described, len(places))
	for i, r := range places {
		list[i] = Described{r.place, slices.Clone(r.actions), r.by == ofActor, r.description}
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
