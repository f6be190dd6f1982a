package streamable_test

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// A request reaches the server after the preceding notification, even if the server is slow to
// accept that. A server that never accepts it delays the request by at most a second. A
// cancellation overtakes all.
func TestClientKeepsNotificationsInOrder(t *testing.T) {
	for name, slow := range map[string]time.Duration{"slow": 500 * time.Millisecond,
		"never": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer()
				var order []string
				took := func(method string) { p.mu.Lock(); order = append(order, method); p.mu.Unlock() }
				p.posts["notifications/own"] = func(w http.ResponseWriter, r *http.Request, _ jsonrpc.Message) {
					select {
					case <-time.After(slow):
						took("own")
					case <-r.Context().Done():
					}
					w.WriteHeader(http.StatusAccepted)
				}
				p.posts["notifications/cancelled"] = func(w http.ResponseWriter, _ *http.Request,
					_ jsonrpc.Message) {
					took("cancelled")
					w.WriteHeader(http.StatusAccepted)
				}
				p.posts["x"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
					took("x")
					answerJSON(w, jsonrpc.Response(m.ID, nil))
				}
				c := newTestClient(t, streamable.ClientOptions{
					URL: "http://peer/mcp", Transport: memory{p.ServeHTTP},
				})
				start := time.Now()
				send(t, c, jsonrpc.Notification("notifications/own", nil), call(1, "x"),
					jsonrpc.Notification("notifications/cancelled", nil))
				if in := recv(t, c); in.Err != nil {
					t.Fatal(in.Err)
				}
				want, at := []string{"cancelled", "own", "x"}, slow
				if name == "never" {
					want, at = []string{"cancelled", "x"}, time.Second
				}
				p.mu.Lock()
				defer p.mu.Unlock()
				if !slices.Equal(order, want) || time.Since(start) != at {
					t.Errorf("after %v the server has %q, want %q after %v", time.Since(start), order, want, at)
				}
			})
		})
	}
}

// Nothing overtakes notifications/initialized, although POSTs are sent concurrently.
func TestClientHoldsBackUntilInitializedHasArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		release := make(chan struct{})
		p.posts["notifications/initialized"] = func(w http.ResponseWriter, _ *http.Request,
			_ jsonrpc.Message) {
			<-release
			w.WriteHeader(http.StatusAccepted)
		}
		p.posts["tools/list"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			answerJSON(w, jsonrpc.Response(m.ID, nil))
		}
		c := inMemory(t, p)
		shake(t, c, protocol.V20251125)
		send(t, c, jsonrpc.Notification("notifications/initialized", nil), call(1, "tools/list"),
			jsonrpc.Notification("n", nil))
		synctest.Wait()
		if got := p.saw(); !slices.Equal(got,
			[]string{"POST initialize", "POST notifications/initialized"}) {
			t.Errorf("before: got %q", got)
		}
		close(release)
		synctest.Wait()
		got := p.saw()[2:]
		slices.Sort(got)
		if !slices.Equal(got, []string{"GET", "POST n", "POST tools/list"}) {
			t.Errorf("after: got %q", got)
		}
	})
}

// A server may ask a question on the standalone stream as soon as it has a request. The client
// therefore opens the stream first, but it does not wait for the stream without limit.
func TestClientHoldsBackUntilTheStandingStreamIsThere(t *testing.T) {
	for name, answered := range map[string]time.Duration{"at once": 0, "soon": 300 * time.Millisecond,
		"never": time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer()
			p.get = func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-time.After(answered):
				case <-r.Context().Done():
				}
				stream(w, ": quiet")
				<-r.Context().Done()
			}
			var got time.Duration
			start := time.Now()
			p.posts["tools/list"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
				got = time.Since(start)
				answerJSON(w, jsonrpc.Response(m.ID, nil))
			}
			c := inMemory(t, p)
			initialized(t, c)
			send(t, c, call(1, "tools/list"))
			for recv(t, c).Control != nil {
			}
			if want := min(answered, time.Second); got != want {
				t.Errorf("%s: sent after %v, want %v", name, got, want)
			}
		})
	}
}
