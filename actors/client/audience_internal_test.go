package client

import (
	"testing"

	"mcpd/actors/request"
	"mcpd/protocol"
)

func TestAudience(t *testing.T) {
	call := func(session, principal string) *request.Exchange {
		return &request.Exchange{Session: session, Principal: principal, Version: protocol.V20251125}
	}
	modern := func(session, principal string) *request.Exchange {
		x := call(session, principal)
		x.Version = protocol.V20260728
		return x
	}
	a1, a2, b1 := call("a1", "alice"), call("a2", "alice"), call("b1", "bob")
	m1, m2 := modern("peer", "alice"), modern("peer", "alice")
	nobody := audience{}
	alice := audience{sharing: true, principal: "alice"}
	of := func(principals ...string) (s servedPrincipals) {
		for _, p := range principals {
			s.add(p)
		}
		return s
	}
	for _, tt := range []struct {
		name              string
		calls             []*request.Exchange
		withdrawn, before servedPrincipals
		want              audience
	}{
		{"it was given nothing", nil, of(), of(), allSessions},
		{"the only principal", nil, of(), of("alice", "alice"), alice},
		{"two have called", nil, of(), of("alice", "bob"), nobody},
		{"the only call", []*request.Exchange{a1}, of(), of("bob", "alice"), audience{call: a1}},
		{"two calls of a session", []*request.Exchange{a1, a1}, of(), of("bob"), audience{
			sharing: true, session: "a1", principal: "alice",
		}},
		{"calls of two sessions", []*request.Exchange{a1, a2}, of(), of("bob"), alice},
		{"calls of two principals", []*request.Exchange{a1, b1}, of(), of("alice", "bob"), nobody},
		{"of three", []*request.Exchange{a1, b1, a1}, of(), of("alice", "bob"), nobody},
		{"the only call, after one of another was withdrawn", []*request.Exchange{a1}, of("bob"),
			of("alice", "bob"), nobody},
		{"the only call, after one of its principal was", []*request.Exchange{a1}, of("alice"),
			of("alice", "bob"), audience{call: a1}},
		{"no call, after one was withdrawn", nil, of("bob"), of("alice", "bob"), nobody},
		{"a modern call", []*request.Exchange{m1}, of(), of("alice"), audience{call: m1}},
		{"two of one peer", []*request.Exchange{m1, m2}, of(), of("alice"), nobody},
		{"one of a peer, one of a session", []*request.Exchange{m1, a1}, of(), of("alice"), alice},
	} {
		if got := audienceOf(tt.calls, tt.withdrawn, tt.before); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestReaders(t *testing.T) {
	for _, tt := range []struct {
		given     []string
		everybody bool
		may       []string
	}{
		{nil, false, []string{"alice", "bob", ""}},
		{[]string{"alice", "alice"}, false, []string{"alice"}},
		{[]string{"alice", "bob"}, false, nil},
		{[]string{"alice", "bob"}, true, []string{"alice", "bob", ""}},
	} {
		var s servedPrincipals
		for _, p := range tt.given {
			s.add(p)
		}
		readers := s.readers(tt.everybody)
		for _, p := range []string{"alice", "bob", ""} {
			want := false
			for _, m := range tt.may {
				want = want || m == p
			}
			if readers.May(p) != want {
				t.Errorf("given %q, everybody %v: %q may read: %v", tt.given, tt.everybody, p, !want)
			}
		}
	}
	if (Readers{}).May("") {
		t.Error("what is known of nobody may be read")
	}
}
