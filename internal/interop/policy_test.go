package interop

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonedit"
)

// policies is a configuration with a tenant for each policy that an operator may set (C1 to C5).
const policies = `
listen: 127.0.0.1:0
admin: {listen: 127.0.0.1:0}
tenants:
  range:
    negotiation: {min_version: 2025-03-26, max_version: 2025-06-18}
    servers: {demo: {builtin: demo}}
  strict:
    negotiation: {mode: strict, min_version: 2025-03-26, max_version: 2025-06-18}
    servers: {demo: {builtin: demo}}
  assumed:
    negotiation: {default_version: 2025-03-26}
    servers: {demo: {builtin: demo}}
  modern:
    negotiation: {min_version: 2026-07-28}
    servers: {demo: {builtin: demo}}
  gated:
    require_client_capabilities: {tools/list: roots, logging/setLevel: roots, server/discover: roots}
    servers:
      demo: {builtin: demo, require_client_capabilities: {tools/call: sampling}}
  pinned:
    servers:
      old: {builtin: demo, max_version: 2025-06-18}
      new: {builtin: demo, min_version: 2026-07-28}
`

// initializeWith returns an initialize request for a revision, or without one if it is empty.
func initializeWith(version string) string {
	if version == "" {
		return strings.Replace(hello, `"protocolVersion":"2025-11-25",`, "", 1)
	}
	return strings.Replace(hello, "2025-11-25", version, 1)
}

// postStateless makes a stateless request of a client with the given capabilities.
func (w *wire) postStateless(method, params, capabilities string) reply {
	w.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":%s}%s}}`, method, capabilities, params)
	headers := []string{
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Session-Id", "",
	}
	if _, rest, ok := strings.Cut(params, `"name":"`); ok {
		name, _, _ := strings.Cut(rest, `"`)
		headers = append(headers, "Mcp-Name", name)
	}
	return w.post(body, headers...)
}

// outcome returns the agreed revision, or the error with the revisions that it names.
func outcome(t *testing.T, r reply) string {
	t.Helper()
	m := r.message(t)
	if m.Error == nil {
		v, _ := jsonedit.GetString(m.Result, "protocolVersion")
		return v
	}
	supported, _ := jsonedit.Get(m.Error.Data, "supported")
	return strings.TrimSpace(fmt.Sprint(m.Error.Code, " ", string(supported)))
}

// C1 to C3: Floor, ceiling, strictness and the assumed revision are settings of a tenant and apply
// in both eras. A tenant may support only one era.
func TestPoliciesOnRevisions(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: policies})
	const both = `["2025-06-18","2025-03-26"]`
	for _, c := range []struct {
		tenant, asked, want string
		discover            string // answer to a client of the other era
	}{
		{"range", "2025-03-26", "2025-03-26", "-32022 " + both},
		{"range", "2024-11-05", "2025-06-18", "-32022 " + both},
		{"range", "2025-11-25", "2025-06-18", "-32022 " + both},
		{"range", "", "-32602", "-32022 " + both},
		{"strict", "2025-06-18", "2025-06-18", "-32022 " + both},
		{"strict", "2024-11-05", "-32602 " + both, "-32022 " + both},
		{"strict", "2025-11-25", "-32602 " + both, "-32022 " + both},
		{"strict", "yesterday", "-32602 " + both, "-32022 " + both},
		{"assumed", "", "2025-03-26", ""},
		{"assumed", "2025-11-25", "2025-11-25", ""},
		{"modern", "2025-11-25", `-32602 ["2026-07-28"]`, ""},
	} {
		w := newWire(t, host.MCP+"/t/"+c.tenant+"/mcp", "")
		if got := outcome(t, w.post(initializeWith(c.asked))); got != c.want {
			t.Errorf("%s, asked for %q: %s, want %s", c.tenant, c.asked, got, c.want)
		}
		if got := outcome(t, w.postStateless("server/discover", "", "{}")); got != c.discover {
			t.Errorf("%s, of the modern era: %s, want %s", c.tenant, got, c.discover)
		}
	}
	// The negotiation API belongs to the modern era.
	for tenant, want := range map[string]int{"range": http.StatusBadRequest, "modern": http.StatusOK} {
		w := newWire(t, host.MCP+"/t/"+tenant+"/mcp/negotiate", "")
		if r := w.post(
			`{"client_name":"wire","client_version":"1","supported_capabilities":[]}`,
		); r.status != want {
			t.Errorf("%s, negotiation: %d %s, want %d", tenant, r.status, r.body, want)
		}
	}
}

