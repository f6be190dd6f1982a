package config_test

import (
	"testing"

	"mcpd/gateway/config"
)

// The digest depends on the contents of a file, not on its form. Secrets that are not printed
// count.
func TestDigestTellsConfigurationsApart(t *testing.T) {
	digest := func(text string) string {
		t.Helper()
		c, err := config.Load([]byte(text), config.Options{Builtins: []string{"demo"}})
		if err != nil {
			t.Fatal(err)
		}
		return c.Digest()
	}
	const first = `tenants: {acme: {servers: {a: {url: "http://127.0.0.1:1/mcp", headers: {Authorization: one}}}}}`
	if again := digest("# the same\ntenants:\n  acme:\n    servers:\n      a:\n        headers: " +
		"{Authorization: one}\n        url: http://127.0.0.1:1/mcp\n"); again != digest(first) ||
		len(again) != 16 {
		t.Errorf("said otherwise it is %s, and %s before", again, digest(first))
	}
	seen := map[string]string{}
	for _, text := range []string{
		first,
		`tenants: {acme: {servers: {a: {url: "http://127.0.0.1:1/mcp", headers: {Authorization: two}}}}}`,
		`tenants: {acme: {servers: {b: {url: "http://127.0.0.1:1/mcp", headers: {Authorization: one}}}}}`,
		first + "\nlimits: {call_timeout: 10s}",
		`tenants: {acme: {servers: {a: {builtin: demo}}}}`,
	} {
		d := digest(text)
		if other, known := seen[d]; known {
			t.Errorf("%s and %s are both %s", text, other, d)
		}
		seen[d] = text
	}
}
