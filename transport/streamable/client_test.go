package streamable_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

func TestClientOptionsAreChecked(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    streamable.ClientOptions
		want string
	}{
		{"other scheme", streamable.ClientOptions{URL: "ftp://h/mcp"}, "http or https"},
		{"no host", streamable.ClientOptions{URL: "http:///mcp"}, "http or https"},
		{"unreadable", streamable.ClientOptions{URL: "http://h:x/"}, "url"},
		{"credentials", streamable.ClientOptions{URL: "http://me:geheim@h/mcp"}, "header"},
		{"header of the protocol",
			streamable.ClientOptions{URL: "http://h/", Header: http.Header{"mcp-session-id": {"x"}}},
			"mcp-session-id"},
		{"header of a connection",
			streamable.ClientOptions{URL: "http://h/", Header: http.Header{"Transfer-Encoding": {"x"}}},
			"Transfer-Encoding"},
		{"header name", streamable.ClientOptions{URL: "http://h/", Header: http.Header{"a b": {"x"}}},
			"a b"},
		{"header value", streamable.ClientOptions{URL: "http://h/",
			Header: http.Header{"X-Key": {"geheim\r\nX-Other: 1"}}}, "X-Key"},
	} {
		_, err := streamable.NewClient(tt.o)
		if err == nil || !strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: got %v, want %q in it and no secret", tt.name, err, tt.want)
		}
	}
}

func TestClientInfoHidesTheQuery(t *testing.T) {
	c := newTestClient(t, streamable.ClientOptions{URL: "https://h:1/mcp?key=secret#x"})
	if got := c.Info(); got.URL != "https://h:1/mcp" || got.Transport != "streamable" {
		t.Errorf("got %+v", got)
	}
}

