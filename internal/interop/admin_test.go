package interop

import (
	"net/http"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
)

// A host that was started without --chaos accepts no faults, with or without a token.
func TestFaultsAreArmedOnlyWhereAskedFor(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{})
	if r := newWire(t, host.Admin+"/admin/v1/faults",
		"").post("{}"); r.status != http.StatusForbidden {
		t.Errorf("%d %s, want 403", r.status, r.body)
	}
}

// The admin listener refuses requests that name another host and requests of foreign web pages, and
// requires a token for requests that would change something (S04, S86).
func TestAdminListenerRefuses(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Args: []string{"--chaos"}})
	tests := []struct {
		name, method, path string
		headers            []string
		want               int
	}{
		{"alive", "GET", "/livez", nil, 200},
		{"ready", "GET", "/readyz", nil, 200},
		{"tree", "GET", "/admin/v1/tree", nil, 200},
		{"metrics", "GET", "/metrics", nil, 200},
		{"host in another case", "GET", "/metrics", []string{"Host", "LOCALHOST:1"}, 200},
		{"foreign host for health", "GET", "/livez", []string{"Host", "evil.example"}, 403},
		{"foreign host for the tree", "GET", "/admin/v1/tree",
			[]string{"Host", "evil.example:7421"}, 403},
		{"foreign host for metrics", "GET", "/metrics", []string{"Host", "127.0.0.1.evil.example"}, 403},
		{"foreign origin for the tree", "GET", "/admin/v1/tree",
			[]string{"Origin", "https://evil.example"}, 403},
		{"origin null", "GET", "/admin/v1/sessions", []string{"Origin", "null"}, 403},
		{"two origins", "GET", "/admin/v1/tree",
			[]string{"Origin", host.Admin, "Origin", "https://evil.example"}, 403},
		{"own origin", "GET", "/admin/v1/tree", []string{"Origin", host.Admin}, 200},
		{"MCP's origin", "GET", "/admin/v1/tree", []string{"Origin", host.MCP}, 403},
		{"cross-site", "GET", "/admin/v1/tree", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"same site", "GET", "/admin/v1/tree", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"unknown path", "GET", "/admin/v1/secrets", nil, 404},
		{"MCP's path", "POST", "/t/acme/mcp", nil, 404},
		{"path trick", "GET", "/admin/v1/%2e%2e/faults", nil, 404},
		{"wrong method", "POST", "/admin/v1/tree", nil, 405},
		{"wrong method for health", "DELETE", "/livez", nil, 405},
		{"a fault without a token", "POST", "/admin/v1/faults", nil, 401},
		{"a fault with a wrong token", "POST", "/admin/v1/faults",
			[]string{"Authorization", "Bearer x"}, 401},
		{"faults without a token", "GET", "/admin/v1/faults", nil, 401},
		{"a profile that is not offered", "GET", "/debug/pprof/", nil, 404},
		{"a profile without a token", "GET", "/debug/pprof/goroutine", nil, 401},
	}
	for _, test := range tests {
		w := newWire(t, "", "")
		w.header = http.Header{}
		r := w.do(test.method, host.Admin+test.path, "", test.headers...)
		if r.status != test.want {
			t.Errorf("%s: %d, want %d: %.200s", test.name, r.status, test.want, r.body)
		}
		if r.header.Get("Access-Control-Allow-Origin") != "" ||
			r.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", test.name, r.header)
		}
		if strings.Contains(string(r.body), "key-of-") {
			t.Errorf("%s: a key is in the answer", test.name)
		}
	}
}
