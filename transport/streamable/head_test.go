package streamable

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/protocol"
)

// recallingHost is a testHost for which a Handler may cache the result of Route. Its keys are the
// values of Authorization and X-Api-Key, concatenated.
type recallingHost struct {
	*testHost
	settings atomic.Uint64
	revoked  atomic.Pointer[string] // a key that Route refuses
	expired  atomic.Bool            // every key has expired, which Enter checks
	routed   atomic.Int32
}

func (h *recallingHost) Route(r *http.Request) (Endpoint, RouteKind, *protocol.Error) {
	h.routed.Add(1)
	key := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")
	if revoked := h.revoked.Load(); revoked != nil && *revoked == key || h.expired.Load() {
		return Endpoint{}, Streamable, protocol.Unauthenticated()
	}
	tenant := strings.Split(r.URL.Path, "/")[2]
	return Endpoint{Tenant: tenant, Principal: key}, Streamable, nil
}

func (h *recallingHost) Settings() uint64 { return h.settings.Load() }

func (h *recallingHost) Enter(*http.Request, Endpoint) *protocol.Error {
	if h.expired.Load() {
		return protocol.Unauthenticated()
	}
	return nil
}

// keptClient makes requests over one connection.
type keptClient struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

// post sends a call and returns the status. fields replace those of the client by name; an empty
// value removes one.
func (c *keptClient) post(target, host string, fields ...string) int {
	c.t.Helper()
	all := map[string]string{
		"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
		"Mcp-Session-Id": "session-1",
		"Authorization":  "Bearer a",
	}
	for i := 0; i < len(fields); i += 2 {
		all[fields[i]] = fields[i+1]
	}
	body := call("echo")
	text := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", target,
		host, len(body))
	for name, value := range all {
		for _, one := range strings.Split(value, "|") {
			if one != "" {
				text += name + ": " + one + "\r\n"
			}
		}
	}
	if _, err := io.WriteString(c.conn, text+"\r\n"+body); err != nil {
		c.t.Fatal(err)
	}
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// recalling starts a server that caches heads, and a client whose head is cached already.
func recalling(t *testing.T) (h *recallingHost, admission *atomic.Pointer[Admission],
	c *keptClient) {
	h = &recallingHost{testHost: newTestHost(t)}
	for _, tenant := range []string{"acme", "other"} {
		for _, key := range []string{"Bearer a", "Bearer b", "Bearer ab", ""} {
			h.add(Endpoint{Tenant: tenant, Principal: key}, protocol.V20251125, nil)
		}
	}
	admission = new(atomic.Pointer[Admission])
	admission.Store(NewAdmission(nil, nil, Bounds{}))
	connections := &Connections{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := NewHTTPServer(ServerOptions{
		Handler:     NewHandler(Options{Host: h, Store: h.store, Admission: admission.Load}),
		Connections: connections,
	})
	served := make(chan error, 1)
	go func() { served <- server.Serve(connections.Listener(l)) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	t.Cleanup(func() {
		conn.Close()
		server.Close()
		<-served
	})
	c = &keptClient{t, conn, bufio.NewReader(conn)}
	for range 3 {
		if status := c.post("/t/acme/mcp", "localhost"); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	if n := h.routed.Load(); n != 2 {
		t.Fatalf("routed %d times in 3 requests, want 2: only the third is like one remembered", n)
	}
	return h, admission, c
}

// A POST with the same head as the previous one is neither checked nor routed again, whatever its
// session and the headers about its message. Any other POST is checked, and refused as without a
// cache.
func TestHeadIsRemembered(t *testing.T) {
	for name, test := range map[string]struct {
		target, host string
		fields       []string
		status       int
		known        bool
	}{
		"the same":        {known: true, status: 200},
		"another message": {fields: []string{"Mcp-Method", "echo"}, status: 200},
		"another session": {fields: []string{"Mcp-Session-Id", "session-9"}, known: true, status: 404},
		// The key belongs to session-2.
		"another key":          {fields: []string{"Authorization", "Bearer b"}, status: 404},
		"no key":               {fields: []string{"Authorization", ""}, status: 404},
		"two keys":             {fields: []string{"Authorization", "Bearer a|Bearer b"}, status: 400},
		"the same key twice":   {fields: []string{"Authorization", "Bearer a|Bearer a"}, status: 400},
		"a key in another way": {fields: []string{"X-Api-Key", "b"}, status: 404},
		"a key elsewhere": {fields: []string{"Authorization", "", "X-Api-Key", "Bearer a"},
			status: 200},
		"another tenant":      {target: "/t/other/mcp", status: 404},
		"a query":             {target: "/t/acme/mcp?access_token=a", status: 400},
		"another host":        {host: "evil.example", status: 403},
		"an origin":           {fields: []string{"Origin", "https://evil.example"}, status: 403},
		"its own origin":      {fields: []string{"Origin", "http://localhost"}, status: 200},
		"a page":              {fields: []string{"Sec-Fetch-Site", "cross-site"}, status: 403},
		"JSON only":           {fields: []string{"Accept", "application/json"}, status: 406},
		"another type":        {fields: []string{"Content-Type", "text/plain"}, status: 415},
		"compressed":          {fields: []string{"Content-Encoding", "gzip"}, status: 415},
		"a place in a stream": {fields: []string{"Last-Event-Id", "1"}, status: 400},
		"two sessions":        {fields: []string{"X-Mcp-Session-Id", "session-2"}, status: 400},
		"a session twice":     {fields: []string{"Mcp-Session-Id", "session-1|session-1"}, status: 400},
		"a proxy":             {fields: []string{"X-Forwarded-Proto", "https"}, status: 200},
		"one field for another": {
			fields: []string{"Authorization", "", "X-Forwarded-For", "192.0.2.1"}, status: 404,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, _, c := recalling(t)
			before := h.routed.Load()
			if test.target == "" {
				test.target = "/t/acme/mcp"
			}
			if test.host == "" {
				test.host = "localhost"
			}
			if got := c.post(test.target, test.host, test.fields...); got != test.status {
				t.Errorf("status %d, want %d", got, test.status)
			}
			early := test.status == 403 || test.status == 400 && name != "a place in a stream"
			if routed := h.routed.Load() > before; routed != (!test.known && !early) {
				t.Errorf("routed: %v", routed)
			}
		})
	}
}

// A cached head is valid only for the settings under which it was found.
func TestHeadIsForgotten(t *testing.T) {
	post := func(c *keptClient) int { return c.post("/t/acme/mcp", "localhost") }
	t.Run("a key is revoked", func(t *testing.T) {
		h, _, c := recalling(t)
		key := "Bearer a"
		h.revoked.Store(&key)
		h.settings.Add(1)
		if got := post(c); got != http.StatusUnauthorized {
			t.Errorf("status %d", got)
		}
	})
	t.Run("a key expires", func(t *testing.T) {
		h, _, c := recalling(t)
		h.expired.Store(true)
		if got := post(c); got != http.StatusUnauthorized {
			t.Errorf("status %d", got)
		}
	})
	t.Run("a host is none any more", func(t *testing.T) {
		_, admission, c := recalling(t)
		admission.Store(NewAdmission([]string{"other.example"}, nil, Bounds{}))
		if got := post(c); got != http.StatusForbidden {
			t.Errorf("status %d", got)
		}
	})
	t.Run("fewer fields are allowed", func(t *testing.T) {
		_, admission, c := recalling(t)
		admission.Store(NewAdmission(nil, nil, Bounds{Headers: 2}))
		if got := post(c); got != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("status %d", got)
		}
	})
	t.Run("it is long", func(t *testing.T) {
		h, _, c := recalling(t)
		long := strings.Repeat("x", maxHead)
		before := h.routed.Load()
		for range 3 {
			if got := c.post("/t/acme/mcp", "localhost", "X-Pad", long); got != http.StatusOK {
				t.Errorf("status %d", got)
			}
		}
		if n := h.routed.Load() - before; n != 3 {
			t.Errorf("routed %d times, want 3: it is kept for as long as the connection", n)
		}
	})
	t.Run("nothing but the number changed", func(t *testing.T) {
		h, _, c := recalling(t)
		h.settings.Add(1)
		before := h.routed.Load()
		if first, second := post(c), post(c); first != http.StatusOK || second != http.StatusOK ||
			h.routed.Load() != before+1 {
			t.Errorf("status %d and %d, routed %d times, want once", first, second, h.routed.Load()-before)
		}
	})
}

// On a connection with requests of many clients, nothing is cached after a while.
func TestMixedConnectionRemembersNothing(t *testing.T) {
	h, _, c := recalling(t)
	for i := range 2 * maxHeadMisses {
		c.post("/t/acme/mcp", "localhost", "X-Client", fmt.Sprint(i))
	}
	before := h.routed.Load()
	for range 3 {
		if got := c.post("/t/acme/mcp", "localhost"); got != http.StatusOK {
			t.Errorf("status %d", got)
		}
	}
	if n := h.routed.Load() - before; n != 3 {
		t.Errorf("routed %d of 3 requests", n)
	}
}
