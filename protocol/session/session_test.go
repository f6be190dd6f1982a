package session_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mcpd/protocol"
	"mcpd/protocol/session"
)

var start = time.Unix(1_000_000, 0)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// todo describes the effects in short.
func todo(effects []session.Effect) string {
	words := map[session.Do]string{
		session.Entered: "entered", session.Arm: "arm", session.Disarm: "disarm",
		session.Announce: "announce", session.Drain: "drain", session.Close: "close",
	}
	var list []string
	for _, e := range effects {
		word := words[e.Do]
		if e.Do == session.Entered {
			word = e.Transition.To.String()
		}
		if e.Reason != nil {
			word += "(" + e.Reason.Error() + ")"
		}
		list = append(list, word)
	}
	return strings.Join(list, " ")
}

// S4-34, S4-35, S4-43, S4-44, S4-51: the allowed transitions, for every pair of phases.
func TestTransitions(t *testing.T) {
	const p, i, d, f, c = session.PreInitialization, session.Initializing, session.Initialized,
		session.Failed, session.Closed
	const n, r, s = session.Initialization, session.Ready, session.ShuttingDown
	all := []session.Phase{p, i, d, f, c, n, r, s, 0, 99}
	for side, allowed := range map[protocol.Side]map[session.Phase][]session.Phase{
		protocol.Client: {p: {i, c}, i: {d, f, c}, d: {c}, f: {c}, c: {}},
		protocol.Server: {n: {d, c}, d: {r, c}, r: {s, c}, s: {c}, c: {}},
	} {
		for _, from := range all {
			follow, known := allowed[from]
			for _, to := range all {
				err := session.ValidatePhaseTransition(side, from, to)
				var refused *session.TransitionError
				switch {
				case slices.Contains(follow, to):
					if err != nil {
						t.Errorf("%v: %v", side, err)
					}
				case !errors.As(err, &refused) || refused.Unknown == known || refused.From != from ||
					refused.To != to:
					t.Errorf("%v from %v to %v: got %v", side, from, to, err)
				}
			}
		}
	}
	// S4-41: the texts of the errors.
	err := session.ValidatePhaseTransition(protocol.Client, f, d)
	if got, want := err.Error(), "invalid_transition from error to initialized"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := session.ValidatePhaseTransition(protocol.Client, r,
		c).Error(), "unknown_phase ready"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if session.Phase(99).String() != "phase(99)" || session.Event(99).String() != "event(99)" {
		t.Error("what is not a phase or event looks like one")
	}
}

func TestServerLife(t *testing.T) {
	l := session.NewServer(at(0), session.Options{})
	if l.Deadline() != at(30) { // S4-48
		t.Errorf("got %v", l.Deadline())
	}
	for _, step := range []struct {
		at   int
		on   session.Event
		want string
	}{
		{1, session.Greet, "initialized"},
		{2, session.Confirm, "ready disarm"},
		{31, session.Expire, ""}, // S4-49: ignored in any other phase
		{40, session.Shutdown, "shutting_down drain"},
		{41, session.Stop, "closed close"},
	} {
		effects, err := l.Step(at(step.at), step.on)
		if err != nil || todo(effects) != step.want {
			t.Errorf("%v: got %s, %v; want %s", step.on, todo(effects), err, step.want)
		}
	}
	var phases []string // S4-46
	for _, h := range l.History() {
		phases = append(phases, fmt.Sprintf("%v@%d", h.To, h.At.Unix()-start.Unix()))
	}
	if got, want := strings.Join(phases,
		" "), "closed@41 shutting_down@40 ready@2 initialized@1 initialization@0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if h := l.History()[0]; h.From != session.ShuttingDown {
		t.Errorf("got %v", h)
	}
	if ready, ok := l.Entered(session.Ready); !ok || !ready.Equal(at(2)) {
		t.Errorf("got %v, %v", ready, ok)
	}
	if _, ok := l.Entered(session.Failed); ok {
		t.Error("a phase was entered that never was")
	}
}

// S4-49: a handshake cannot hang.
func TestServerInitializationTimesOut(t *testing.T) {
	for _, greeted := range []bool{false, true} {
		l := session.NewServer(at(0), session.Options{Timeout: 10 * time.Second})
		if greeted {
			l.Step(at(5), session.Greet)
		}
		effects, err := l.Step(at(9), session.Expire)
		if err != nil || todo(effects) != "arm" || effects[0].At != at(10) {
			t.Errorf("early: got %s, %v", todo(effects), err)
		}
		effects, err = l.Step(at(10), session.Expire)
		if err != nil || todo(effects) != "closed close(initialization_timeout)" ||
			l.Phase() != session.Closed {
			t.Errorf("got %s, %v in %v", todo(effects), err, l.Phase())
		}
		if !errors.Is(effects[1].Reason, session.ErrInitializationTimeout) || !l.Deadline().IsZero() {
			t.Errorf("got %v, %v", effects[1].Reason, l.Deadline())
		}
	}
}

