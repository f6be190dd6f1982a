package streamable_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// oldPeer is a server of HTTP+SSE with one client at a time: it echoes POSTs to its inbox on the
// stream.
type oldPeer struct {
	*peer
	first   string      // the first event of the stream
	refusal int         // the status of a POST to the address of the stream
	events  chan string // written to the stream; closed to end it
}

func newOldPeer() *oldPeer {
	p := &oldPeer{
		peer: newPeer(), first: "event: endpoint\ndata: /inbox?session=7",
		refusal: http.StatusMethodNotAllowed, events: make(chan string, 16),
	}
	p.get = func(w http.ResponseWriter, r *http.Request) {
		stream(w, ": hello", p.first)
		for {
			select {
			case e, more := <-p.events:
				if !more {
					return
				}
				emit(w, e)
			case <-r.Context().Done():
				return
			}
		}
	}
	for _, method := range []string{"initialize", "echo"} {
		p.posts[method] = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			if r.URL.RequestURI() != "/inbox?session=7" {
				w.WriteHeader(p.refusal)
				return
			}
			p.events <- data(jsonrpc.Response(m.ID, nil))
			w.WriteHeader(http.StatusOK)
		}
	}
	return p
}

func (p *oldPeer) client(t *testing.T, d *streamable.Dialect) *streamable.Client {
	t.Helper()
	return newTestClient(t, streamable.ClientOptions{
		URL: "http://peer/sse", Transport: memory{p.ServeHTTP}, Dialect: d,
		Header: http.Header{"X-Key": {"secret"}},
	})
}

// A server that refuses initialize and has an HTTP+SSE stream is used over HTTP+SSE, then and
// later.
func TestClientFindsHTTPSSE(t *testing.T) {
	for _, status := range []int{400, 404, 405} {
		synctest.Test(t, func(t *testing.T) {
			p, d := newOldPeer(), &streamable.Dialect{}
			p.refusal = status
			c := p.client(t, d)
			if got := c.Info().Transport; got != "streamable" {
				t.Errorf("begins as %q", got)
			}
			send(t, c, call(0, "initialize"))
			expect(t, c, `none: {"jsonrpc":"2.0","id":0,"result":{}}`)
			c.Negotiated(protocol.V20241105)
			send(t, c, jsonrpc.Notification("notifications/initialized", nil), call(1, "echo"))
			expect(t, c, `none: {"jsonrpc":"2.0","id":1,"result":{}}`)
			p.events <- "event: message\ndata: " + `{"jsonrpc":"2.0","method":"notifications/x"}`
			expect(t, c, `none: {"jsonrpc":"2.0","method":"notifications/x"}`)
			if got := c.Info().Transport; got != transport.SSE {
				t.Errorf("goes on as %q", got)
			}
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
			again := p.client(t, d)
			if got := again.Info().Transport; got != transport.SSE {
				t.Errorf("the next begins as %q", got)
			}
			send(t, again, call(2, "initialize"))
			expect(t, again, `none: {"jsonrpc":"2.0","id":2,"result":{}}`)
			want := []string{
				"POST initialize", "GET", "POST initialize", "POST notifications/initialized", "POST echo",
				"GET", "POST initialize",
			}
			if got := p.saw(); !slices.Equal(got, want) {
				t.Errorf("the server saw %q, want %q", got, want)
			}
			for _, r := range p.all {
				if r.Header.Get("X-Key") != "secret" {
					t.Errorf("%s %s came without the configured header", r.Method, r.URL)
				}
			}
		})
	}
}

