package interop

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// statelessPost returns a POST of a stateless request with the correct headers, by a client without
// capabilities. A header with an empty value is left out.
func statelessPost(method, params string, headers ...string) ask {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method,
		strings.TrimSuffix(meta+","+params, ","))
	name, _ := jsonedit.GetString(jsontext.Value("{"+params+"}"), "name")
	all := []string{
		"Mcp-Session-Id", "", "Mcp-Protocol-Version", modern, "Mcp-Method", method, "Mcp-Name", name,
	}
	return send(body, append(all[:len(all):len(all)], headers...)...)
}

// withHeader replaces the value of one header.
func (a ask) withHeader(name, value string) ask {
	for i := 0; i < len(a.headers); i += 2 {
		if a.headers[i] == name {
			a.headers[i+1] = value
		}
	}
	return a
}

const echoed = `"name":"proc__echo","arguments":{"text":"hi"}`

// badStateless are requests of the modern era.
var badStateless = []bad{
	{"an unknown revision", ask{body: strings.Replace(statelessPost("tools/list", "").body, modern,
		"2031-01-01", 1),
		headers: statelessPost("tools/list", "").withHeader("Mcp-Protocol-Version",
			"2031-01-01").headers},
		"400 -32022 Protocol version not yet supported"},
	{"another revision in the header",
		statelessPost("tools/list", "").withHeader("Mcp-Protocol-Version", "2025-11-25"),
		"400 -32020 MCP-Protocol-Version"},
	{"no revision in the header",
		statelessPost("tools/list", "").withHeader("Mcp-Protocol-Version", ""),
		"400 -32020 MCP-Protocol-Version"},
	{"no revision in _meta", send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		statelessPost("tools/list", "").headers...), "400 -32602 protocolVersion"},
	{"no capabilities in _meta",
		send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			statelessPost("tools/list", "").headers...), "400 -32602 clientCapabilities"},
	{"no method in the header", statelessPost("tools/list", "").withHeader("Mcp-Method", ""),
		"400 -32020 Mcp-Method: missing"},
	{"another method in the header",
		statelessPost("tools/list", "").withHeader("Mcp-Method", "tools/call"),
		"400 -32020 Mcp-Method: differs"},
	{"the method in another case",
		statelessPost("tools/list", "").withHeader("Mcp-Method", "Tools/List"),
		"400 -32020 Mcp-Method: differs"},
	{"the method twice", statelessPost("tools/list", "", "Mcp-Method", "tools/list"),
		"400 -32020 Mcp-Method: sent more than once"},
	{"the method with space around it",
		statelessPost("tools/list", "").withHeader("Mcp-Method", " \ttools/list "),
		"200 result"},
	{"no name in the header", statelessPost("tools/call", echoed).withHeader("Mcp-Name", ""),
		"400 -32020 Mcp-Name: missing"},
	{"another name in the header",
		statelessPost("tools/call", echoed).withHeader("Mcp-Name", "proc__fail"),
		"400 -32020 Mcp-Name: differs"},
	{"the name twice", statelessPost("tools/call", echoed, "Mcp-Name", "proc__echo"),
		"400 -32020 Mcp-Name: sent more than once"},
	{"the name encoded", statelessPost("tools/call", echoed).withHeader("Mcp-Name",
		"=?base64?cHJvY19fZWNobw==?="),
		"200 result"},
	{"the name encoded wrongly",
		statelessPost("tools/call", echoed).withHeader("Mcp-Name", "=?base64?cHJvY19fZWNobw?="),
		"400 -32020 base64"},
	{"the name encoded in another case",
		statelessPost("tools/call", echoed).withHeader("Mcp-Name", "=?BASE64?cHJvY19fZWNobw==?="),
		"400 -32020 Mcp-Name: differs"},
	{"an argument in the header that no schema asks for",
		statelessPost("tools/call", echoed, "Mcp-Param-Text", "other"), "200 result"},
	{"unknown method", statelessPost("tools/destroy", ""), "404 -32601 not found"},
	{"a method of the legacy era", statelessPost("ping", ""), "404 -32601 not found"},
	{"a method that servers send", statelessPost("elicitation/create", ""), "404 -32601 not found"},
	{"a batch", send("["+statelessPost("tools/list", "").body+"]",
		statelessPost("tools/list", "").headers...),
		"400 -32600 batch"},
	{"unknown log level", send(strings.Replace(statelessPost("tools/list", "").body, `"_meta":{`,
		`"_meta":{"io.modelcontextprotocol/logLevel":"loud",`, 1),
		statelessPost("tools/list", "").headers...), "400 -32602 logLevel"},
	{"an answer without a question",
		statelessPost("tools/call", echoed+`,"inputResponses":{"it":{"action":"accept"}}`), "200 result"},
	{"an answer of the wrong type", statelessPost("tools/call", echoed+`,"inputResponses":{"it":7}`),
		"200 -32602 ."},
	{"answers that are no object", statelessPost("tools/call", echoed+`,"inputResponses":[]`),
		"200 -32602 inputResponses"},
	{"a state that is no text", statelessPost("tools/call", echoed+`,"requestState":7`),
		"200 -32602 requestState"},
	{"a state that nobody gave", statelessPost("tools/call", echoed+`,"requestState":"AAAA"`),
		"200 -32602 requestState is invalid or expired"},
	{"forged cursor", statelessPost("tools/list", `"cursor":"AAAA"`),
		"200 -32602 cursor is invalid or expired"},
}

