package supervisor

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/actors/configuration"
	"mcpd/actors/session"
	"mcpd/gateway/auth"
	"mcpd/gateway/config"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/transport/streamable"
)

// A client makes the same request over one connection, and the host remembers its head. Each
// request is still checked for what may have changed: the settings, the tenant, and the rate. The
// request names a session that does not exist, so a 404 says that it was let in.
func TestKnownCallerIsStillAsked(t *testing.T) {
	key, hash := auth.NewKey()
	_, other := auth.NewKey()
	configured := func(change func(*config.Tenant)) *settings {
		acme := config.Tenant{
			Tenant: tenant.Tenant{Name: "acme", Servers: []tenant.Server{{Name: "files"}}},
			Keys:   []auth.Key{{Name: "ci", Hash: hash}},
		}
		if change != nil {
			change(&acme)
		}
		c := &config.Config{Tenants: []config.Tenant{acme}}
		c.Edge.Failures = 10
		return newSettings(c, configuration.Applied{})
	}
	const letIn = "404 .*session not found"
	var down atomic.Pointer[protocol.Error]
	h := &host{}
	for name, test := range map[string]struct {
		then func()
		want string // pattern for the status and the body
	}{
		"nothing changed":   {func() {}, letIn},
		"the same settings": {func() { h.settings.Store(configured(nil)) }, letIn},
		"its key is revoked": {func() {
			h.settings.Store(configured(func(t *config.Tenant) {
				t.Keys = []auth.Key{{Name: "ci", Hash: other}}
			}))
		}, "401 "},
		"its server is removed": {func() {
			h.settings.Store(configured(func(t *config.Tenant) {
				t.Servers, t.Removed = nil, []string{"files"}
			}))
		}, "404 {.*was removed"},
		"its tenant is removed": {func() {
			h.settings.Store(configured(func(t *config.Tenant) { t.Name = "gone" }))
		}, "401 "},
		"its tenant is down": {func() {
			down.Store(protocol.Starting("tenant acme", time.Second))
		}, "503 "},
		"it is too fast": {func() {
			h.settings.Store(configured(func(t *config.Tenant) { t.Limits.MaxRate = 1 }))
		}, "429 "},
	} {
		t.Run(name, func(t *testing.T) {
			down.Store(nil)
			h.settings.Store(configured(nil))
			edge := &Edge{
				now: h.now, Failures: quota.NewFailures(), Clock: clock.System, Index: session.NewIndex(nil),
				TenantDown: func(string) *protocol.Error { return down.Load() },
			}
			c := callEdge(t, edge, key)
			for range 3 {
				if got := c(); !regexp.MustCompile(letIn).MatchString(got) {
					t.Fatalf("got %s", got)
				}
			}
			test.then()
			got := c()
			for i := 0; i < 3 && test.want == "429 "; i++ { // as many as the rate limit allows at once
				got = c()
			}
			if !regexp.MustCompile(test.want).MatchString(got) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// callEdge serves an edge. It returns a function that posts the same request over one connection,
// and returns the status and the body. The handler's Admission never changes, because a change of
// it would make the host forget the head too.
func callEdge(t *testing.T, edge *Edge, key string) func() string {
	connections := &streamable.Connections{}
	s := streamable.NewHTTPServer(streamable.ServerOptions{
		Connections: connections, Handler: streamable.NewHandler(streamable.Options{Host: edge}),
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(connections.Listener(l)) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		s.Close()
		<-served
	})
	r, body := bufio.NewReader(conn), `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	return func() string {
		t.Helper()
		_, err := io.WriteString(conn,
			"POST /t/acme/files/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+
				"application/json\r\nMcp-Session-Id: x\r\n"+
				"Authorization: Bearer "+key+"\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return strconv.Itoa(resp.StatusCode) + " " + string(text)
	}
}