// Events before the address for POSTs are skipped, however many there are, until the time limit.
func TestClientOfHTTPSSEReadsOnToItsInbox(t *testing.T) {
	for _, first := range []string{
		"event: connected\ndata: {\"ok\":true}", "event: ping\ndata: 1", "data: hello",
		`data: {"jsonrpc":"2.0","method":"notifications/x"}`,
		strings.TrimSuffix(strings.Repeat("event: ping\ndata: 1\n\n", 2000), "\n\n"),
	} {
		for _, known := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				p := newOldPeer()
				p.first = first + "\n\n" + p.first
				c := p.client(t, streamable.NewDialect(known))
				send(t, c, call(0, "initialize"))
				expect(t, c, `none: {"jsonrpc":"2.0","id":0,"result":{}}`)
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		p, start := newOldPeer(), time.Now()
		p.get = func(w http.ResponseWriter, r *http.Request) {
			for {
				stream(w, "event: ping\ndata: 1")
				select {
				case <-time.After(10 * time.Millisecond):
				case <-r.Context().Done():
					return
				}
			}
		}
		c := p.client(t, streamable.NewDialect(true))
		send(t, c, call(0, "initialize"))
		if _, err := c.Recv(t.Context()); err == nil || !strings.Contains(err.Error(), "where to post") ||
			time.Since(start) > 11*time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

// If the SSE fallback fails, the error is still the refusal of initialize.
func TestClientFindsNoHTTPSSE(t *testing.T) {
	for _, c := range []struct {
		name    string
		refusal int
		first   string
		get     bool // a GET is tried
		reason  string
	}{
		{"other status", 403, "event: endpoint\ndata: /inbox", false, ""},
		{"server error", 500, "event: endpoint\ndata: /inbox", false, ""},
		{"no stream", 404, "", true, ""},
		{"another stream", 404, "data: {}", true, "where to post"},
		{"a stream that says nothing", 404, ": nothing", true, "where to post"},
		{"another origin", 404, "event: endpoint\ndata: http://elsewhere/inbox", true, "another origin"},
		{"another port", 404, "event: endpoint\ndata: //peer:81/inbox", true, "another origin"},
		{"another scheme", 404, "event: endpoint\ndata: https://peer/inbox", true, "another origin"},
		{"a login", 404, "event: endpoint\ndata: http://me@peer/inbox", true, "another origin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, d := newOldPeer(), &streamable.Dialect{}
				p.refusal, p.first = c.refusal, c.first
				if c.first == "" {
					p.get = func(w http.ResponseWriter, _ *http.Request) {
						w.WriteHeader(http.StatusMethodNotAllowed)
					}
				}
				client := p.client(t, d)
				send(t, client, call(0, "initialize"))
				in := recv(t, client)
				if in.Err == nil || !strings.Contains(in.Err.Error(), http.StatusText(c.refusal)) ||
					!strings.Contains(in.Err.Error(), c.reason) {
					t.Errorf("got %s", show(in))
				}
				if status, _ := errors.AsType[*streamable.StatusError](in.Err); status == nil ||
					status.Status != c.refusal {
					t.Errorf("got %s, want the refusal of status %d", show(in), c.refusal)
				}
				if got := slices.Contains(p.saw(), "GET"); got != c.get {
					t.Errorf("GET is %t, want %t", got, c.get)
				}
				if got := p.client(t, d).Info().Transport; got != "streamable" {
					t.Errorf("the next begins as %q", got)
				}
			})
		})
	}
	t.Run("a stream that is taken", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newOldPeer()
			p.refusal = 404
			p.get = func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusInternalServerError)
				w.Write([]byte("Already connected"))
			}
			client := p.client(t, &streamable.Dialect{})
			send(t, client, call(0, "initialize"))
			in := recv(t, client)
			var status *streamable.StatusError
			if !errors.As(in.Err, &status) || status.Status != 500 ||
				!strings.Contains(in.Err.Error(), "404") ||
				!strings.Contains(in.Err.Error(), "Already connected") {
				t.Errorf("got %s, want the trouble with the stream and the refusal before", show(in))
			}
		})
	})
	t.Run("a stream elsewhere", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newOldPeer()
			p.get = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://elsewhere/sse")
				w.WriteHeader(http.StatusFound)
			}
			client := p.client(t, &streamable.Dialect{})
			send(t, client, call(0, "initialize"))
			in := recv(t, client)
			if o, found := streamable.ObstacleOf(in.Err); !found || o.Cause != streamable.CauseRedirect ||
				!strings.Contains(o.Do, "elsewhere/sse") {
				t.Errorf("got %s, want where the stream is", show(in))
			}
		})
	})
	t.Run("an answer", func(t *testing.T) {
		p := newPeer()
		p.posts["initialize"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			w.Write(jsonrpc.Failure(jsonrpc.ID{},
				&jsonrpc.Error{Code: -32022, Message: "modern"}).Append(nil))
		}
		c := inMemory(t, p)
		send(t, c, call(0, "initialize"))
		if in := recv(t, c); in.Message.Error == nil || slices.Contains(p.saw(), "GET") {
			t.Errorf("got %s after %q", show(in), p.saw())
		}
	})
}