// TestBadInputInTheModernEra is TestBadInput for stateless requests.
func TestBadInputInTheModernEra(t *testing.T) {
	host := startTwoTenants(t)
	stop := bystander(t, host.MCP+"/t/zeta/mcp", "key-of-zoe", "proc__echo")
	ann := newWire(t, host.MCP+"/t/acme/mcp", "key-of-ann")
	for _, row := range badStateless {
		t.Run(row.name, func(t *testing.T) {
			ann.t = t
			ann.ask(host.MCP, row.ask).check(t, row.want)
			ann.ask(host.MCP, statelessPost("tools/call", echoed)).check(t, "200 result")
		})
	}
	ann.t = t
	r := ann.ask(host.MCP, badStateless[0].ask)
	if got, _ := jsonedit.Get(r.message(t).Error.Data, "supported"); !strings.Contains(string(got),
		`"2026-07-28"`) {
		t.Errorf("supported = %s", got)
	}
	stop()
}

// In both eras, a client without the capability for a question is never asked, whatever its server
// sends (S31).
func TestNobodyIsAskedWhoCannotAnswer(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf("tenants: {default: {servers: "+
		"{past: %s, free: {url: %q}, demo: {builtin: demo}}}}\n",
		selfConfig(t, serveOld, "past"), serveStateless(t, newFixture("free").modernOnly()))})
	w := newWire(t, host.MCP+"/mcp", "")
	old := newWire(t, host.MCP+"/mcp", "")
	old.open("2025-11-25")
	for _, tool := range []string{"past__elicit", "free__elicit", "past__sample", "free__roots",
		"demo__test_sampling"} {
		called := `"name":"` + tool + `","arguments":{"text":"x","prompt":"x"}`
		for era, r := range map[string]reply{modern: w.ask(host.MCP, statelessPost("tools/call", called)),
			legacy: old.ask(host.MCP, call("tools/call", "{"+called+"}"))} {
			if got := string(r.body); strings.Contains(got, "inputRequests") ||
				strings.Contains(got, "elicitation/create") ||
				strings.Contains(got, "sampling/createMessage") || strings.Contains(got, "roots/list") {
				t.Errorf("%s in %s: %d %s", tool, era, r.status, got)
			}
			if m := r.message(t); m.Error == nil && !strings.Contains(string(m.Result), `"isError":true`) {
				t.Errorf("%s in %s: %d %s", tool, era, r.status, r.body)
			}
		}
	}
	w.ask(host.MCP, statelessPost("tools/call", `"name":"demo__test_missing_capability"`)).check(t,
		"400 -32021 sampling")
}