// The outcome of a request for each kind of response.
func TestClientOutcomes(t *testing.T) {
	status := func(code int, header ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
		}
	}
	body := func(code int, kind, text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			io.WriteString(w, text)
		}
	}
	const json = "application/json; charset=utf-8"
	const secret = "Zm9vYmFyYmF6"
	for _, tt := range []struct {
		name   string
		answer func(w http.ResponseWriter)
		want   string
	}{
		{"result", body(200, json, `{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890}}`),
			`1: {"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890}}`},
		{"error", body(200, json, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`),
			`1: {"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`},
		{"error without id", body(200, json,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}`),
			`1: {"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`},
		{"error with a status", body(400, json,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`),
			`1: {"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`},
		{"method unknown, 404", body(404, json,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}`),
			`1: {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}`},
		{"error of nobody with a status",
			body(400, json, `{"jsonrpc":"2.0","error":{"code":-1,"message":"m"}}`),
			`1 failed, written=false: status 400 Bad Request: "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-1,\"message\":\"m\"}}"`},
		{"accepted without answer", status(202),
			`1 failed, written=true: the server accepted the request without an answer, and has no stream for it`},
		{"no content", status(204),
			`1 failed, written=true: the server accepted the request without an answer`},
		{"broken", body(200, json, `{"jsonrpc":"2.0","id":1,`),
			`1 failed, written=true: the answer: parse: `},
		{"an array", body(200, json, `[{"jsonrpc":"2.0","id":1,"result":{}}]`),
			`1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"a page", body(200, "text/html", "<html>"),
			`1 failed, written=true: the answer is of type "text/html"`},
		{"not gzip", coded("gzip", strings.Clone, 200, json, "x"),
			`1 failed, written=true: read the answer: decode "gzip": `},
		{"of an unknown coding", coded("compress", strings.Clone, 200, json, "x"),
			`1 failed, written=true: read the answer: the body is encoded as "compress", which was not asked for`},
		{"br", coded("br", brotlied, 200, json, `{"jsonrpc":"2.0","id":1,"result":{}}`),
			`1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"br of a stream", coded("br", brotlied, 200, "text/event-stream",
			"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"),
			`1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"br of too much", coded("br", brotlied, 200, json,
			`{"jsonrpc":"2.0","id":1,"result":{"x":"`+strings.Repeat("x", 1<<20)+`"}}`),
			`1 failed, written=true: answer of the server exceeds 4096 bytes`},
		{"not br", coded("br", strings.Clone, 200, json, "x"),
			`1 failed, written=true: read the answer: `},
		{"zstd", coded("zstd", zstandard, 200, json, `{"jsonrpc":"2.0","id":1,"result":{}}`),
			`1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"zstd of a stream", coded("zstd", zstandard, 200, "text/event-stream",
			"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"),
			`1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"zstd of too much", coded("zstd", zstandard, 200, json,
			`{"jsonrpc":"2.0","id":1,"result":{"x":"`+strings.Repeat("x", 1<<20)+`"}}`),
			`1 failed, written=true: answer of the server exceeds 4096 bytes`},
		{"not zstd", coded("zstd", strings.Clone, 200, json, "x"),
			`1 failed, written=true: read the answer: `},
		{"gzip", coded("gzip", gzipped, 200, json, `{"jsonrpc":"2.0","id":1,"result":{}}`),
			`1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"x-gzip, other case", coded(" X-GZip", gzipped, 200, json,
			`{"jsonrpc":"2.0","id":1,"result":{}}`), `1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"deflate", coded("deflate", zlibbed, 200, json, `{"jsonrpc":"2.0","id":1,"result":{}}`),
			`1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"deflate without a head",
			coded("deflate", deflated, 200, json, `{"jsonrpc":"2.0","id":1,"result":{}}`),
			`1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"gzip of a stream", coded("gzip", gzipped, 200, "text/event-stream",
			"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"),
			`1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"gzip without its end", coded("gzip", func(s string) string {
			s = gzipped(s)
			return s[:len(s)-5]
		}, 200, json, `{"jsonrpc":"2.0","id":1,"result":{}}`), `1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"gzip with more behind", coded("gzip", func(s string) string {
			return gzipped(s) + "\x00\x00garbage"
		}, 200, json, `{"jsonrpc":"2.0","id":1,"result":{}}`), `1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"gzip and identity", coded("gzip, identity", gzipped, 200, json,
			`{"jsonrpc":"2.0","id":1,"result":{}}`), `1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"gzip of gzip", coded("gzip, gzip", gzipped, 200, json, `{}`),
			`1 failed, written=true: read the answer: the body is encoded as "gzip, gzip", which was not asked for`},
		{"a coding that is a character set",
			coded("utf-8", strings.Clone, 200, json, `{"jsonrpc":"2.0","id":1,"result":{}}`),
			`1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"gzip that is cut", coded("gzip", func(s string) string {
			s = gzipped(s)
			return s[:len(s)-20]
		}, 200, json, `{"jsonrpc":"2.0","id":1,"result":{}}`), `1 failed, written=true: `},
		{"gzip of too much", coded("gzip", gzipped, 200, json,
			`{"jsonrpc":"2.0","id":1,"result":{"x":"`+strings.Repeat("x", 1<<20)+`"}}`),
			`1 failed, written=true: answer of the server exceeds 4096 bytes`},
		{"gzip of a stream of too much",
			coded("gzip", gzipped, 200, "text/event-stream", "data: "+strings.Repeat("x", 1<<20)),
			`1 failed, written=true: sse event too large: `},
		{"gzip of an error", coded("gzip", gzipped, 400, json,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`),
			`1: {"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`},
		{"gzip of a status", coded("gzip", gzipped, 403, "text/plain", "no"),
			`1 failed, written=false: status 403 Forbidden: "no"`},
		{"too large", body(200, json,
			`{"jsonrpc":"2.0","id":1,"result":{"x":"`+strings.Repeat("x", 5000)+`"}}`),
			`1 failed, written=true: answer of the server exceeds 4096 bytes`},
		{"redirect", status(307, "Location", "http://elsewhere/mcp?t=1"),
			`1 failed, written=false: status 307 Temporary Redirect: redirect to "elsewhere/mcp" not followed`},
		{"unauthorised", body(401, "text/plain", "who is Bearer "+secret+"?\n\x1b[1m"),
			`1 failed, written=false: status 401 Unauthorized: "who is [redacted]?  [1m"`},
		{"timeout", status(408), `1 failed, written=true: status 408 Request Timeout`},
		{"busy", status(429, "Retry-After", "7"),
			`1 failed, written=false: status 429 Too Many Requests`},
		{"down until then", status(503, "Retry-After", "3"),
			`1 failed, written=false: status 503 Service Unavailable`},
		{"down", status(503), `1 failed, written=true: status 503 Service Unavailable`},
		{"crashed", body(500, "text/plain", strings.Repeat("x", 9000)),
			`1 failed, written=true: status 500 Internal Server Error: "` + strings.Repeat("x", 256) + `"`},
		{"dropped", func(w http.ResponseWriter) {
			w.(*memoryWriter).dropped = true
		}, `1 failed, written=false: connection reset by peer`},
		{"cut body", func(w http.ResponseWriter) {
			w.(*memoryWriter).broken = true
			body(200, json, `{"json`)(w)
		}, `1 failed, written=true: read the answer: unexpected EOF`},
		{"not found without a session", status(404), `1 failed, written=false: status 404 Not Found`},
		{"stream too large", func(w http.ResponseWriter) {
			stream(w, "data: "+strings.Repeat("x", 9000))
		}, `1 failed, written=true: sse event too large: `},
		{"stream without an answer", func(w http.ResponseWriter) {
			stream(w, ": nothing")
		}, `1 failed, written=true: the stream ended before the answer, and cannot be resumed: EOF`},
		{"stream without its last blank line",
			cutStream("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"),
			`1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"stream without the end of its last line",
			cutStream("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\ndata: \"result\":{}}"),
			`1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"stream that ends in an answer", cutStream("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\n"),
			`1 failed, written=true: the stream ended before the answer, and cannot be resumed: EOF`},
		{"stream that ends in another event",
			cutStream("event: other\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"),
			`1 failed, written=true: the stream ended before the answer, and cannot be resumed: EOF`},
		{"unreadable answer in a stream", func(w http.ResponseWriter) {
			stream(w, `data: {"jsonrpc":"2.0","id":1,"result":{"a":1,a:2}}`)
		}, `1 failed, written=true: the answer: parse: 'a' where a member's name should be at byte 40`},
		{"broken answer in a stream", func(w http.ResponseWriter) {
			stream(w, `data: {"jsonrpc":"2.0","id":1,"result":1,"error":2}`)
		}, `1 failed, written=true: the answer: invalid_request: `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer()
				p.posts["x"] = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) { tt.answer(w) }
				c := newTestClient(t, streamable.ClientOptions{
					URL: "http://peer/mcp", Transport: memory{p.ServeHTTP}, MaxMessage: 4096,
					Header: http.Header{"Authorization": {"Bearer " + secret}},
				})
				send(t, c, call(1, "x"))
				in := recv(t, c)
				got := show(in)
				if got != tt.want && !(strings.HasSuffix(tt.want, ": ") && strings.HasPrefix(got, tt.want)) {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
				var e *streamable.StatusError
				if tt.name == "busy" && (!errors.As(in.Err, &e) || e.RetryAfter != 7*time.Second) {
					t.Errorf("retry after: got %+v", e)
				}
				if tt.name == "crashed" && (!errors.As(in.Err, &e) || len(e.Body) != 4096) {
					t.Errorf("body: got %d bytes, want 4096", len(e.Body))
				}
			})
		})
	}
}

func TestClientKeepsTheChallenge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		p.posts["x"] = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://h/.well-known/x"`)
			w.WriteHeader(401)
		}
		c := inMemory(t, p)
		send(t, c, call(1, "x"))
		var e *streamable.StatusError
		if in := recv(t, c); !errors.As(in.Err, &e) || !strings.Contains(e.Challenge, ".well-known") {
			t.Errorf("got %+v", e)
		}
	})
}