func TestClientLife(t *testing.T) {
	for _, tc := range []struct {
		name  string
		steps []session.Event
		want  string
	}{
		{"good", []session.Event{session.Start, session.Answer, session.Stop},
			"initializing arm | initialized disarm announce | closed close"},
		{"refused", []session.Event{session.Start, session.Refuse, session.Stop},
			"initializing arm | error disarm | closed close"},
		{"given up", []session.Event{session.Start, session.Stop},
			"initializing arm | closed disarm close"},
		{"never begun", []session.Event{session.Stop}, "closed close"},
		{"timed out", []session.Event{session.Start, session.Expire, session.Stop},
			"initializing arm | error close(initialization_timeout) | closed close"},
	} {
		l := session.NewClient(at(0), session.Options{})
		if !l.Deadline().IsZero() {
			t.Error("the handshake is timed before it begins")
		}
		var got []string
		for i, on := range tc.steps {
			now := at(i)
			if on == session.Expire {
				now = at(30) // S4-39
			}
			effects, err := l.Step(now, on)
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			got = append(got, todo(effects))
		}
		if s := strings.Join(got, " | "); s != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, s, tc.want)
		}
	}
}

func TestEventOutOfPlaceChangesNothing(t *testing.T) {
	l := session.NewServer(at(0), session.Options{})
	_, err := l.Step(at(1), session.Shutdown)
	var refused *session.EventError
	if !errors.As(err, &refused) || err.Error() != "shutdown in phase initialization" {
		t.Errorf("got %v", err)
	}
	if l.Phase() != session.Initialization || len(l.History()) != 1 || !l.LastActivity().Equal(at(0)) {
		t.Error("something changed")
	}
}

// S4-38, S4-42: TransitionPhase validates, then changes the phase, then runs the callbacks.
func TestTransitionPhaseCallsBack(t *testing.T) {
	l := session.NewClient(at(0), session.Options{})
	var heard []string
	hear := func(tr session.Transition) {
		heard = append(heard, fmt.Sprintf("%v to %v, now %v", tr.From, tr.To, l.Phase()))
	}
	l.OnPhase(session.Initializing, hear)
	l.OnPhase(session.Initializing, hear)
	l.OnPhase(session.Closed, hear)
	if err := l.TransitionPhase(at(1), session.Initialized); err == nil || len(heard) > 0 {
		t.Errorf("got %v, heard %v", err, heard)
	}
	if err := l.TransitionPhase(at(2), session.Initializing); err != nil || l.Deadline() != at(32) ||
		!l.LastActivity().Equal(at(2)) {
		t.Errorf("got %v, deadline %v", err, l.Deadline())
	}
	if want := "pre_initialization to initializing, now initializing"; len(heard) != 2 ||
		heard[0] != want {
		t.Errorf("got %q, want %q twice", heard, want)
	}
}

// S4-116, S4-50: the messages that each phase admits.
func TestAdmission(t *testing.T) {
	life := func(side protocol.Side, o session.Options, events ...session.Event) *session.Lifecycle {
		l := session.NewServer(at(0), o)
		if side == protocol.Client {
			l = session.NewClient(at(0), o)
		}
		for _, on := range events {
			if _, err := l.Step(at(0), on); err != nil {
				t.Fatal(err)
			}
		}
		return l
	}
	const client, server = protocol.Client, protocol.Server
	for _, tc := range []struct {
		name   string
		l      *session.Lifecycle
		method string
		refuse string // the word of the condition
		do     string
	}{
		{"S0-30", life(server, session.Options{}), "tools/list", "not_initialized", ""},
		{"first initialize", life(server, session.Options{}), "initialize", "", ""},
		{"ping at any time", life(server, session.Options{}), "ping", "", ""},
		{"notification to nobody", life(server, session.Options{}), "notifications/cancelled", "", ""},
		{"initialized before initialize", life(server, session.Options{}), "notifications/initialized",
			"not_initialized", ""},
		{"S0-32", life(server, session.Options{}, session.Greet), "initialize",
			"already_initialized", ""},
		{"C7", life(server, session.Options{}, session.Greet), "notifications/initialized", "",
			"ready disarm"},
		{"ping during the handshake", life(server, session.Options{}, session.Greet), "ping", "", ""},
		{"cancel during the handshake", life(server, session.Options{}, session.Greet),
			"notifications/cancelled", "", ""},
		{"too early, in order", life(server, session.Options{}, session.Greet), "tools/list",
			"not_initialized", ""},
		{"overtakes the notification", life(server, session.Options{Unordered: true}, session.Greet),
			"tools/list", "", "ready disarm"},
		{"the notification comes after all",
			life(server, session.Options{Unordered: true}, session.Greet, session.Overtake),
			"notifications/initialized", "", ""},
		{"ready", life(server, session.Options{}, session.Greet, session.Confirm), "tools/list", "", ""},
		{"initialize again", life(server, session.Options{}, session.Greet, session.Confirm),
			"initialize", "already_initialized", ""},
		{"S4-117: request while shutting down",
			life(server, session.Options{}, session.Greet, session.Confirm, session.Shutdown), "tools/list",
			"overloaded", ""},
		{"S4-117: cancel while shutting down",
			life(server, session.Options{}, session.Greet, session.Confirm, session.Shutdown),
			"notifications/cancelled", "", ""},
		{"closed", life(server, session.Options{}, session.Stop), "ping", "session_gone", ""},

		{"request of a server before the handshake", life(client, session.Options{}), "roots/list",
			"not_initialized", ""},
		{"ping of a server during it", life(client, session.Options{}, session.Start), "ping", "", ""},
		{"log of a server during it", life(client, session.Options{}, session.Start),
			"notifications/message", "", ""},
		{"request of a server after it", life(client, session.Options{}, session.Start, session.Answer),
			"roots/list", "", ""},
		{"request of a server that failed",
			life(client, session.Options{}, session.Start, session.Refuse), "ping", "session_gone", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			effects, err := tc.l.Admit(at(7), tc.method)
			if got := todo(effects); got != tc.do {
				t.Errorf("got %q, want %q", got, tc.do)
			}
			if (err != nil) != (tc.refuse != "") ||
				err != nil && protocol.ConditionOf(err).String() != tc.refuse {
				t.Errorf("got %v, want %q", err, tc.refuse)
			}
			if moved := tc.l.LastActivity().Equal(at(7)); moved == (err != nil) {
				t.Errorf("activity noted %v with %v", moved, err)
			}
		})
	}
}

