package streamable_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// A large answer of any form waits for room, and keeps it until it was processed, that is until the
// next call of Recv. A small answer does not wait.
func TestLargeAnswersWaitForRoom(t *testing.T) {
	large := jsontext.Value(`"` + strings.Repeat("x", 3*transport.Large) + `"`)
	for name, answer := range map[string]func(w http.ResponseWriter, m jsonrpc.Message){
		"JSON": answerJSON,
		"an error": func(w http.ResponseWriter, m jsonrpc.Message) {
			answerJSON(w, jsonrpc.Failure(m.ID, &jsonrpc.Error{Code: 1, Message: "m", Data: m.Result}))
		},
		"stream": func(w http.ResponseWriter, m jsonrpc.Message) { stream(w, data(m)) },
		"lines of a stream": func(w http.ResponseWriter, m jsonrpc.Message) {
			stream(w, "data: "+strings.ReplaceAll(string(m.Append(nil)), `"result":`,
				"\"result\":\ndata: "+strings.Repeat(strings.Repeat(" ", transport.Large/2)+"\ndata: ", 4)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer()
				p.posts["large"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
					answer(w, jsonrpc.Response(m.ID, large))
				}
				p.posts["small"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
					answerJSON(w, jsonrpc.Response(m.ID, jsontext.Value("1")))
				}
				budget := transport.NewByteBudget(10)
				budget.Add(1)
				c := newTestClient(t, streamable.ClientOptions{
					URL: "http://peer/mcp", Transport: memory{p.ServeHTTP}, Room: budget,
				})
				shake(t, c, protocol.V20251125)
				send(t, c, call(1, "large"))
				synctest.Wait()
				send(t, c, call(2, "small"))
				expect(t, c, `2: {"jsonrpc":"2.0","id":2,"result":1}`)
				budget.Add(-1)
				if in := recv(t, c); in.Err != nil || in.Message.Size() < len(large) {
					t.Errorf("got %.100s", show(in))
				}
				synctest.Wait()
				if now, _ := budget.Used(); now < len(large) {
					t.Errorf("%d bytes of room are taken while it is handled", now)
				}
				handled(t, c)
				synctest.Wait()
				if now, most := budget.Used(); now != 0 || most < len(large) {
					t.Errorf("%d bytes of room are nobody's, and at most %d were taken", now, most)
				}
			})
		})
	}
}

// handled calls Recv when there is nothing to receive.
func handled(t *testing.T, c *streamable.Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if in, err := c.Recv(ctx); err == nil {
		t.Errorf("there is more: %s", show(in))
	}
}

// An answer reserves at most twice the bytes received so far, whatever its final size. An answer
// that stalls half-way reserves no more.
func TestAnswerCountsWhatHasCome(t *testing.T) {
	const came = 100_000
	for _, kind := range []string{"application/json", "text/event-stream"} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer()
			part := `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", came)
			rest := make(chan bool)
			p.posts["large"] = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
				w.Header().Set("Content-Type", kind)
				if kind == "text/event-stream" {
					part = "data: " + part
				}
				_, _ = w.Write([]byte(part))
				<-rest
				_, _ = w.Write([]byte("\"}\n\n"))
			}
			budget := transport.NewByteBudget(16 << 20)
			c := newTestClient(t, streamable.ClientOptions{
				URL: "http://peer/mcp", Transport: memory{p.ServeHTTP}, Room: budget,
			})
			shake(t, c, protocol.V20251125)
			send(t, c, call(1, "large"))
			synctest.Wait()
			if now, _ := budget.Used(); now < came || now > 2*came {
				t.Errorf("%s: room for %d bytes is taken, %d are there", kind, now, came)
			}
			close(rest)
			if in := recv(t, c); in.Err != nil || len(in.Message.Result) < came {
				t.Errorf("%s: got %.100s", kind, show(in))
			}
		})
	}
}

// A stream of HTTP+SSE that ends before it has stated the address for POSTs leaves no reservation.
func TestStreamWithoutEndpointLeavesNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOldPeer()
		p.first = "event: other\ndata: " + strings.Repeat("x", 3*transport.Large) + "\ndata: y"
		p.get = func(w http.ResponseWriter, _ *http.Request) { cutStream(p.first)(w) }
		budget := transport.NewByteBudget(16 << 20)
		c := newTestClient(t, streamable.ClientOptions{
			URL: "http://peer/sse", Transport: memory{p.ServeHTTP}, Dialect: streamable.NewDialect(true),
			Room: budget,
		})
		send(t, c, call(0, "initialize"))
		if _, err := c.Recv(t.Context()); err == nil {
			t.Error("there is where to post")
		}
		synctest.Wait()
		if now, most := budget.Used(); now != 0 || most == 0 {
			t.Errorf("%d bytes of room are taken after the end, %d at most", now, most)
		}
	})
}