func TestClientReadsArraysWhereTheRevisionHasThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		p.posts["x"] = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":1,"result":{}}]`)
		}
		c := inMemory(t, p)
		shake(t, c, protocol.V20250326)
		send(t, c, call(1, "x"))
		expect(t, c, `1: {"jsonrpc":"2.0","method":"n"}`, `1: {"jsonrpc":"2.0","id":1,"result":{}}`)
	})
}

// In the legacy revisions a request is cancelled by a notification, not by a disconnect. The client
// stops reading the answer after it has sent the notification.
func TestClientCancelsByNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		ended := make(chan struct{})
		p.posts["slow"] = func(w http.ResponseWriter, r *http.Request, _ jsonrpc.Message) {
			stream(w, ": begun")
			<-r.Context().Done()
			close(ended)
		}
		c := inMemory(t, p)
		send(t, c, call(7, "slow"))
		synctest.Wait()
		send(t, c, jsonrpc.Notification("notifications/cancelled", []byte(`{"requestId":7}`)))
		<-ended
		if got := p.saw(); !slices.Equal(got, []string{"POST slow", "POST notifications/cancelled"}) {
			t.Errorf("got %q", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if in, err := c.Recv(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a cancelled request yields %s, %v", show(in), err)
		}
	})
}

func TestClientBoundsItsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		hang := func(_ http.ResponseWriter, r *http.Request, _ jsonrpc.Message) { <-r.Context().Done() }
		p.posts["slow"], p.posts["n"] = hang, hang
		full := make(chan struct{})
		p.posts["notifications/cancelled"] = func(http.ResponseWriter, *http.Request, jsonrpc.Message) {
			<-full
		}
		c := inMemory(t, p)
		for id := range uint64(streamable.MaxPosts) {
			send(t, c, call(id, "slow"))
		}
		if err := c.Send(t.Context(), call(999, "slow")); !errors.Is(err, transport.ErrSlowConsumer) {
			t.Errorf("request: got %v, want %v", err, transport.ErrSlowConsumer)
		}
		for range streamable.MaxNotices - 1 { // requests do not block notices
			send(t, c, jsonrpc.Notification("n", nil))
		}
		send(t, c, jsonrpc.Notification("notifications/cancelled", []byte(`{"requestId":3}`)))
		synctest.Wait()
		if err := c.Send(t.Context(), jsonrpc.Notification("n", nil)); !errors.Is(err,
			transport.ErrSlowConsumer) {
			t.Errorf("notice: got %v, want %v", err, transport.ErrSlowConsumer)
		}
		close(full)
		synctest.Wait()
		send(t, c, call(1000, "slow")) // in the place of the cancelled request
	})
}
