package session

import (
	"fmt"
	"slices"
	"strings"

	"mcpd/protocol"
)

// Phase is where in its life a connection is.
type Phase uint8

// The phases of both sides, by the names of the design they come from.
const (
	// Of a client (S4-34).
	PreInitialization Phase = iota + 1 // nothing was sent
	Initializing                       // initialize was sent
	Initialized                        // client: the answer came, the notification was sent; server: the answer was sent
	Failed                             // initialization failed
	Closed                             // both sides: the connection is over

	// Of a server (S4-43), with Initialized and Closed.
	Initialization // waits for initialize
	Ready          // notifications/initialized came
	ShuttingDown   // takes no new requests

	phaseCount = int(iota) + 1
)

var phaseNames = [phaseCount]string{
	"", "pre_initialization", "initializing", "initialized", "error", "closed", "initialization", "ready", "shutting_down",
}

// String is the phase in snake case.
func (p Phase) String() string {
	if 0 < p && int(p) < phaseCount {
		return phaseNames[p]
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// Event is what happens to a connection.
type Event uint8

// The events.
const (
	Start     Event = iota + 1 // client: initialize was sent
	Answer                     // client: its result came and is acceptable
	Refuse                     // client: an error came, or a revision it does not speak
	Greet                      // server: initialize came and was answered with a result
	Confirm                    // server: notifications/initialized came
	Overtake                   // server: a request came first, over a transport that does not keep order
	Shutdown                   // server: no new requests from now on
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

// row says that an event in one phase leads to another and what is to be done then.
type row struct {
	from Phase
	on   Event
	to   Phase
	do   []Do
}

// The two lifecycles. An event without a row for the phase is ignored if it is Expire (S4-49), and an error otherwise.
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

// TransitionError refuses a transition: to a phase that does not follow, or from one that the side does not have.
type TransitionError struct {
	From, To Phase
	Unknown  bool // From is no phase of that side
}

// Error says which transition was refused and why, in the words of S4-41.
func (e *TransitionError) Error() string {
	if e.Unknown {
		return fmt.Sprintf("unknown_phase %v", e.From)
	}
	return fmt.Sprintf("invalid_transition from %v to %v", e.From, e.To)
}

// ValidatePhaseTransition reports why a side may not go from one phase to the other, as a *TransitionError (S4-41).
func ValidatePhaseTransition(side protocol.Side, from, to Phase) error {
	if !slices.Contains(phases(side), from) {
		return &TransitionError{From: from, To: to, Unknown: true}
	}
	if !slices.ContainsFunc(lifecycles[side], func(r row) bool { return r.from == from && r.to == to }) {
		return &TransitionError{From: from, To: to}
	}
	return nil
}

// Mermaid draws the lifecycle of a side for the documentation.
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
