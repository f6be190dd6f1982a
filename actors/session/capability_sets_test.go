package session

import (
	"testing"
	"time"

	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/transport/streamable"
)

// A principal's servers are told of eight sets at most. Beyond that, a client is served with the
// largest known set that contains only capabilities of the client.
func TestSetsOfAPrincipalAreBounded(t *testing.T) {
	var s capabilitySets
	granted := map[protocol.Fingerprint]bool{}
	for f := range protocol.Fingerprint(255) {
		got := s.grant(255-f, 0)
		if granted[got] = true; !got.Within(255 - f) {
			t.Fatalf("%s is told as %s", 255-f, got)
		}
	}
	if len(granted) != MaxCapabilitySets || !granted[255] || !granted[0] {
		t.Errorf("%d sets: %v", len(granted), granted)
	}
	if got := s.grant(255, 0); got != 255 {
		t.Errorf("one that is known is told as %s", got)
	}
	small := capabilitySets{}
	for _, f := range []protocol.Fingerprint{1, 2, 4, 8, 16, 1 | 2, 1 | 4} {
		if got := small.grant(f, 0); got != f {
			t.Errorf("with room, %s is told as %s", f, got)
		}
	}
	for f, want := range map[protocol.Fingerprint]protocol.Fingerprint{1 | 2 | 8: 1 | 2, 1 | 32: 1,
		64: 0, 0: 0} {
		if got := small.grant(f, 0); got != want {
			t.Errorf("without room, %s is told as %s, want %s", f, got, want)
		}
	}
}

// A set makes room when the connections for it have ended, and no earlier.
func TestSetMakesRoomAfterItsConnections(t *testing.T) {
	var s capabilitySets
	for f := range protocol.Fingerprint(MaxCapabilitySets - 1) {
		s.grant(f+1, 0)
	}
	s.grant(3, 0)
	s.release(3, time.Minute)
	s.release(7, time.Minute)
	if got := s.grant(128, time.Minute+CapabilitySetLinger); got == 128 {
		t.Error("another took the place while a connection may be there")
	}
	if got := s.grant(128, time.Minute+CapabilitySetLinger+1); got != 128 {
		t.Errorf("the place that is free: %s", got)
	}
	if got := s.grant(64, 2*CapabilitySetLinger); got == 64 {
		t.Error("a set that is in use lost its place")
	}
	if got := s.grant(3, 2*CapabilitySetLinger); got != 3 || s.empty(2*CapabilitySetLinger) {
		t.Errorf("a set that is in use: %s", got)
	}
}

// A session's set of capabilities stays the same for the life of the session, even if there is room
// for more sets later, because its connections are found by it. The set is freed when the session
// ends. A crash of the manager loses no count.
func TestSetOfASessionStays(t *testing.T) {
	x := NewIndex(nil)
	handle := func(server string) *Handle {
		h := idleHandle()
		h.id, h.clock, h.index, h.endpoint = server, clock.System, x, streamable.Endpoint{
			Tenant: "acme", Server: server, Principal: "ci",
		}
		x.add(h)
		return h
	}
	var first []*Handle
	for f := range protocol.Fingerprint(MaxCapabilitySets - 1) {
		h := handle(string(rune('a' + f)))
		if first = append(first, h); h.GrantSet(f+1) != f+1 {
			t.Fatalf("set %d is told as %s", f+1, h.GrantSet(f+1))
		}
	}
	late := handle("late")
	if got := late.GrantSet(16 | 8); got != 0 {
		t.Errorf("without room told as %s", got)
	}
	x.remove(first[0])
	x.holdings["acme"].principals["ci"].sets.unusedSince[1] -= CapabilitySetLinger + time.Second
	x.recount(time.Duration(clock.SteadyNanos(time.Now())))
	if got := late.GrantSet(16 | 8); got != 0 {
		t.Errorf("a session that was told nothing is told as %s", got)
	}
	if got := handle("next").GrantSet(16 | 8); got != 16|8 {
		t.Errorf("with room, the next is told as %s", got)
	}
	for _, h := range x.members(group{tenant: "acme"}) {
		x.remove(h)
	}
	if p := x.holdings["acme"].principals["ci"]; len(p.sets.uses) != 0 ||
		len(p.sets.unusedSince) != MaxCapabilitySets {
		t.Errorf("in use %v, left %v", p.sets.uses, p.sets.unusedSince)
	}
}