// With configured HTTP+SSE no other transport is tried. With detected HTTP+SSE, a server that no
// longer has it is detected again.
func TestClientOfHTTPSSEAlone(t *testing.T) {
	for _, fixed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := newOldPeer()
			d := streamable.NewDialect(fixed)
			if !fixed {
				c := p.client(t, d)
				send(t, c, call(0, "initialize"))
				recv(t, c)
				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
			sent := make(chan struct{})
			p.get = func(w http.ResponseWriter, _ *http.Request) {
				<-sent // after it the connection accepts nothing more
				w.WriteHeader(http.StatusNotFound)
			}
			c := p.client(t, d)
			send(t, c, call(1, "initialize"), call(2, "echo"),
				jsonrpc.Notification("notifications/cancelled", nil))
			close(sent)
			if in, err := c.Recv(t.Context()); err == nil || !strings.Contains(err.Error(), "404") {
				t.Errorf("got %s, %v", show(in), err)
			}
			if got, want := p.client(t, d).Info().Transport == transport.SSE, fixed; got != want {
				t.Errorf("HTTP+SSE is still assumed: %t, want %t", got, want)
			}
		})
	}
}

// The end of the stream ends the connection, after all received messages. A failed POST affects
// only itself.
func TestClientOfHTTPSSEEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOldPeer()
		p.posts["lost"] = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
			w.WriteHeader(http.StatusBadGateway)
		}
		c := p.client(t, streamable.NewDialect(true))
		send(t, c, call(0, "initialize"))
		expect(t, c, `none: {"jsonrpc":"2.0","id":0,"result":{}}`)
		send(t, c, call(1, "lost"))
		if in := recv(t, c); in.RequestID != jsonrpc.IntID(1) || in.Err == nil || !in.Written {
			t.Errorf("got %s", show(in))
		}
		p.events <- `data: {"jsonrpc":"2.0","id":2,"result":`
		if in := recv(t, c); in.RequestID != jsonrpc.IntID(2) || in.Err == nil {
			t.Errorf("an event that is no message: got %s", show(in))
		}
		p.events <- data(jsonrpc.Notification("notifications/last", nil))
		close(p.events)
		synctest.Wait()
		expect(t, c, `none: {"jsonrpc":"2.0","method":"notifications/last"}`)
		if in, err := c.Recv(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "stream of the server ended") {
			t.Errorf("got %s, %v", show(in), err)
		}
	})
}

// A server that opens its stream and then sends nothing does not hold its connection for ever.
func TestClientOfHTTPSSEWaitsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOldPeer()
		p.first = ": wait"
		c, start := p.client(t, streamable.NewDialect(true)), time.Now()
		send(t, c, call(0, "initialize"))
		if _, err := c.Recv(t.Context()); err == nil || !strings.Contains(err.Error(), "where to post") ||
			time.Since(start) > time.Minute {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

// The official server of HTTP+SSE, over loopback: detected, and known from the start.
func TestClientWithOfficialHTTPSSE(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "official", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "echo", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hi"}}}, nil
		})
	s := httptest.NewServer(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil))
	defer s.Close()
	var all sync.WaitGroup
	for _, d := range []*streamable.Dialect{nil, streamable.NewDialect(true)} {
		all.Go(func() {
			c, err := streamable.NewClient(streamable.ClientOptions{URL: s.URL + "/sse", Dialect: d})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close(context.Background())
			ask := func(m jsonrpc.Message) string {
				if err := c.Send(t.Context(), m); err != nil {
					return err.Error()
				}
				in, err := c.Recv(t.Context())
				if err != nil {
					return err.Error()
				}
				return show(in)
			}
			init := jsonrpc.Request(jsonrpc.IntID(1), "initialize",
				[]byte(`{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`))
			if got := ask(init); !strings.Contains(got, `"protocolVersion":"2024-11-05"`) {
				t.Errorf("initialize: got %s", got)
			}
			c.Negotiated(protocol.V20241105)
			if err := c.Send(t.Context(),
				jsonrpc.Notification("notifications/initialized", nil)); err != nil {
				t.Error(err)
			}
			if got := ask(jsonrpc.Request(jsonrpc.IntID(2), "tools/call",
				[]byte(`{"name":"echo"}`))); !strings.Contains(got, `"hi"`) {
				t.Errorf("tools/call: got %s", got)
			}
		})
	}
	all.Wait()
}
