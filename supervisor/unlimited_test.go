package supervisor

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mcpd/gateway/config"
	"mcpd/gateway/tenant"
	"mcpd/transport/stdio"
)

// Servers whose limits the machine cannot enforce are named, with what is missing. Other servers
// are not named.
func TestUnlimitedServersAreNamed(t *testing.T) {
	program := func(name string, memory int64, processes int) tenant.Server {
		return tenant.Server{
			Name: name, Command: tenant.NewSecretShownAs("cat", "cat"), Memory: memory, Processes: processes,
		}
	}
	c := &config.Config{Tenants: []config.Tenant{{}, {}}}
	c.Tenants[0].Name, c.Tenants[0].Servers = "a", []tenant.Server{
		program("plain", 0, 0), program("tight", 1<<20, 0),
	}
	c.Tenants[1].Name, c.Tenants[1].Servers = "b", []tenant.Server{program("few", 0, 8)}
	noMemory := func(s stdio.Spec) error {
		if s.Memory > 0 {
			return errors.New("no memory")
		}
		return nil
	}
	nothing := func(s stdio.Spec) error {
		if s.Memory+s.Processes > 0 {
			return errors.New("no groups")
		}
		return nil
	}
	for want, lacks := range map[string]func(stdio.Spec) error{"a/tight: no memory": noMemory,
		"a/tight: no groups, b/few: no groups": nothing} {
		var got []string
		for at, cause := range unlimited(c, lacks) {
			got = append(got, fmt.Sprintf("%s/%s: %v", at.Tenant, at.Server, cause))
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
