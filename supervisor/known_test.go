package supervisor

import (
	"maps"
	"testing"

	"mcpd/actors/configuration"
	"mcpd/gateway/config"
	"mcpd/gateway/tenant"
)

// hostOf returns a host whose configuration has one tenant, acme, with these servers.
func hostOf(servers ...string) *host {
	h := &host{}
	h.settings.Store(settingsOf(servers...))
	return h
}

func settingsOf(servers ...string) *settings {
	acme := tenant.Tenant{Name: "acme"}
	for _, name := range servers {
		acme.Servers = append(acme.Servers, tenant.Server{Name: name})
	}
	return newSettings(&config.Config{Tenants: []config.Tenant{{Tenant: acme}}},
		configuration.Applied{})
}

// The shared knowledge of a server is forgotten when the server is declared differently, or
// removed.
func TestKnownServersAreForgotten(t *testing.T) {
	h := hostOf("files", "search", "old")
	files := serverName{"acme", "files"}
	first := h.knownOf(files, 0)
	if h.knownOf(files, 0) != first {
		t.Error("known twice")
	}
	second := h.knownOf(files, 1)
	if second == first || h.knownOf(files, 0) == second || h.knownOf(files, 1) != second {
		t.Error("an earlier declaration is taken for the later one, or has replaced it")
	}
	h.knownOf(serverName{"acme", "search"}, 0)
	h.knownOf(serverName{"acme", "old"}, 0)
	h.knownOf(serverName{"acme", "removed"}, 0)
	h.knownOf(serverName{"globex", "files"}, 0)
	h.settings.Store(settingsOf("files", "search"))
	h.known.keep(h.now)
	want := map[string]int{"known_servers": 2, "ready_connections": 0, "open_questions": 0}
	got := map[string]int{}
	for kind, n := range h.knownRecords() {
		got[kind] += n
	}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}
