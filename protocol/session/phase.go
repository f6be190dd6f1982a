package session

import (
	"fmt"
	"slices"
	"strings"

	"mcpd/protocol"
)

// Phase is a phase in the life of a connection.
type Phase uint8

// The phases of both sides.
const (
	// Phases of a client.
	PreInitialization Phase = iota + 1 // no message was sent
	Initializing                       // initialize was sent
	// Client: the result arrived and the notification was sent. Server: the result was sent.
	Initialized
	Failed // initialization failed
	Closed // both sides: the connection is over

	// Phases of a server, which also has Initialized and Closed.
	Initialization // the server waits for initialize
	Ready          // notifications/initialized arrived
	ShuttingDown   // the server accepts no new requests

	phaseCount = int(iota) + 1
)

var phaseNames = [phaseCount]string{
	"", "pre_initialization", "initializing", "initialized", "error", "closed", "initialization",
	"ready", "shutting_down",
}

// String is the phase in snake case.
func (p Phase) String() string {
	if 0 < p && int(p) < phaseCount {
		return phaseNames[p]
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// Event is something that happens to a connection.
type Event uint8

// The events.
const (
	Start     Event = iota + 1 // client: initialize was sent
	Answer                     // client: the result arrived and is acceptable
	Refuse                     // client: an error or an unsupported revision arrived
	Greet                      // server: initialize was answered with a result
	Confirm                    // server: notifications/initialized arrived
	Overtake                   // server: a request arrived before the notification, out of order
	Shutdown                   // server: accept no new requests from now on
	Expire                     // the deadline of the handshake passed
	Stop                       // the connection is over
	eventEnds = int(iota) + 1
)

var eventNames = [eventEnds]string{
	"", "start", "answer", "refuse", "greet", "confirm", "overtake", "shutdown", "expire", "stop",
}

// String is the event in one word.
func (e Event) String() string {
	if 0 < e && int(e) < eventEnds {
		return eventNames[e]
	}
	return fmt.Sprintf("event(%d)", uint8(e))
}

// row is one transition: an event in one phase leads to another phase, with these effects.
type row struct {
	from Phase
	on   Event
	to   Phase
	do   []Do
}

// lifecycles holds the transitions of both sides. An event without a row is ignored if it is
// Expire, and an error otherwise.
var lifecycles = map[protocol.Side][]row{
	protocol.Client: {
		{PreInitialization, Start, Initializing, []Do{Arm}},
		{PreInitialization, Stop, Closed, []Do{Close}},
		{Initializing, Answer, Initialized, []Do{Disarm, Announce}},
		{Initializing, Refuse, Failed, []Do{Disarm}},
		{Initializing, Expire, Failed, []Do{Close}},
		{Initializing, Stop, Closed, []Do{Disarm, Close}},
		{Initialized, Stop, Closed, []Do{Close}},
		{Failed, Stop, Closed, []Do{Close}},
	},
	protocol.Server: {
		{Initialization, Greet, Initialized, nil},
		{Initialization, Expire, Closed, []Do{Close}},
		{Initialization, Stop, Closed, []Do{Disarm, Close}},
		{Initialized, Confirm, Ready, []Do{Disarm}},
		{Initialized, Overtake, Ready, []Do{Disarm}},
		{Initialized, Expire, Closed, []Do{Close}},
		{Initialized, Stop, Closed, []Do{Disarm, Close}},
		{Ready, Shutdown, ShuttingDown, []Do{Drain}},
		{Ready, Stop, Closed, []Do{Close}},
		{ShuttingDown, Stop, Closed, []Do{Close}},
	},
}

// phases lists the phases of a side, in the order of its life.
func phases(side protocol.Side) []Phase {
	if side == protocol.Client {
		return []Phase{PreInitialization, Initializing, Initialized, Failed, Closed}
	}
	return []Phase{Initialization, Initialized, Ready, ShuttingDown, Closed}
}

// TransitionError is the error of an invalid transition.
type TransitionError struct {
	From, To Phase
	Unknown  bool // From is not a phase of that side
}

// Error names the transition and the reason for the refusal.
func (e *TransitionError) Error() string {
	if e.Unknown {
		return fmt.Sprintf("unknown_phase %v", e.From)
	}
	return fmt.Sprintf("invalid_transition from %v to %v", e.From, e.To)
}

// ValidatePhaseTransition returns a *TransitionError if a side may not go from one phase to the
// other, and nil otherwise.
func ValidatePhaseTransition(side protocol.Side, from, to Phase) error {
	if !slices.Contains(phases(side), from) {
		return &TransitionError{From: from, To: to, Unknown: true}
	}
	if !slices.ContainsFunc(lifecycles[side], func(r row) bool {
		return r.from == from && r.to == to
	}) {
		return &TransitionError{From: from, To: to}
	}
	return nil
}

// Mermaid returns a diagram of the lifecycle of a side, for the documentation.
func Mermaid(side protocol.Side) string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	fmt.Fprintf(&b, "    [*] --> %v\n", phases(side)[0])
	for _, r := range lifecycles[side] {
		fmt.Fprintf(&b, "    %v --> %v: %v\n", r.from, r.to, r.on)
	}
	fmt.Fprintf(&b, "    %v --> [*]\n", Closed)
	return b.String()
}
