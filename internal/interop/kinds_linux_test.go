package interop

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
)

// capabilitySet returns the n-th of 256 sets of capabilities that a server can learn of, with an
// experimental capability that is different for each n.
func capabilitySet(n int) string {
	members := map[string][]string{"experimental": {fmt.Sprintf(`"n%d":{"at":%d}`, n, n)}}
	for bit, path := range []string{
		"roots", "sampling", "sampling tools", "sampling context", "elicitation form", "elicitation url",
		"extensions io.modelcontextprotocol/ui", "extensions io.modelcontextprotocol/tasks",
	} {
		if n&(1<<bit) == 0 {
			continue
		}
		name, member, nested := strings.Cut(path, " ")
		if members[name] = append(members[name], ""); nested {
			members[name][len(members[name])-1] = fmt.Sprintf(`%q:{}`, member)
		}
	}
	var parts []string
	for name, of := range members {
		parts = append(parts, fmt.Sprintf(`%q:{%s}`, name,
			strings.TrimPrefix(strings.Join(of, ","), ",")))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// programs counts the processes of a host whose environment has a variable. These are its servers.
func programs(host *mcptest.Host, variable string) (n int) {
	for _, pid := range host.Processes() {
		// a process that has exited has no environment
		env, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if strings.Contains("\x00"+string(env), "\x00"+variable+"=") {
			n++
		}
	}
	return n
}

// A principal uses 10,000 (with the race detector 2,000) different sets of capabilities. They cause
// at most 256 peers, at most eight more processes, and no session. No existing session ends because
// of them.
func TestManyKindsOfClients(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(`
limits: {max_sessions: 20, max_total_sessions: 40}
tenants:
  acme:
    auth: {keys: [%s, %s]}
    servers: {proc: %s}
`, keyConfig("ann", "key-of-ann"), keyConfig("bob", "key-of-bob"),
		selfConfig(t, serveOld, "proc"))})
	var sessions []*wire
	for i := range 20 {
		w := newWire(t, host.MCP+"/t/acme/mcp", []string{"key-of-ann", "key-of-bob"}[i%2])
		w.open("2025-11-25")
		sessions = append(sessions, w)
	}
	before := programs(host, serveOld) // for the lists of the sessions
	modern := newWire(t, host.MCP+"/t/acme/mcp", "key-of-ann")
	modern.header.Set("Mcp-Protocol-Version", "2026-07-28")
	const call = `{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s,` +
		`"io.modelcontextprotocol/clientInfo":{"name":"wire","version":"1"}}}}`
	for n := range unlessRaced(10_000, 2_000) {
		modern.url = host.MCP + []string{"/t/acme/mcp", "/t/acme/proc/mcp"}[n/256%2]
		method, params, headers := "tools/list", "", []string{"Mcp-Method", "tools/list"}
		if n%16 == 0 {
			name := []string{"proc__echo", "echo"}[n/256%2]
			method, params = "tools/call", fmt.Sprintf(`"name":%q,"arguments":{"text":"x"},`, name)
			headers = []string{"Mcp-Method", "tools/call", "Mcp-Name", name}
		}
		r := modern.post(fmt.Sprintf(call, method, params, capabilitySet(n)), headers...)
		if r.status != http.StatusOK || r.message(t).Error != nil {
			t.Fatalf("request %d: %d %s", n, r.status, r.body)
		}
		if n%1000 == 999 {
			if peers, running := metric(t, host, "mcpd_peers"), programs(host, serveOld); peers > 256 ||
				running > before+8 {
				t.Fatalf("after %d: %v peers, %d processes, before that %d", n, peers, running, before)
			}
		}
	}
	if got := metric(t, host, "mcpd_sessions"); got != 20 {
		t.Errorf("%v sessions, want 20", got)
	}
	for i, w := range sessions {
		if r := w.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); r.status != http.StatusOK {
			t.Errorf("session %d: %d %s", i, r.status, r.body)
		}
	}
	if closed := metric(t, host, "mcpd_sessions_closed_total"); closed != 0 {
		t.Errorf("%v sessions were closed", closed)
	}
	t.Logf("%v peers, %d processes, before that %d", metric(t, host, "mcpd_peers"),
		programs(host, serveOld), before)
}