// A request belongs to its session. A cancellation of the same id, or progress with the same token,
// in another session does not affect it (S38).
func TestIDsAreOfTheirSession(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{
		Config: fmt.Sprintf("tenants: {default: {servers: {proc: %s}}}\n",
			selfConfig(t, serveSDK, "proc")),
	})
	var all sync.WaitGroup
	const sessions = 4
	for n := range sessions {
		w := newWire(t, host.MCP+"/mcp", "")
		w.open("2025-11-25")
		all.Go(func() {
			for range 10 {
				text := fmt.Sprint("of session ", n)
				// the session has no request with this id now
				w.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
				r := w.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"proc__steps","arguments":{"count":3,"text":"` + text +
					`"},"_meta":{"progressToken":"t"}}}`)
				if got := string(r.body); strings.Count(got, text) != 3 ||
					strings.Count(got, "of session") != 3 || !strings.Contains(got, "done") {
					t.Errorf("%s: %d %s", text, r.status, got)
				}
			}
		})
	}
	all.Wait()
}

// Endless changes of the log level, in more requests than one session may have in flight, do not
// delay other clients of the server (S39).
func TestFloodOfLogLevels(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{
		Config: fmt.Sprintf("tenants: {default: {servers: {past: %s}}}\n",
			selfConfig(t, serveOld, "past")),
	})
	stop := bystander(t, host.MCP+"/past/mcp", "", "echo")
	w := newWire(t, host.MCP+"/past/mcp", "")
	w.open("2025-11-25")
	var all sync.WaitGroup
	for n := range 300 {
		all.Go(func() {
			level := []string{"debug", "emergency"}[n%2]
			r := w.post(
				fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"logging/setLevel","params":{"level":%q}}`, n,
					level),
			)
			if m := r.message(t); m.Error != nil && !strings.Contains(string(m.Error.Data), "overloaded") {
				t.Errorf("got %s", m.Append(nil))
			}
		})
	}
	all.Wait()
	stop()
	w.ask(host.MCP, call("tools/call", `{"name":"echo","arguments":{"text":"still here"}}`)).check(t,
		"200 result")
}

// hostileSchema returns a schema with all known attacks on code that evaluates it. Its remote
// references lead to a server that counts requests.
func hostileSchema(base string) string {
	any := strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/loop"},`, 10_000), ",")
	return `{"type":"object","$schema":"` + base + `/dialect","$ref":"` + base +
		`/remote","properties":{"a":{"$ref":"file:///etc/passwd"},` +
		`"b":{"pattern":"^(([a-z])+.)+[A-Z]([a-z])+$"},"c":{"$ref":"#/$defs/loop"}},"$defs":{"loop":{"allOf":[{"$ref":"#/$defs/loop"}]}},"anyOf":[` + any + `]}`
}

// Only clients evaluate schemas. mcpd passes a schema on unchanged, follows none of its references,
// and does not validate arguments (S35).
func TestSchemasAreNotBelieved(t *testing.T) {
	var fetched atomic.Int32
	trap := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	schema := hostileSchema(trap)
	server := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		m, wrong := jsonrpc.Decode(body, jsonrpc.Limits{})
		if err != nil || wrong != nil || m.Kind() != jsonrpc.KindRequest {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := mirrored(m, "")
		if m.Method == "tools/list" {
			result = jsontext.Value(`{"tools":[{"name":"mirror","inputSchema":` + schema +
				`,"outputSchema":` + schema + `}]}`)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(jsonrpc.Response(m.ID, result).Append(nil))
	}))
	host := mcptest.Start(t, mcptest.HostOptions{
		Config: fmt.Sprintf("tenants: {default: {servers: {it: {url: %q, max_version: 2025-11-25}}}}\n",
			server),
	})
	w := newWire(t, host.MCP+"/it/mcp", "")
	old := newWire(t, host.MCP+"/it/mcp", "")
	old.open("2025-11-25")
	for _, list := range []reply{w.ask(host.MCP, statelessPost("tools/list", "")),
		old.ask(host.MCP, call("tools/list", "{}"))} {
		for _, want := range []string{trap + "/remote", trap + "/dialect", "file:///etc/passwd"} {
			if !strings.Contains(string(list.body), want) {
				t.Errorf("no %s in %.300s", want, list.body)
			}
		}
	}
	w.ask(host.MCP, statelessPost("tools/call", `"name":"mirror","arguments":{"b":7,"d":[]}`)).check(t,
		"200 result")
	old.ask(host.MCP, call("tools/call", `{"name":"mirror","arguments":{"b":7,"d":[]}}`)).check(t,
		"200 result")
	if n := fetched.Load(); n != 0 {
		t.Errorf("%d of its references were followed", n)
	}
}
