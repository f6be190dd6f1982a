package interop

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// callerKinds are different clients that a server with one instance serves with one process.
var callerKinds = []struct{ who, revision, capabilities string }{
	{"ann", legacy, `{"elicitation":{}}`},
	{"bob", legacy, `{}`},
	{"bob", legacy, `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]}}}`},
	{"ann", modern, `{}`},
	{
		"bob", modern,
		`{"sampling":{},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]}}}`,
	},
}

// caller returns a client of a principal and an era, with the given capabilities.
func caller(t *testing.T,
	url, who, revision, capabilities string) func(tool, arguments string) reply {
	t.Helper()
	w := newWire(t, url, "key-of-"+who)
	meta := ""
	if revision == modern {
		w.header.Set("Mcp-Protocol-Version", modern)
		w.header.Set("Mcp-Method", "tools/call")
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"wire","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":` + capabilities + `}`
	} else {
		r := w.post(strings.Replace(hello, `"capabilities":{}`, `"capabilities":`+capabilities, 1))
		w.header.Set("Mcp-Session-Id", r.header.Get("Mcp-Session-Id"))
		w.header.Set("Mcp-Protocol-Version", revision)
		w.post(initialized)
	}
	return func(tool, arguments string) reply {
		var name []string
		if revision == modern {
			name = []string{"Mcp-Name", "s__" + tool}
		}
		return w.post(fmt.Sprintf(
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"s__%s","arguments":%s%s}}`,
			tool, arguments, meta,
		), name...)
	}
}

// sharing starts a host of two tenants. The principals of each tenant share one process of a
// program.
func sharing(t *testing.T, more string) *mcptest.Host {
	t.Helper()
	server := fmt.Sprintf("{command: %q, share: tenant, max_instances: 1%s}", mcptest.Server(t), more)
	return mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(`
tenants:
  acme:
    auth: {keys: [%s, %s]}
    servers: {s: %s}
  zeta:
    auth: {keys: [%s]}
    servers: {s: %s}
`, keyConfig("ann", "key-of-ann"), keyConfig("bob", "key-of-bob"), server,
		keyConfig("zoe", "key-of-zoe"),
		server)})
}

// One instance is one process for all clients of the tenant. Another tenant has another process.
func TestOneProcessServesEveryKindOfClient(t *testing.T) {
	host := sharing(t, "")
	pid := regexp.MustCompile(`\\"pid\\":(\d+)`)
	of := map[string][]string{}
	for _, k := range callerKinds {
		r := caller(t, host.MCP+"/t/acme/mcp", k.who, k.revision, k.capabilities)("env", `{}`)
		if m := pid.FindSubmatch(r.body); m == nil {
			t.Errorf("%+v: %d %s", k, r.status, r.body)
		} else {
			of[string(m[1])] = append(of[string(m[1])], k.who+" "+k.revision+" "+k.capabilities)
		}
	}
	if len(of) != 1 {
		t.Errorf("%d processes: %v", len(of), of)
	}
	m := pid.FindSubmatch(caller(t, host.MCP+"/t/zeta/mcp", "zoe", legacy, `{}`)("env", `{}`).body)
	if m == nil || of[string(m[1])] != nil {
		t.Errorf("the other tenant's process is %s", m)
	}
}

// If a shared program had calls of two principals when it died, no client gets the program's last
// output, unless the operator allows it. Each client gets the incident.
func TestLastWordsOfASharedProgram(t *testing.T) {
	for more, told := range map[string]bool{"": false, ", share_logs: true": true} {
		host := sharing(t, more)
		url := host.MCP + "/t/acme/mcp"
		answers := make(chan reply, 1)
		ann, bob := caller(t, url, "ann", legacy, `{}`), caller(t, url, "bob", legacy, `{}`)
		ann("echo", `{"message":"x"}`)
		// ends with the program; the loop below waits for it
		go func() { answers <- ann("sleep", `{"millis":60000}`) }()
		eventually(t, "the call to be under way", func() bool {
			return metric(t, host, "mcpd_requests_in_flight") >= 1
		})
		time.Sleep(200 * time.Millisecond) // until the server has the call
		for who, r := range map[string]reply{"bob": bob("crash", `{}`), "ann": <-answers} {
			said := bytes.Contains(r.body, []byte("crash was called"))
			if said != told || !bytes.Contains(r.body, []byte(`"incident"`)) {
				t.Errorf("%q: %s is told %s", more, who, r.body)
			}
		}
	}
}
