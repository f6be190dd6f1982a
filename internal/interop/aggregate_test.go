//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's servers do to a host

package interop

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// startAggregate starts a host whose default tenant has two fixtures, one for each transport, and
// the mirror.
func startAggregate(t *testing.T) *mcptest.Host {
	t.Helper()
	return mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf("tenants: {default: {servers: "+
		"{one: %s, two: {url: %q}, mirror: %s}}}\n",
		selfConfig(t, serveSDK, "one"), serveWithSessions(t, newFixture("two")),
		selfConfig(t, serveRaw, "mirror"))})
}

// The aggregate joins the descriptions of its servers: instructions stand under headings, and
// capabilities form a union. The endpoint of a single server shows the server's own description.
func TestIntroductions(t *testing.T) {
	host := startAggregate(t)
	all := dial(t, host.MCP+"/mcp", "").InitializeResult()
	if want := "# one\n\nAsk one for anything.\n\n# two\n\nAsk two for anything."; all.Instructions !=
		want {
		t.Errorf("instructions = %q, want %q", all.Instructions, want)
	}
	c := all.Capabilities
	if c.Tools == nil || !c.Tools.ListChanged || c.Prompts == nil || c.Resources == nil ||
		!c.Resources.Subscribe || c.Completions == nil || c.Logging == nil {
		t.Errorf("capabilities = %+v", c)
	}
	if all.ServerInfo.Name != "mcpd" {
		t.Errorf("server = %+v, want mcpd", all.ServerInfo)
	}
	two := dial(t, host.MCP+"/two/mcp", "").InitializeResult()
	if two.Instructions != "Ask two for anything." || two.ServerInfo.Name != "fixture-two" {
		t.Errorf("transparent: %q of %q", two.Instructions, two.ServerInfo.Name)
	}
	mirror := dial(t, host.MCP+"/mirror/mcp", "")
	if c := mirror.InitializeResult().Capabilities; c.Tools == nil || c.Prompts != nil ||
		c.Resources != nil || c.Logging != nil || c.Completions != nil {
		t.Errorf("capabilities of mirror = %+v, want tools alone", c)
	}
	// The mirror answers requests for features that it has not declared, and the client gets those
	// answers as if there were no host.
	if _, err := mirror.ListResources(t.Context(), nil); err != nil {
		t.Errorf("resources/list that the server has not declared: %v", err)
	}
}

