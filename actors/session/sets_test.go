package session

import (
	"testing"
	"time"

	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/transport/streamable"
)

// A principal's servers are told of eight sets at most. Whoever comes beyond that is served by one
// that holds nothing he lacks, the largest of them.
func TestSetsOfAPrincipalAreBounded(t *testing.T) {
	for name, eras := range map[string][]bool{"one era": {true}, "both eras": {false, true}} {
		var s sets
		granted := map[set]bool{}
		for f := range protocol.Fingerprint(255) {
			for _, modern := range eras {
				got := s.grant(set{255 - f, modern}, 0)
				if granted[got] = true; !got.Within(255-f) || got.modern != modern {
					t.Fatalf("%s: %s is told as %v", name, 255-f, got)
				}
			}
		}
		want := MaxSets // of which one is kept for the empty set of the era that nobody speaks
		if len(eras) == 1 {
			want--
		}
		if len(granted) != want || !granted[set{255, true}] || !granted[set{0, true}] {
			t.Errorf("%s: %d sets: %v", name, len(granted), granted)
		}
		if got := s.grant(set{255, true}, 0); got.Fingerprint != 255 {
			t.Errorf("%s: one that is known is told as %v", name, got)
		}
	}
	small := sets{}
	for _, f := range []protocol.Fingerprint{1, 2, 4, 8, 1 | 2, 1 | 4} {
		if got := small.grant(set{f, false}, 0); got.Fingerprint != f {
			t.Errorf("with room, %s is told as %v", f, got)
		}
	}
	for f, want := range map[protocol.Fingerprint]protocol.Fingerprint{1 | 2 | 8: 1 | 2, 1 | 32: 1, 64: 0, 0: 0} {
		if got := small.grant(set{f, false}, 0); got.Fingerprint != want {
			t.Errorf("without room, %s is told as %v, want %s", f, got, want)
		}
	}
	if got := small.grant(set{1 | 2, true}, 0); got != (set{0, true}) {
		t.Errorf("without room, one of the other era is told as %v", got)
	}
}

// A set makes room when the connections that were told of it have ended, and no earlier.
func TestSetMakesRoomAfterItsConnections(t *testing.T) {
	var s sets
	legacy := func(f protocol.Fingerprint) set { return set{f, false} }
	for f := range protocol.Fingerprint(MaxSets - 2) {
		s.grant(legacy(f+1), 0)
	}
	s.grant(legacy(3), 0)
	s.release(legacy(3), time.Minute)
	s.release(legacy(6), time.Minute)
	if got := s.grant(legacy(128), time.Minute+SetLinger); got == legacy(128) {
		t.Error("another took the place while a connection may be there")
	}
	if got := s.grant(legacy(128), time.Minute+SetLinger+1); got != legacy(128) {
		t.Errorf("the place that is free: %v", got)
	}
	if got := s.grant(legacy(64), 2*SetLinger); got == legacy(64) {
		t.Error("a set that is in use lost its place")
	}
	if got := s.grant(legacy(3), 2*SetLinger); got != legacy(3) || s.empty(2*SetLinger) {
		t.Errorf("a set that is in use: %v", got)
	}
}

// A session's set of capabilities stays the same while the session lasts, also when there is room for
// more sets, because its connections are found by it. The set is free when the session ends, and a
// crash of the manager loses count of no set.
func TestSetOfASessionStays(t *testing.T) {
	x := NewIndex(nil)
	handle := func(server string) *Handle {
		h := idleHandle()
		h.id, h.clock, h.index, h.endpoint = server, clock.System, x, streamable.Endpoint{Tenant: "acme", Server: server, Principal: "ci"}
		x.add(h)
		return h
	}
	var first []*Handle
	for f := range protocol.Fingerprint(MaxSets - 2) {
		h := handle(string(rune('a' + f)))
		if first = append(first, h); h.Tell(f+1) != f+1 {
			t.Fatalf("set %d is told as %s", f+1, h.Tell(f+1))
		}
	}
	late := handle("late")
	if got := late.Tell(16 | 8); got != 0 {
		t.Errorf("without room told as %s", got)
	}
	x.remove(first[0])
	x.held["acme"].principals["ci"].sets.left[set{1, false}] -= SetLinger + time.Second
	x.recount(time.Duration(clock.Steady(time.Now())))
	if got := late.Tell(16 | 8); got != 0 {
		t.Errorf("a session that was told nothing is told as %s", got)
	}
	if got := handle("next").Tell(16 | 8); got != 16|8 {
		t.Errorf("with room, the next is told as %s", got)
	}
	for _, h := range x.members(group{tenant: "acme"}) {
		x.remove(h)
	}
	if p := x.held["acme"].principals["ci"]; len(p.sets.uses) != 0 || len(p.sets.left) != MaxSets-1 {
		t.Errorf("in use %v, left %v", p.sets.uses, p.sets.left)
	}
}
