package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// recorder records all headers and all data that a server receives.
type recorder struct {
	next http.Handler

	mu      sync.Mutex // guards the fields below
	headers map[string]map[string]bool
	all     strings.Builder
}

func (c *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	c.mu.Lock()
	for name, values := range r.Header {
		if c.headers[name] == nil {
			c.headers[name] = map[string]bool{}
		}
		for _, v := range values {
			c.headers[name][v] = true
		}
	}
	fmt.Fprintf(&c.all, "%s %s %s %v %s\n", r.Method, r.URL, r.Host, r.Header, body)
	c.mu.Unlock()
	c.next.ServeHTTP(w, r)
}

// A client's credentials and connection headers stop at the host: they reach no server, no child
// process and no log. The secrets that the operator configured for a server reach only that server,
// and no log (S13, S69, S73, S88).
func TestSecretsStayWhereTheyBelong(t *testing.T) {
	const canary, upstream, variable = "canary-key-5b1d", "upstream-token-77c2", "child-secret-91aa"
	f := newFixture("web")
	heard := &recorder{headers: map[string]map[string]bool{},
		next: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
			return f.Server
		}, nil)}
	config := fmt.Sprintf(`
log: {level: debug}
tenants:
  acme:
    auth: {keys: [%s]}
    servers:
      web: {url: "%s/mcp?key=${env:UPSTREAM_TOKEN}", headers: {Authorization: "Bearer ${env:UPSTREAM_TOKEN}", X-Plain: "a value"}}
      env: {command: %q, args: ["${env:CHILD_SECRET}"], env: {TOKEN: "${env:CHILD_SECRET}"}, env_pass: [PASSED]}
`, keyConfig("ann", canary), listen(t, heard), mcptest.Server(t))
	environment := []string{
		"UPSTREAM_TOKEN=" + upstream, "CHILD_SECRET=" + variable, "PASSED=yes", "NOT_PASSED=other-secret",
		"LD_PRELOAD_X=1",
		"NODE_OPTIONS=--no-warnings", "HTTP_PROXY=http://127.0.0.1:1",
		"AWS_SECRET_ACCESS_KEY=other-secret", "MCPD_KEY=other-secret",
	}
	host := mcptest.Start(t, mcptest.HostOptions{Config: config, Env: environment})

	w := newWire(t, host.MCP+"/t/acme/mcp", canary)
	for name, value := range map[string]string{
		"Cookie": "session=" + canary, "Proxy-Authorization": "Basic " + canary,
		"X-Forwarded-For": "10.0.0.1", "Forwarded": "for=10.0.0.1",
		"X-Mcpd-Tenant": "zeta", "X-Api-Key": canary, "Te": "trailers", "Keep-Alive": "timeout=5",
		"X-Hop": canary, "Connection": "X-Hop",
		"User-Agent": "client/" + canary, "Referer": "http://localhost/" + canary,
		"Baggage": "k=" + canary,
	} {
		w.header.Set(name, value)
	}
	w.open("2025-11-25")
	w.post(call("tools/call", `{"name":"web__echo","arguments":{"text":"x"}}`).body).check(t,
		"200 result")
	dump := w.post(call("tools/call", `{"name":"env__env","arguments":{}}`).body).result(t, "content")
	// This call is refused, and perhaps logged.
	w.post(call("tools/call", `{"name":"web__echo","arguments":{"text":"x"}}`).body, "Authorization",
		"Bearer "+canary+"x")
	w.close()
	host.Stop() // the log is complete after this

	heard.mu.Lock()
	defer heard.mu.Unlock()
	if strings.Contains(heard.all.String(), canary) {
		t.Errorf("the client's key reached the server:\n%s", heard.all.String())
	}
	if got := slices.Sorted(maps.Keys(heard.headers["Authorization"])); !slices.Equal(got,
		[]string{"Bearer " + upstream}) {
		t.Errorf("Authorization = %q", got)
	}
	allowed := []string{
		"Accept", "Accept-Encoding", "Authorization", "Content-Length", "Content-Type",
		"Mcp-Protocol-Version", "Mcp-Session-Id", "User-Agent", "X-Plain",
	}
	if got := slices.Sorted(maps.Keys(heard.headers)); !slices.Equal(got, allowed) {
		t.Errorf("headers that reached the server:\n%q\nwant\n%q", got, allowed)
	}
	if session := w.header.Get("Mcp-Session-Id"); heard.headers["Mcp-Session-Id"][session] {
		t.Error("the client's session id reached the server")
	}
	checkChild(t, string(dump), variable, canary)
	for _, secret := range []string{canary, upstream, variable, "other-secret",
		w.header.Get("Mcp-Session-Id")} {
		if i := strings.Index(host.Log(), secret); i >= 0 {
			t.Errorf("%s is in the log: …%.200s", secret, host.Log()[max(0, i-100):])
		}
	}
	print := exec.Command(mcptest.Mcpd(t), "config", "print", file(t, config))
	print.Env = append(print.Environ(), environment...)
	shown, err := print.CombinedOutput()
	if err != nil {
		t.Fatalf("config print: %v\n%s", err, shown)
	}
	for _, secret := range []string{upstream, variable, "other-secret"} {
		if strings.Contains(string(shown), secret) {
			t.Errorf("%s is in what config print shows", secret)
		}
	}
}

// checkChild checks the environment and arguments of a child process: the short environment, the
// configured variables, and the host's mark.
func checkChild(t *testing.T, dump, variable, canary string) {
	t.Helper()
	var blocks []struct{ Text string }
	var child struct{ Env, Args []string }
	if err := json.Unmarshal([]byte(dump), &blocks); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(blocks[0].Text), &child); err != nil {
		t.Fatal(err)
	}
	expected := map[string]bool{
		"HOME": true, "PATH": true, "LANG": true, "TZ": true, "TMPDIR": true, "USER": true,
		"LOGNAME": true, "SHELL": true, "TERM": true, "XDG_CACHE_HOME": true,
		"XDG_CONFIG_HOME": true, "XDG_DATA_HOME": true, "XDG_STATE_HOME": true, "MCPD_INSTANCE": true,
		"TOKEN": true, "PASSED": true,
	}
	for _, entry := range child.Env {
		name, value, _ := strings.Cut(entry, "=")
		if !expected[name] && !strings.HasPrefix(name, "LC_") {
			t.Errorf("the child has the variable %s", entry)
		}
		if name == "TOKEN" && value != variable || strings.Contains(value, canary) {
			t.Errorf("the child has %s", entry)
		}
	}
	if !slices.Equal(child.Args, []string{variable}) {
		t.Errorf("the child's arguments are %q", child.Args)
	}
}
