package supervisor

import (
	"maps"
	"testing"

	"mcpd/gateway/tenant"
)

// What is known of a server is forgotten when the server is declared otherwise, or not at all.
func TestKnownServersAreForgotten(t *testing.T) {
	h := &host{}
	h.settings.Store(&settings{tenants: map[string]*tenant.Tenant{
		"acme": {Servers: []tenant.Server{{Name: "files"}, {Name: "search"}}},
	}})
	first := h.knownOf(knownKey{"acme", "files", 0})
	if h.knownOf(knownKey{"acme", "files", 0}) != first {
		t.Error("known twice")
	}
	h.knownOf(knownKey{"acme", "search", 0})
	h.knownOf(knownKey{"acme", "removed", 0})
	h.knownOf(knownKey{"globex", "files", 0})
	h.knownOf(knownKey{"acme", "files", 1})
	want := map[string]int{"known_servers": 2, "ready_connections": 0, "open_questions": 0}
	got := map[string]int{}
	for kind, n := range h.knownRecords() {
		got[kind] += n
	}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}
