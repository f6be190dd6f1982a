package supervisor

import (
	"testing"

	"mcpd/actors/configuration"
	"mcpd/gateway/auth"
	"mcpd/gateway/config"
	"mcpd/gateway/tenant"
	"mcpd/transport/streamable"
)

// A client without a key keeps no session with a tenant that has keys, except at an embedded host,
// whose user runs it.
func TestClientOfAnEmbeddedHostNeedsNoKey(t *testing.T) {
	c := &config.Config{
		Tenants: []config.Tenant{{Tenant: tenant.Tenant{Name: "acme"}, Keys: []auth.Key{{Name: "ci"}}}},
	}
	for embedded, want := range map[bool]bool{true: true, false: false} {
		h := &host{options: Options{Embedded: embedded}}
		h.settings.Store(newSettings(c, configuration.Applied{}))
		if got := h.sessionOptions().Serves(streamable.Endpoint{Tenant: "acme",
			Principal: auth.Anonymous}); got != want {
			t.Errorf("embedded %v: %v", embedded, got)
		}
	}
}