// The aggregate shortens names that would be too long for clients. Shortened names stay distinct
// and lead to their servers.
func TestLongNamesAreCutAndWork(t *testing.T) {
	c := dial(t, startAggregate(t).MCP+"/mcp", "")
	fits := regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	found := 0
	for _, name := range c.names() {
		if !fits.MatchString(name) {
			t.Errorf("name %q does not fit", name)
		}
		if server, cut, _ := strings.Cut(name, "__"); strings.HasPrefix(cut, "long_") {
			found++
			if got := c.call(name, nil); got != server {
				t.Errorf("%s is of server %q", name, got)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d long names, want 2", found)
	}
}

const wrapped = "mcpd://two/fixture%3A%2F%2Fshared"

// A resource that two servers have belongs to the first. The resource of the second server is
// listed, read, watched and linked under a URI that names its server.
func TestClashingResources(t *testing.T) {
	c := dial(t, startAggregate(t).MCP+"/mcp", "")
	// the last is not listed
	owners := map[string]string{
		sharedURI: "one", wrapped: "two", "mcpd://one/fixture%3A%2F%2Fshared": "one",
	}
	listed := map[string]bool{}
	for r, err := range c.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		listed[r.URI] = true
	}
	if len(listed) != 4 || !listed[sharedURI] || !listed[wrapped] {
		t.Errorf("listed %v", listed)
	}
	for uri, owner := range owners {
		r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || r.Contents[0].Text != owner+" has "+sharedURI {
			t.Errorf("%s = %+v, %v, want that of %s", uri, r, err, owner)
		}
	}
	for uri, owner := range map[string]string{sharedURI: "one", wrapped: "two"} {
		if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
		c.call(owner+"__touch", map[string]any{"text": sharedURI})
		c.await("updated " + uri)
	}
}

// The client can read the links that it gets in results.
func TestLinksLeadBack(t *testing.T) {
	c := dial(t, startAggregate(t).MCP+"/mcp", "")
	tests := []struct{ tool, uri, want string }{
		{"one__link", sharedURI, sharedURI},
		{"two__link", sharedURI, wrapped},
		{"two__link", "fixture://two/item/9", "fixture://two/item/9"}, // by its template
		{"two__link", "fixture://nowhere", "mcpd://two/fixture%3A%2F%2Fnowhere"},
		{"two__link", "https://example.com/a", "https://example.com/a"}, // the client fetches it itself
	}
	for _, test := range tests {
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{
			Name: test.tool, Arguments: map[string]any{"text": test.uri},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Content[1].(*mcp.ResourceLink).URI; got != test.want {
			t.Errorf("%s of %s = %s, want %s", test.tool, test.uri, got, test.want)
		}
		if got := mcptest.Text(t, r); got != test.uri {
			t.Errorf("text = %q: what is no link was rewritten", got)
		}
	}
	r, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{
		Name: "two__greet", Arguments: map[string]string{"who": "Bo"},
	})
	if err != nil || r.Messages[1].Content.(*mcp.ResourceLink).URI != wrapped {
		t.Errorf("prompt = %+v, %v", r, err)
	}
}

// Every list answers invalid params for a cursor that the host never gave out, at both kinds of
// endpoint (S37).
func TestForgedCursors(t *testing.T) {
	host := startAggregate(t)
	for _, path := range []string{"/mcp", "/one/mcp", "/two/mcp"} {
		w := newWire(t, host.MCP+path, "")
		w.open("2025-11-25")
		for _, method := range []string{"tools/list", "prompts/list", "resources/list",
			"resources/templates/list"} {
			for _, cursor := range []string{`"x"`, `"AAAAAAAAAAAAAAAAAAAAAAAAAAA"`, `""`, `7`} {
				m := w.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"cursor":%s}}`, method,
					cursor)).message(t)
				if path != "/mcp" && (cursor == `""` || cursor == `7`) {
					continue // the server judges these
				}
				if m.Error == nil || m.Error.Code != -32602 {
					t.Errorf("%s %s with cursor %s = %s", path, method, cursor, m.Append(nil))
				}
			}
		}
		w.close()
	}
}

// Arguments and _meta of a client reach the server byte for byte, and the server's answer reaches
// the client byte for byte (S4 passes payloads on). 12345678901234567890 is the number that most
// implementations break.
func TestPayloadsPassUnchanged(t *testing.T) {
	host := startAggregate(t)
	const (
		arguments = `{"n":12345678901234567890,"f":1.10,"e":1E400,"z":-0,"s":"\u00e9\/\ud83e\udde9","deep":[[[{"a b":null}]]],  "spaces" : [ 1 ,2 ]}`
		meta      = `{"example.com/trace":{"id":98765432109876543210},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`
	)
	for _, test := range []struct{ path, tool string }{{"/mcp", "mirror__mirror"},
		{"/mirror/mcp", "mirror"}} {
		for _, id := range []string{`7`, `"seven"`, `12345678901234567890`, `"\u00e9"`, `-1`} {
			w := newWire(t, host.MCP+test.path, "")
			w.open("2025-11-25")
			r := w.post(
				fmt.Sprintf(
					`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":%s}}`, id, test.tool, arguments, meta,
				),
			)
			if got := string(r.result(t, "structuredContent")); got != arguments {
				t.Errorf("%s: arguments\n%s\nwant\n%s", test.path, got, arguments)
			}
			if got := string(r.result(t, "_meta")); got != meta {
				t.Errorf("%s: _meta\n%s\nwant\n%s", test.path, got, meta)
			}
			if got := r.message(t).ID.Raw(); got != id {
				t.Errorf("%s: id = %s, want %s", test.path, got, id)
			}
			list := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			if !strings.Contains(string(list.body), `"x-big":12345678901234567890`) {
				t.Errorf("%s: list = %s", test.path, list.body)
			}
			w.close()
		}
	}
}
