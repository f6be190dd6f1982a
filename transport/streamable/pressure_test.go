package streamable

import (
	"strings"
	"testing"
	"time"
)

// Pressure names the refused tenant and the tenant with the most connections. It says that
// connections are closed in favour of others only if that is so.
func TestPressureNamesWhoHasTheMost(t *testing.T) {
	c := &Connections{tenants: map[string]*tenantConns{
		"acme":    {name: "acme", conns: some(3)},
		"initech": {name: "initech", conns: some(1)},
	}}
	if reason := c.Pressure(); reason != "" {
		t.Errorf("at rest: %q", reason)
	}
	c.pressure.none(time.Now(), "initech")
	now := c.Pressure()
	if want := "tenant initech is refused connections: all are in use, and tenant acme has the " +
		"most, "; !strings.HasPrefix(now, want) {
		t.Errorf("got %q, want %q", now, want)
	}
	c.pressure = shortage{}
	c.pressure.full(time.Now(), "acme", 3, 4)
	if now = c.Pressure(); !strings.Contains(now, "its longest idle streams end for others") ||
		strings.Contains(now, "refused") {
		t.Errorf("got %q", now)
	}
}

// some returns n connections.
func some(n int) map[*connection]struct{} {
	all := map[*connection]struct{}{}
	for range n {
		all[&connection{}] = struct{}{}
	}
	return all
}
