package interop

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonedit"
)

// counter counts the requests of each method that a server gets, and their sessions.
type counter struct {
	next http.Handler

	mu       sync.Mutex // guards the fields below
	methods  map[string]int
	sessions map[string]bool
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	method, _ := jsonedit.GetString(jsontext.Value(body), "method")
	c.mu.Lock()
	c.methods[method]++
	if id := r.Header.Get("Mcp-Session-Id"); id != "" {
		c.sessions[id] = true
	}
	c.mu.Unlock()
	c.next.ServeHTTP(w, r)
}

// One instance of a remote server has one session with it for all clients of the tenant: principals
// of both eras, with any capabilities, one after the other and all at once.
func TestOneSessionWithARemoteServerServesEveryKindOfClient(t *testing.T) {
	for name, row := range map[string]struct {
		server   *fixture
		options  *mcp.StreamableHTTPOptions
		sessions int
	}{
		"legacy":    {newFixture("old").legacyOnly(), nil, 1},
		"dual":      {newFixture("dual"), nil, 1},
		"stateless": {newFixture("alone"), &mcp.StreamableHTTPOptions{Stateless: true}, 0},
	} {
		for _, at := range []string{"one after the other", "at once"} {
			t.Run(name+" "+at, func(t *testing.T) {
				heard := &counter{methods: map[string]int{}, sessions: map[string]bool{}}
				heard.next = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
					return row.server.Server
				}, row.options)
				host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(`
tenants:
  acme:
    auth: {keys: [%s, %s]}
    servers: {s: {url: %q, share: tenant, max_instances: 1}}
`, keyConfig("ann", "key-of-ann"), keyConfig("bob", "key-of-bob"), listen(t, heard))})
				var calls sync.WaitGroup
				for i, k := range callerKinds {
					one := func() {
						text := fmt.Sprint("text of ", i)
						r := caller(t, host.MCP+"/t/acme/mcp", k.who, k.revision, k.capabilities)("echo",
							fmt.Sprintf(`{"text":%q}`, text))
						if r.status != http.StatusOK || !bytes.Contains(r.body, []byte(text)) {
							t.Errorf("%+v: %d %s", k, r.status, r.body)
						}
					}
					if at == "at once" {
						calls.Go(one)
					} else {
						one()
					}
				}
				calls.Wait()
				heard.mu.Lock()
				defer heard.mu.Unlock()
				t.Logf("%v, sessions %v", heard.methods, len(heard.sessions))
				if len(heard.sessions) > row.sessions || heard.methods["initialize"] > 1 ||
					heard.methods["tools/call"] != len(callerKinds) {
					t.Errorf("%d sessions and %v, want at most %d session, greeted once", len(heard.sessions),
						heard.methods, row.sessions)
				}
			})
		}
	}
}
