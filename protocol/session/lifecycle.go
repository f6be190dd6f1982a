package session

import (
	"errors"
	"time"

	"mcpd/protocol"
)

// ErrInitializationTimeout is the reason of Close for a connection whose handshake timed out.
var ErrInitializationTimeout = errors.New("initialization_timeout")

// Do is the kind of an Effect.
type Do uint8

// The kinds of effects.
const (
	Entered  Do = iota + 1 // no action: Transition describes the change, for events and metrics
	Arm                    // set the only timer to At, and call Step with Expire when it fires
	Disarm                 // stop the timer
	Announce               // send notifications/initialized
	Drain                  // finish the requests in flight, refuse new ones
	Close                  // close the connection; Reason is nil for a normal end
)

// Effect is one action for the owner of a connection.
type Effect struct {
	Do         Do
	At         time.Time
	Transition Transition
	Reason     error
}

// Transition is a change of phase.
type Transition struct {
	From, To Phase
	At       time.Time
}

// Options are the settings of a lifecycle.
type Options struct {
	// Timeout bounds the handshake. 0 stands for protocol.InitializeTimeout, 30 seconds.
	Timeout time.Duration
	// Unordered says that the transport, like HTTP, may deliver a request before an earlier
	// notification. Such a request then counts as notifications/initialized.
	Unordered bool
}

// maxHistory is the number of phases of the longest life. The tables have no cycles.
const maxHistory = 5

// Lifecycle is the state of one connection. Create it with NewClient or NewServer. It is not safe
// for concurrent use.
type Lifecycle struct {
	side      protocol.Side
	phase     Phase
	unordered bool
	entries   uint8
	history   [maxHistory]entry // oldest first
	deadline  time.Time         // of the handshake; zero when it is over
	timeout   time.Duration
	active    time.Time
	callbacks map[Phase][]func(Transition)
}

// entry is one entry of the history. It is small, because every connection has an array of them.
type entry struct {
	phase Phase
	at    int64 // Unix nanoseconds
}

// NewClient returns the lifecycle of a connection to a server. Its deadline starts with the event
// Start.
func NewClient(now time.Time, o Options) *Lifecycle { return begin(protocol.Client, now, o) }

// NewServer returns the lifecycle of a connection from a client. The owner must set its timer to
// Deadline at once.
func NewServer(now time.Time, o Options) *Lifecycle {
	l := begin(protocol.Server, now, o)
	l.deadline = now.Add(l.timeout)
	return l
}

func begin(side protocol.Side, now time.Time, o Options) *Lifecycle {
	l := &Lifecycle{side: side, unordered: o.Unordered, timeout: o.Timeout}
	if l.timeout == 0 {
		l.timeout = protocol.InitializeTimeout
	}
	l.enter(now, phases(side)[0])
	return l
}

// Phase is the current phase.
func (l *Lifecycle) Phase() Phase { return l.phase }

// Deadline is the end of the time for the handshake. It is zero before and after the handshake.
func (l *Lifecycle) Deadline() time.Time { return l.deadline }

// Extend moves the deadline of the handshake by a time that the handshake waited for others than
// the peer. It has no effect after the handshake.
func (l *Lifecycle) Extend(by time.Duration) {
	if !l.deadline.IsZero() {
		l.deadline = l.deadline.Add(by)
	}
}

// LastActivity is the time of the last change of phase or admitted message.
func (l *Lifecycle) LastActivity() time.Time { return l.active }

// History lists the changes of phase with their times, the latest first.
func (l *Lifecycle) History() []Transition {
	list := make([]Transition, 0, l.entries)
	for i := int(l.entries) - 1; i >= 0; i-- {
		t := Transition{To: l.history[i].phase, At: time.Unix(0, l.history[i].at)}
		if i > 0 {
			t.From = l.history[i-1].phase
		}
		list = append(list, t)
	}
	return list
}

// Entered returns the time at which the connection entered the phase, and whether it did.
func (l *Lifecycle) Entered(p Phase) (time.Time, bool) {
	for _, e := range l.history[:l.entries] {
		if e.phase == p {
			return time.Unix(0, e.at), true
		}
	}
	return time.Time{}, false
}

// OnPhase registers a callback for the transition to that phase. The callback runs after the state
// has changed.
func (l *Lifecycle) OnPhase(p Phase, callback func(Transition)) {
	if l.callbacks == nil {
		l.callbacks = make(map[Phase][]func(Transition))
	}
	l.callbacks[p] = append(l.callbacks[p], callback)
}

// TransitionPhase changes the phase without an event. It validates the transition, sets the phase,
// extends the history, records the activity and runs the callbacks. An invalid transition yields a
// *TransitionError and changes nothing.
func (l *Lifecycle) TransitionPhase(now time.Time, to Phase) error {
	if err := ValidatePhaseTransition(l.side, l.phase, to); err != nil {
		return err
	}
	l.move(now, to)
	return nil
}

func (l *Lifecycle) move(now time.Time, to Phase) {
	from := l.phase
	l.enter(now, to)
	switch {
	case to == Initializing:
		l.deadline = now.Add(l.timeout)
	case to != Initialized || l.side == protocol.Client: // the handshake is over
		l.deadline = time.Time{}
	}
	for _, callback := range l.callbacks[to] {
		callback(Transition{from, to, now})
	}
}

func (l *Lifecycle) enter(now time.Time, p Phase) {
	l.phase, l.active = p, now
	l.history[l.entries] = entry{p, now.UnixNano()}
	l.entries++
}

// Step takes an event and returns its effects, in order. An event that the phase does not allow
// yields an *EventError and changes nothing. A late Expire is ignored.
func (l *Lifecycle) Step(now time.Time, on Event) ([]Effect, error) {
	for _, r := range lifecycles[l.side] {
		if r.from != l.phase || r.on != on {
			continue
		}
		if on == Expire && now.Before(l.deadline) {
			return []Effect{{Do: Arm, At: l.deadline}}, nil
		}
		l.move(now, r.to)
		effects := make([]Effect, 0, 1+len(r.do))
		effects = append(effects, Effect{Do: Entered, Transition: Transition{r.from, r.to, now}})
		for _, do := range r.do {
			effects = append(effects, l.effect(do, on))
		}
		return effects, nil
	}
	if on == Expire {
		return nil, nil
	}
	return nil, &EventError{l.phase, on}
}

func (l *Lifecycle) effect(do Do, on Event) Effect {
	e := Effect{Do: do}
	switch {
	case do == Arm:
		e.At = l.deadline
	case do == Close && on == Expire:
		e.Reason = ErrInitializationTimeout
	}
	return e
}

// EventError is the error of an event that the phase does not allow.
type EventError struct {
	Phase Phase
	Event Event
}

// Error names the event and the phase.
func (e *EventError) Error() string { return e.Event.String() + " in phase " + e.Phase.String() }
