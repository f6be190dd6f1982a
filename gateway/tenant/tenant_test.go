package tenant

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcpd/protocol"
)

// Paths are exact: S11.
func TestPathNamesTenantAndServer(t *testing.T) {
	for path, want := range map[string]Route{
		"/mcp":              {MCP, Default, ""},
		"/files/mcp":        {MCP, Default, "files"},
		"/t/acme/mcp":       {MCP, "acme", ""},
		"/t/acme/files/mcp": {MCP, "acme", "files"},
		// The words are reserved for servers, not for tenants.
		"/t/mcp/mcp":                             {MCP, "mcp", ""},
		"/t/-/mcp":                               {MCP, "-", ""},
		"/t/" + strings.Repeat("a", 63) + "/mcp": {MCP, strings.Repeat("a", 63), ""},
		"/sse":                                   {Events, Default, ""},
		"/t/acme/files/sse":                      {Events, "acme", "files"},
		"/sse/message":                           {Messages, Default, ""},
		"/files/sse/message":                     {Messages, Default, "files"},
		"/mcp/":                                  {MCP, Default, ""},
		"/t/acme/files/mcp/":                     {MCP, "acme", "files"},
		"/t/acme/sse/message":                    {Messages, "acme", ""},
	} {
		got, ok := ParsePath(path)
		if !ok || got != want {
			t.Errorf("ParsePath(%q) = %v, %v, want %v", path, got, ok, want)
		}
	}
}

func TestPathTricksNameNothing(t *testing.T) {
	for _, path := range []string{
		"", "/", "mcp", "//mcp", "/mcp//", "/MCP", "/t/acme", "/t/acme/", "/t//mcp", "/t/acme//mcp",
		"/t/acme/mcp//", "/t/mcp",
		"/t/a/../b/mcp", "/t/../mcp", "/./mcp", "/t/%61cme/mcp", "/t/acme%2fmcp", "/t/acme/%2e%2e/mcp",
		"/t/acme;x=1/mcp", "/t/Acme/mcp",
		"/t/acmé/mcp", "/t/acme/files/mcp/x", "/mcp/message", "/t/acme/sse//", "/sse/message/x",
		"/message", "/t/acme/a/b/mcp", "/sse/mcp", "/mcp/mcp", "/t/acme/t/mcp", "/t/acme/-a/mcp",
		"/t/acme/a_b/mcp",
		"/t/" + strings.Repeat("a", 64) + "/mcp", "/" + strings.Repeat("a", 33) + "/mcp", "/t/acme/mcp?x",
		"/t/acme\x00/mcp", "/t/ acme/mcp",
		"/t/acme\\mcp", "http://x/mcp", "*", "/t/" + strings.Repeat("a/", MaxPath),
	} {
		if got, ok := ParsePath(path); ok {
			t.Errorf("ParsePath(%q) = %v, want nothing", path, got)
		}
	}
}

func FuzzPathIsCanonical(f *testing.F) {
	for _, path := range []string{"/mcp", "/a/mcp", "/t/a/mcp", "/t/a/b/mcp", "/t/default/mcp",
		"/t/%61/mcp", "/sse", "/t/a/b/sse/message"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		route, ok := ParsePath(path)
		if !ok {
			return
		}
		again, ok := ParsePath(route.Path())
		if !ok || again != route {
			t.Errorf("%q is %v, whose path %q is %v, %v", path, route, route.Path(), again, ok)
		}
	})
}

// Callers with equal keys share a connection. The defaults match the documentation.
func TestShareDefaults(t *testing.T) {
	for _, c := range []struct {
		share Share
		link  Link
		want  Share
	}{
		{ByDefault, HTTP, BySession},
		{ByDefault, Stdio, ByPrincipal},
		{ByDefault, SSE, ByPrincipal},
		{ByDefault, Builtin, BySession},
		{ByTenant, HTTP, ByTenant},
		{BySession, Stdio, BySession},
		{ByPrincipal, Builtin, ByPrincipal},
	} {
		if got := c.share.Applied(c.link); got != c.want {
			t.Errorf("%v over %v = %v, want %v", c.share, c.link, got, c.want)
		}
	}
}

// S83: two principals share nothing unless the operator said so.
func TestKeysAreEqualForThoseWhoShare(t *testing.T) {
	for _, c := range []struct {
		share Share
		// These fields say whether keys are equal for the same session, the same principal, and anyone.
		sameSession, sameUser, tenant bool
	}{
		{BySession, true, false, false},
		{ByPrincipal, true, true, false},
		{ByTenant, true, true, true},
	} {
		mine := NewKey(c.share, "ci", "s1", protocol.CanRoots)
		for name, got := range map[string]struct{ equal, want bool }{
			"same session":    {mine == NewKey(c.share, "ci", "s1", protocol.CanRoots), c.sameSession},
			"same principal":  {mine == NewKey(c.share, "ci", "s2", protocol.CanRoots), c.sameUser},
			"other principal": {mine == NewKey(c.share, "bob", "s3", protocol.CanRoots), c.tenant},
		} {
			if got.equal != got.want {
				t.Errorf("share %v, %s: equal %v, want %v", c.share, name, got.equal, got.want)
			}
		}
		if c.share != BySession && mine == NewKey(c.share, "ci", "s1", protocol.CanSample) {
			t.Errorf("share %v: capability sets of two kinds share a connection", c.share)
		}
	}
}

