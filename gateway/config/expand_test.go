package config

import (
	"testing"

	"mcpd/gateway/tenant"
)

// S74: the value of a variable is not expanded again, and defaults are plain text.
func TestVariables(t *testing.T) {
	c := mustLoad(t, `
tenants:
  default:
    servers:
      one:
        command: ${env:DIR}/bin/x
        args: ["${env:EVIL}", "${env:NONE:-a:-b}", "${env:EMPTY:-x}", "<${env:EMPTY}>", "$${env:X}", "$HOME $(x)", 8080, true, 0x10, 1.50]
        env: {A: "${env:TOKEN}", B: "Bearer ${env:TOKEN}", PORT: 8080}
      two: {url: "http://${env:HOST}/mcp?key=${env:TOKEN}", headers: {authorization: "Bearer ${env:TOKEN}", x-a: hunter2}}
    mcpServers:
      three: {command: "${DIR}/x", args: ["${env:TOKEN}", "${NONE:-y}", "$TOKEN"]}
`)
	servers := c.Tenants[0].Servers
	one, two, three := servers[0], servers[1], servers[2]
	for _, row := range []struct {
		got         tenant.Secret
		want, shown string
	}{
		{one.Command, "/srv/data/bin/x", "${env:DIR}/bin/x"},
		{one.Args[0], "${env:TOKEN}", "${env:EVIL}"},
		{one.Args[1], "a:-b", "${env:NONE:-<redacted>}"},
		{one.Args[2], "x", "${env:EMPTY:-<redacted>}"},
		{one.Args[3], "<>", "<${env:EMPTY}>"},
		{one.Args[4], "${env:X}", "$${env:X}"},
		{one.Args[5], "$HOME $(x)", "$HOME $(x)"},
		{one.Args[6], "8080", "8080"},
		{one.Args[7], "true", "true"},
		{one.Args[8], "0x10", "0x10"},
		{one.Args[9], "1.50", "1.50"},
		{one.Env["A"], "hunter2", "<redacted, from TOKEN>"},
		{one.Env["B"], "Bearer hunter2", "<redacted, from TOKEN>"},
		{one.Env["PORT"], "8080", "<redacted>"},
		{two.URL, "http://127.0.0.1:9001/mcp?key=hunter2", "http://${env:HOST}/mcp?<redacted>"},
		{two.Headers["Authorization"], "Bearer hunter2", "<redacted, from TOKEN>"},
		{two.Headers["X-A"], "hunter2", "<redacted>"},
		{three.Command, "/srv/data/x", "${env:DIR}/x"},
		{three.Args[0], "hunter2", "${env:TOKEN}"},
		{three.Args[1], "y", "${env:NONE:-<redacted>}"},
		{three.Args[2], "$TOKEN", "$TOKEN"},
	} {
		if row.got.Reveal() != row.want || row.got.String() != row.shown {
			t.Errorf("%q shown as %q, want %q as %q", row.got.Reveal(), row.got, row.want, row.shown)
		}
	}
}

func TestNamesAreMapped(t *testing.T) {
	for from, want := range map[string]string{
		"files": "files", "My Server": "my-server", "@scope/pkg_name": "scope-pkg-name",
		"--a--b--": "a-b", "GitHub (prod)": "github-prod",
		"É": "", "a.b": "a-b", "7z": "7z",
	} {
		if got := MapName(from); got != want {
			t.Errorf("MapName(%q) = %q, want %q", from, got, want)
		}
	}
}
