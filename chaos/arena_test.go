package chaos

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/telemetry/admin"
)

// The two tenants of every scenario. Faults strike acme; globex is the bystander.
const (
	acme   = "acme"
	globex = "globex"
)

// patience bounds every wait for the host to come to rest. The awaited events take milliseconds;
// the margin is for a machine that also runs other tests, with the race detector.
const patience = 20 * time.Second

// arena is a running host with two tenants, each with its own key.
type arena struct {
	*mcptest.Host
	t     *testing.T
	token string // of the chaos scope
	write string // of the write scope
	home  string // the runtime directory
	admin http.Client
	// retries is how often a client tries to resume its stream. 0 is the SDK's own number, and a
	// negative number is never.
	retries int
	// timeout is the time limit of a call of a load; 0 is loadTimeout.
	timeout time.Duration
	// rate is the number of calls a second of a load; 0 is loadRate.
	rate float64
}

// open starts the release binary. The parameter servers is the YAML of acme's servers, one per
// line. Unless it declares a server "files", the test server gets that name. The tenant globex also
// has a test server "files".
func open(t *testing.T, servers string) *arena {
	t.Helper()
	return openWith(t, "", servers)
}

// openWith is open with more text at the top of the configuration.
func openWith(t *testing.T, top, servers string) *arena {
	t.Helper()
	files := fmt.Sprintf("{command: %q}", mcptest.Server(t))
	if !strings.Contains(servers, "files:") {
		servers = "files: " + files + "\n" + servers
	}
	a := &arena{t: t, home: t.TempDir()}
	// leaves no idle connection that would be counted
	a.admin.Transport = &http.Transport{DisableKeepAlives: true}
	a.Host = mcptest.Start(t, mcptest.HostOptions{
		Config: top + "\ntenants:\n" + tenant(acme, servers) + tenant(globex, "files: "+files),
		Args:   []string{"--chaos", "--log-level", "debug"},
		Env:    []string{"XDG_RUNTIME_DIR=" + a.home},
	})
	a.readToken()
	return a
}

func (a *arena) readToken() {
	a.t.Helper()
	a.token, a.write = a.tokenOf(admin.Chaos), a.tokenOf(admin.Write)
}

func (a *arena) tokenOf(scope admin.Scope) string {
	a.t.Helper()
	token, err := admin.ReadToken(filepath.Join(a.home, "mcpd"),
		strings.TrimPrefix(a.Host.Admin, "http://"), scope)
	if err != nil {
		a.t.Fatal(err)
	}
	return token
}

// tenant returns the configuration of one tenant.
func tenant(name, servers string) string {
	sum := sha256.Sum256([]byte(key(name)))
	text := fmt.Sprintf("  %s:\n    auth: {keys: [{name: ci, sha256: %x}]}\n    servers:\n", name, sum)
	for line := range strings.Lines(servers) {
		text += "      " + strings.TrimRight(line, "\n") + "\n"
	}
	return text
}

func key(tenant string) string { return "key-of-" + tenant }

// url returns a tenant's aggregate endpoint, or the endpoint of one of its servers.
func (a *arena) url(tenant string, server ...string) string {
	return a.MCP + "/t/" + strings.Join(append([]string{tenant}, server...), "/") + "/mcp"
}

// client opens a session of the official SDK with a tenant's aggregate endpoint. It returns the
// session and a function that closes the session and its connections. Without options the client
// declares no capabilities, as the load does, so that both share one connection to a server. With
// options the SDK also declares roots by default.
func (a *arena) client(tenant string, o *mcp.ClientOptions) (*mcp.ClientSession, func()) {
	a.t.Helper()
	if o == nil {
		o = &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	}
	connections := &http.Transport{}
	s, err := a.dial(a.url(tenant), key(tenant), connections, o)
	if err != nil {
		a.t.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		_ = s.Close() // the test may have ended the session already
		connections.CloseIdleConnections()
	})
	a.t.Cleanup(end)
	return s, end
}

// dial opens a session of the newest revision that has sessions, because these tests break
// sessions.
func (a *arena) dial(url, key string, over http.RoundTripper,
	o *mcp.ClientOptions) (*mcp.ClientSession, error) {
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	return mcp.NewClient(&mcp.Implementation{Name: "chaos", Version: "1"}, o).Connect(ctx,
		&mcp.StreamableClientTransport{
			Endpoint: url, HTTPClient: &http.Client{Transport: withKey{key, over}}, MaxRetries: a.retries,
		}, &mcp.ClientSessionOptions{ProtocolVersion: protocol.LatestLegacy.String()})
}

// connect tries to open a session with one server, and returns the error.
func (a *arena) connect(tenant, server string) error {
	a.t.Helper()
	connections := &http.Transport{}
	defer connections.CloseIdleConnections()
	s, err := a.dial(a.url(tenant, server), key(tenant), connections, nil)
	if err == nil {
		_ = s.Close()
	}
	return err
}

// withKey adds a bearer token to every request.
type withKey struct {
	key  string
	next http.RoundTripper
}

func (w withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.key)
	return w.next.RoundTrip(r)
}

// call makes one tool call.
func (a *arena) call(s *mcp.ClientSession, tool string,
	arguments map[string]any) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	return s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
}

// must makes a call that has to succeed, and returns its text.
func (a *arena) must(s *mcp.ClientSession, tool string, arguments map[string]any) string {
	a.t.Helper()
	r, err := a.call(s, tool, arguments)
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	return mcptest.Text(a.t, r)
}

// eventually waits until ok returns true.
func (a *arena) eventually(label string, ok func() bool) {
	a.t.Helper()
	a.within(patience, label, ok)
}

func (a *arena) within(most time.Duration, label string, ok func() bool) {
	a.t.Helper()
	for end := time.Now().Add(most); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			a.t.Fatalf("after %v: not %s", most, label)
		}
	}
}
