package session

import (
	"errors"
	"time"

	"mcpd/protocol"
)

// ErrInitializationTimeout is why a connection closes whose handshake took too long (S4-49).
var ErrInitializationTimeout = errors.New("initialization_timeout")

// Do is what the owner of a connection is to do.
type Do uint8

// What is to be done.
const (
	Entered  Do = iota + 1 // nothing: Transition tells what happened, for events and metrics
	Arm                    // set the one timer to At, and Step with Expire when it fires
	Disarm                 // stop it
	Announce               // send notifications/initialized
	Drain                  // finish what is in flight, refuse the rest
	Close                  // close the connection; Reason says why, nil for a normal end
)

// Effect is one thing to do.
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

// Options of a lifecycle.
type Options struct {
	// Timeout bounds the handshake; 0 for protocol.InitializeTimeout.
	Timeout time.Duration
	// Unordered says that the transport may deliver a request before the notification that was sent first, as HTTP does. Such a request
	// counts as the notification.
	Unordered bool
}

// maxHistory is the number of phases of the longest life; the tables have no cycle, so no life is longer.
const maxHistory = 5

// Lifecycle is the state of one connection. It is made by NewClient or NewServer.
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

// entry is one line of the history, small because there is one array of them for every connection.
type entry struct {
	phase Phase
	at    int64 // Unix nanoseconds
}

// NewClient begins the life of a connection to a server. Its timer starts with Start.
func NewClient(now time.Time, o Options) *Lifecycle { return begin(protocol.Client, now, o) }

// NewServer begins the life of a connection from a client. The handshake has until Deadline: the owner arms its timer at once (S4-48).
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

// Phase is where the connection is.
func (l *Lifecycle) Phase() Phase { return l.phase }

// Deadline is when the handshake must be over; zero when it is, or has not begun.
func (l *Lifecycle) Deadline() time.Time { return l.deadline }

// Extend moves the end of the handshake by what it has waited for others than the peer. It changes nothing when the handshake is over.
func (l *Lifecycle) Extend(by time.Duration) {
	if !l.deadline.IsZero() {
		l.deadline = l.deadline.Add(by)
	}
}

// LastActivity is when the connection last changed its phase or admitted a message (S4-40).
func (l *Lifecycle) LastActivity() time.Time { return l.active }

// History lists the phases, the latest first, with the time each was entered (S4-37, S4-46).
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

// Entered is when the connection entered the phase, and whether it did.
func (l *Lifecycle) Entered(p Phase) (time.Time, bool) {
	for _, e := range l.history[:l.entries] {
		if e.phase == p {
			return time.Unix(0, e.at), true
		}
	}
	return time.Time{}, false
}

// OnPhase registers a callback that runs within the transition to that phase, after the state has changed (S4-38).
func (l *Lifecycle) OnPhase(p Phase, callback func(Transition)) {
	if l.callbacks == nil {
		l.callbacks = make(map[Phase][]func(Transition))
	}
	l.callbacks[p] = append(l.callbacks[p], callback)
}

// TransitionPhase goes to a phase: it validates first, and on success sets the phase, adds to the history, notes the activity and runs the
// callbacks. On failure nothing changes (S4-42).
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

// Step takes an event and returns what to do, in order. An event that does not belong in the phase is an *EventError and
// changes nothing, except Expire, which is then late and ignored (S4-49).
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

// EventError refuses an event that does not belong in the phase.
type EventError struct {
	Phase Phase
	Event Event
}

// Error names the event and the phase.
func (e *EventError) Error() string { return e.Event.String() + " in phase " + e.Phase.String() }
