package streamable_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// The bytes of a message count until the server begins to answer it, and no longer. This also holds
// if the message is cancelled, the server fails, or the connection ends.
func TestClientCountsWhatWaits(t *testing.T) {
	params := jsontext.Value(`{"p":"` + strings.Repeat("x", 100_000) + `"}`)
	large := jsonrpc.Request(jsonrpc.IntID(1), "x", params)
	size := int64(len(large.Append(nil)))
	cancelled := jsonrpc.Notification("notifications/cancelled", jsontext.Value(`{"requestId":1}`))
	for _, c := range []struct {
		name string
		post http.HandlerFunc
		ends func(c *streamable.Client)
	}{
		{"answered", func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w, jsonrpc.Response(jsonrpc.IntID(1), nil))
		}, nil},
		{"a stream begins", func(w http.ResponseWriter, r *http.Request) {
			stream(w, ": begun")
			<-r.Context().Done()
		}, nil},
		{"refused", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		}, nil},
		{"broken off", func(w http.ResponseWriter, _ *http.Request) {
			w.(*memoryWriter).dropped = true
		}, nil},
		{"cancelled", nil, func(c *streamable.Client) { _ = c.Send(context.Background(), cancelled) }},
		{"closed", nil, func(c *streamable.Client) { _ = c.Close(context.Background()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer()
				release := make(chan struct{})
				p.posts["x"] = func(w http.ResponseWriter, r *http.Request, _ jsonrpc.Message) {
					select {
					case <-release:
						c.post(w, r)
					case <-r.Context().Done():
					}
				}
				var waits atomic.Int64
				o := streamable.ClientOptions{URL: "http://peer/mcp", Transport: memory{p.ServeHTTP},
					Queued: func(n int) {
						waits.Add(int64(n))
					}}
				client := newTestClient(t, o)
				shake(t, client, protocol.V20251125)
				synctest.Wait()
				if got := waits.Load(); got != 0 {
					t.Errorf("%d bytes count after the handshake", got)
				}
				send(t, client, large)
				synctest.Wait()
				if got := waits.Load(); got != size {
					t.Errorf("%d bytes count, want %d", got, size)
				}
				if c.post != nil {
					close(release)
				} else {
					c.ends(client)
				}
				synctest.Wait()
				if got := waits.Load(); got != 0 {
					t.Errorf("%d bytes count in the end", got)
				}
			})
		})
	}
}
