package mcptest

import "testing"

func TestNamedTestsAreFound(t *testing.T) {
	for name, want := range map[string]bool{
		"internal/mcptest.TestNamedTestsAreFound": true,
		"cmd/mcpd.TestScripts/call":               true,
		"cmd/mcpd.TestScripts/no-such":            false,
		"internal/mcptest.TestNamedTests":         false,
		"internal/nowhere.TestNamedTestsAreFound": false,
		"TestNamedTestsAreFound":                  false,
	} {
		if got := TestExists(t, "../..", name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