// C4, C5: A policy may require capabilities of clients, in both eras.
func TestPoliciesOnCapabilities(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: policies})
	requests := []struct{ method, legacy, modern string }{
		{"tools/list", `{}`, ``},
		{"tools/call", `{"name":"demo__time"}`, `,"name":"demo__time"`},
		{"logging/setLevel", `{"level":"info"}`, ""},
		{"server/discover", "", ""},
	}
	for capabilities, refused := range map[string]bool{`{}`: true,
		`{"roots":{},"sampling":{}}`: false} {
		w := newWire(t, host.MCP+"/t/gated/mcp", "")
		r := w.post(strings.Replace(hello, `"capabilities":{}`, `"capabilities":`+capabilities, 1))
		w.header.Set("Mcp-Session-Id", r.header.Get("Mcp-Session-Id"))
		w.post(initialized)
		for _, c := range requests {
			if c.legacy != "" {
				m := w.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, c.method,
					c.legacy)).message(t)
				if (m.Error != nil) != refused || refused && m.Error.Code != -32004 {
					t.Errorf("%s with %s: %s", c.method, capabilities, m.Append(nil))
				}
			}
			if c.method == "logging/setLevel" { // only in the legacy era
				continue
			}
			r := w.postStateless(c.method, c.modern, capabilities)
			m := r.message(t)
			if (m.Error != nil) != refused ||
				refused && (m.Error.Code != -32021 || r.status != http.StatusBadRequest) {
				t.Errorf("%s, modern, with %s: %d %s", c.method, capabilities, r.status, r.body)
			}
		}
	}
}

// The negotiation API has its own text for each refusal, and for those of a policy the text of
// S3-35. Each error of its paths has a JSON body with an error (S3-32).
func TestRefusalsOfTheNegotiationAPI(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: policies})
	for _, c := range []struct {
		method, path, body string
		status             int
		text               string
	}{
		{"POST", "/t/gated/mcp/negotiate",
			`{"client_name":"wire","client_version":"1","supported_capabilities":[]}`, 403,
			"Client does not support required capability: roots"},
		{"POST", "/t/gated/mcp/tool/demo__time", ``, 403,
			"Client does not support required capability: sampling"},
		{"GET", "/t/modern/mcp/resource", ``, 400, "the path does not end in a name"},
		{"GET", "/t/modern/mcp/resource/test://static-text", ``, 400, "the path does not end in a name"},
		{"POST", "/t/modern/mcp/tool?name=a&name=b", ``, 400, "the path does not end in a name"},
		{"GET", "/t/modern/nobody/mcp/resource", ``, 404, "there is no server nobody"},
		{"GET", "/t/modern/mcp/resource?uri=test://static-text", ``, 200, ""},
	} {
		w := newWire(t, host.MCP, "")
		r := w.do(c.method, host.MCP+c.path, c.body)
		if r.status != c.status || c.text != "" && !strings.HasPrefix(string(r.body), `{"error":"`) ||
			!strings.Contains(string(r.body), c.text) {
			t.Errorf("%s %s: %d %s, want %d %q", c.method, c.path, r.status, r.body, c.status, c.text)
		}
	}
}

// An operator may pin a server to an era. The server then gets requests only of that era, whatever
// its clients speak.
func TestServersMayBePinned(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: policies})
	for server, want := range map[string]string{"old": "2025-06-18", "new": "2026-07-28"} {
		w := newWire(t, host.MCP+"/t/pinned/"+server+"/mcp", "")
		w.open("2025-11-25")
		if got := string(
			w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"x"}}}`).result(t, "content"),
		); !strings.Contains(got, `"x"`) {
			t.Errorf("%s, legacy client: %s", server, got)
		}
		if r := w.postStateless("tools/call", `,"name":"echo","arguments":{"message":"y"}`,
			"{}"); !strings.Contains(string(r.result(t, "content")), `"y"`) {
			t.Errorf("%s, modern client: %s", server, r.body)
		}
		if tree := fetch(t, host.Admin+"/admin/v1/tree"); !strings.Contains(tree,
			fmt.Sprintf(`"server":%q`, server)) || !strings.Contains(tree,
			fmt.Sprintf(`"revision":%q`, want)) {
			t.Errorf("%s is not spoken to in %s: %s", server, want, tree)
		}
	}
}

// fetch returns the content of a URL.
func fetch(t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Timeout: 10 * time.Second}
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