// maxChildID is otp.MaxID, which this package may not import.
const maxChildID = 255

func TestKeyIDsAreDistinctAndHideSessions(t *testing.T) {
	seen := map[string]Key{}
	for _, share := range []Share{ByTenant, ByPrincipal, BySession} {
		for _, principal := range []string{"", "ci", "a/b", "a%2Fb", "a,caps=x", ".ci", "é",
			strings.Repeat("x", 49), "*"} {
			for _, fingerprint := range []protocol.Fingerprint{0, protocol.CanRoots,
				protocol.CanRoots | protocol.CanUI, ^protocol.Fingerprint(0), protocol.OtherExtensions} {
				key := NewKey(share, principal, "session-"+principal, fingerprint)
				key.Modern, key.Instance, key.Revision = true, 63, 1<<31
				id := key.String()
				if other, ok := seen[id]; ok && other != key {
					t.Errorf("%+v and %+v are both %q", other, key, id)
				}
				seen[id] = key
				if strings.ContainsAny(id, "/*% ") || len(id) > maxChildID || strings.Contains(id, "session-") {
					t.Errorf("%q is no id of a child", id)
				}
			}
		}
	}
}

// S88: no way of printing shows the text.
func TestSecretsDoNotPrint(t *testing.T) {
	server := Server{
		Name: "a", Command: NewSecretShownAs("hunter2", "${env:A}"), Args: []Secret{NewSecret("hunter2")},
		Env: map[string]Secret{"A": NewSecret("hunter2")},
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%t", "%z", "%c",
		"%o", "%T %v"} {
		if out := fmt.Sprintf(verb, server); strings.Contains(out, "hunter2") ||
			strings.Contains(out, "68756e74") {
			t.Errorf("%s prints %s", verb, out)
		}
	}
	out, err := json.Marshal(server)
	if err != nil || strings.Contains(string(out), "hunter2") ||
		!strings.Contains(string(out), `"${env:A}"`) {
		t.Errorf("json is %s, %v", out, err)
	}
	if got := server.Args[0].String(); got != Redacted || (Secret{}).String() != "" {
		t.Errorf("String() = %q", got)
	}
	if got := server.Command.Reveal(); got != "hunter2" {
		t.Errorf("Reveal() = %q", got)
	}
}

// C4: the gate on client capabilities is a policy of a tenant or server.
func TestRequiredCapability(t *testing.T) {
	acme := Tenant{
		Require: map[string]string{"tools/call": "tools"},
		Servers: []Server{
			{Name: "files", Require: map[string]string{"tools/call": "sampling", "prompts/get": "prompts"}},
			{Name: "search"},
		},
	}
	for _, c := range []struct{ server, method, want string }{
		{"files", "tools/call", "sampling"},
		{"files", "prompts/get", "prompts"},
		{"search", "tools/call", "tools"},
		{"search", "prompts/get", ""},
		{"", "tools/call", "tools"},
		{"gone", "tools/call", "tools"},
	} {
		if got, ok := acme.Required(c.server, c.method); got != c.want || ok != (c.want != "") {
			t.Errorf("Required(%q, %q) = %q, %v, want %q", c.server, c.method, got, ok, c.want)
		}
	}
}

func TestServerIsReachedByWhatItHas(t *testing.T) {
	for want, s := range map[string]Server{
		"stdio":   {Command: NewSecretShownAs("x", "x")},
		"http":    {URL: NewSecretShownAs("http://x/", "http://x/")},
		"sse":     {URL: NewSecretShownAs("http://x/", "http://x/"), Transport: "sse"},
		"builtin": {Builtin: "demo"},
	} {
		if got := s.Link().String(); got != want {
			t.Errorf("%+v is reached by %s, want %s", s, got, want)
		}
	}
}

// A client that looks for an authorization server is recognized by the path, with or without one
// slash at the end.
func TestSeeksAuthorization(t *testing.T) {
	for path, want := range map[string]bool{
		"/register": true, "/register/": true, "/register//": false, "/t/acme/authorize/": true,
		"/token": true, "/mcp/token/": true,
		"/.well-known/oauth-authorization-server":           true,
		"/.well-known/oauth-protected-resource/t/acme/mcp/": true,
		"/t/acme/mcp/.well-known/openid-configuration/":     true, "/registers": false, "/mcp": false,
		"/": false, "": false,
	} {
		if got := SeeksAuthorization(path); got != want {
			t.Errorf("%s: got %t", path, got)
		}
	}
}