// S4-112: for every sequence of events, a lifecycle follows its table, records its phases, and ends
// at most once.
func TestLifecycleProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.SampledFrom([]protocol.Side{protocol.Client, protocol.Server}).Draw(t, "side")
		now := at(0)
		l := session.NewServer(now, session.Options{})
		if side == protocol.Client {
			l = session.NewClient(now, session.Options{})
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
			before, history := l.Phase(), l.History()
			on := session.Event(rapid.IntRange(1, 9).Draw(t, "event"))
			effects, err := l.Step(now, on)
			after := l.Phase()
			switch {
			case err != nil && (after != before || len(l.History()) != len(history)):
				t.Fatalf("%v in %v failed, but changed to %v", on, before, after)
			case after != before && session.ValidatePhaseTransition(side, before, after) != nil:
				t.Fatalf("%v went from %v to %v", on, before, after)
			case after != before && (len(l.History()) != len(history)+1 || l.History()[0].To != after ||
				!l.History()[0].At.Equal(now)):
				t.Fatalf("history is %v after %v", l.History(), after)
			case after != before && (len(effects) == 0 || effects[0].Do != session.Entered ||
				effects[0].Transition != (session.Transition{From: before, To: after, At: now})):
				t.Fatalf("%v: effects are %v", on, effects)
			case before == session.Closed && err == nil && on != session.Expire:
				t.Fatalf("%v after the end", on)
			}
			waiting := after == session.Initializing ||
				side == protocol.Server && (after == session.Initialization || after == session.Initialized)
			if waiting == l.Deadline().IsZero() {
				t.Fatalf("in %v the deadline is %v", after, l.Deadline())
			}
		}
	})
}

func TestDiagram(t *testing.T) {
	for side, lines := range map[protocol.Side][]string{
		protocol.Server: {"[*] --> initialization", "initialization --> initialized: greet",
			"ready --> shutting_down: shutdown", "closed --> [*]"},
		protocol.Client: {"[*] --> pre_initialization", "initializing --> error: refuse",
			"error --> closed: stop"},
	} {
		drawn := session.Mermaid(side)
		for _, line := range lines {
			if !strings.Contains(drawn, "    "+line+"\n") {
				t.Errorf("%v: no line %q in\n%s", side, line, drawn)
			}
		}
	}
}

// S4-123: below 100 µs.
func BenchmarkPhaseTransition(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		l := session.NewServer(start, session.Options{})
		l.Step(start, session.Greet)
		l.Step(start, session.Confirm)
	}
}

func ExampleLifecycle() {
	now := time.Unix(0, 0).UTC()
	l := session.NewServer(now, session.Options{})
	_, err := l.Admit(now, "tools/list")
	fmt.Println(err)

	l.Step(now, session.Greet) // initialize was negotiated and answered
	effects, _ := l.Admit(now, "notifications/initialized")
	fmt.Println(effects[0].Transition.From, "to", effects[0].Transition.To)

	_, err = l.Admit(now, "tools/list")
	fmt.Println(err)
	// Output:
	// Cannot list tools before server initialization
	// initialized to ready
	// <nil>
}
