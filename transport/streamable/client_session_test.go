package streamable_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// A session that its client has left is not ended. Another client continues it with its id, and
// opens a standalone stream before the first request. A client that takes a session and is closed
// ends it.
func TestSessionOutlivesItsClient(t *testing.T) {
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got = append(got, r.Method+" "+r.Header.Get("Mcp-Session-Id")+" "+
			r.Header.Get("Mcp-Protocol-Version"))
		mu.Unlock()
		switch r.Method {
		case http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case http.MethodPost:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
		}
	}))
	defer server.Close()
	requests := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), got...)
	}
	open := func() *streamable.Client {
		c, err := streamable.NewClient(streamable.ClientOptions{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		c.Negotiated(protocol.V20251125)
		return c
	}
	c := open()
	if id := c.Leave(); id != "" {
		t.Errorf("left %q before there is a session", id)
	}
	c.Take("secret")
	if id := c.Leave(); id != "secret" {
		t.Errorf("left %q", id)
	}
	if err := c.Close(t.Context()); err != nil || len(requests()) != 0 {
		t.Errorf("%v, sent %v", err, requests())
	}

	c = open()
	c.Resume("secret")
	if err := c.Send(t.Context(), jsonrpc.Request(jsonrpc.IntID(1), "tools/list", nil)); err != nil {
		t.Fatal(err)
	}
	for answered := false; !answered; {
		in, err := c.Recv(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		answered = in.Message.ID == jsonrpc.IntID(1)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	want := []string{"GET secret 2025-11-25", "POST secret 2025-11-25", "DELETE secret 2025-11-25"}
	for deadline := time.Now().Add(5 * time.Second); len(requests()) < len(want) &&
		time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	for i, line := range requests() {
		if i >= len(want) || line != want[i] {
			t.Fatalf("sent %v, want %v", requests(), want)
		}
	}
}

// rotating is a server that returns another session id with each response to a POST, and accepts
// only the last id.
func rotating(p *peer) http.HandlerFunc {
	var mu sync.Mutex
	last := 0
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != http.MethodPost {
			p.ServeHTTP(w, r)
			return
		}
		if id := r.Header.Get("Mcp-Session-Id"); last > 0 && id != fmt.Sprint("r", last) {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		last++
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("r", last))
		p.ServeHTTP(w, r)
	}
}

// A session id of a later response replaces the previous one. A request that was in flight during
// the replacement is repeated.
func TestClientTakesANewSessionID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		p.posts["initialize"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			answerJSON(w, jsonrpc.Response(m.ID, nil))
		}
		p.posts["x"] = p.posts["initialize"]
		c := newTestClient(t, streamable.ClientOptions{
			URL: "http://peer/mcp", Transport: memory{rotating(p)},
		})
		shake(t, c, protocol.V20251125)
		send(t, c, jsonrpc.Notification("notifications/initialized", nil))
		expect(t, c, "streamable.StandaloneState{Open:false Gap:false Err:<nil>}")
		const most = 4
		for id := range uint64(most) {
			send(t, c, call(id, "x"))
		}
		for range most {
			if in := recv(t, c); in.Err != nil {
				t.Errorf("got %s", show(in))
			}
		}
		send(t, c, jsonrpc.Notification("notifications/progress", nil), call(9, "x"))
		expect(t, c, `9: {"jsonrpc":"2.0","id":9,"result":{}}`)
	})
}

// Requests to a server that rejects all of its own session ids are not repeated for ever: the
// session is lost, so that a new one can begin.
func TestClientGivesUpNewSessionIDs(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest} {
		synctest.Test(t, func(t *testing.T) {
			p, n := newPeer(), 0
			refuse := func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
				n++
				w.Header().Set("Mcp-Session-Id", fmt.Sprint("n", n))
				w.WriteHeader(status)
			}
			p.posts["x"] = refuse
			p.forget(refuse)
			c := inMemory(t, p)
			shake(t, c, protocol.V20251125)
			send(t, c, call(1, "x"))
			in := recv(t, c)
			if !errors.Is(in.Err, streamable.ErrSessionLost) || in.Written || n > 5+streamable.MaxStale {
				t.Errorf("%d: got %s after %d requests", status, show(in), n)
			}
		})
	}
}

// A rotating server that refuses a request has not lost its session. Its next id arrives with its
// answer to a ping.
func TestRefusalOfARotatingServerLosesNoSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		p.posts["initialize"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			answerJSON(w, jsonrpc.Response(m.ID, nil))
		}
		p.posts["ping"], p.posts["x"] = p.posts["initialize"], p.posts["initialize"]
		p.posts["bad"] = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
			w.WriteHeader(http.StatusBadRequest)
		}
		c := newTestClient(t, streamable.ClientOptions{
			URL: "http://peer/mcp", Transport: memory{rotating(p)},
		})
		shake(t, c, protocol.V20251125)
		send(t, c, call(1, "bad"))
		if in := recv(t, c); in.Err == nil || errors.Is(in.Err, streamable.ErrSessionLost) {
			t.Errorf("got %s", show(in))
		}
		send(t, c, call(2, "x"))
		expect(t, c, `2: {"jsonrpc":"2.0","id":2,"result":{}}`)
	})
}

func TestClientRefusesASessionIDItCouldNotSend(t *testing.T) {
	for _, id := range []string{"a\x7f", strings.Repeat("x", 5000)} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer()
			p.posts["initialize"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
				w.Header()["Mcp-Session-Id"] = []string{id}
				answerJSON(w, jsonrpc.Response(m.ID, nil))
			}
			c := inMemory(t, p)
			send(t, c, call(1, "initialize"))
			if in := recv(t, c); in.Err == nil || !strings.Contains(in.Err.Error(), "session id") {
				t.Errorf("%.20q: got %s", id, show(in))
			}
		})
	}
}

// A session id that violates the specification is sent back. An empty id means no session.
func TestClientSendsOddSessionIDsBack(t *testing.T) {
	for _, id := range []string{"", "a b", "\xe4"} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer()
			p.posts["initialize"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
				w.Header()["Mcp-Session-Id"] = []string{id}
				answerJSON(w, jsonrpc.Response(m.ID, nil))
			}
			p.posts["x"] = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
				answerJSON(w, jsonrpc.Response(m.ID,
					jsontext.Value(strconv.Itoa(len(r.Header.Get("Mcp-Session-Id"))))))
			}
			c := inMemory(t, p)
			send(t, c, call(1, "initialize"))
			recv(t, c)
			send(t, c, call(2, "x"))
			expect(t, c, fmt.Sprintf(`2: {"jsonrpc":"2.0","id":2,"result":%d}`, len(id)))
		})
	}
}

// Each initialize requests a new session. A session id of a refusal is not used.
func TestInitializeAsksForASessionAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		var seen []string
		p.posts["initialize"] = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			if seen = append(seen, r.Header.Get("Mcp-Session-Id")); len(seen) == 1 {
				w.Header().Set("Mcp-Session-Id", "refused")
				answerJSON(w, jsonrpc.Failure(m.ID, &jsonrpc.Error{Code: -32602, Message: "no"}))
				return
			}
			answerJSON(w, jsonrpc.Response(m.ID, nil))
		}
		p.posts["x"] = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			seen = append(seen, r.Header.Get("Mcp-Session-Id"))
			answerJSON(w, jsonrpc.Response(m.ID, nil))
		}
		c := inMemory(t, p)
		for id, method := range []string{"initialize", "initialize", "x"} {
			send(t, c, call(uint64(id+1), method))
			recv(t, c)
		}
		if want := []string{"", "", ""}; !slices.Equal(seen, want) {
			t.Errorf("sessions %q, want none", seen)
		}
	})
}

// session returns the session id of the last request with a method; "GET" for a stream.
func (p *peer) session(method string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.seen) - 1; i >= 0; i-- {
		if p.seen[i] == method {
			return p.all[i].Header.Get("Mcp-Session-Id")
		}
	}
	return ""
}

// A response that repeats the session id of its request, such as that of a slow call, does not
// restore an id that another response has replaced in the meantime.
func TestSlowResponseBringsNoOldSessionIDBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, slow := newPeer(), make(chan bool)
		repeat := func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			w.Header().Set("Mcp-Session-Id", r.Header.Get("Mcp-Session-Id"))
			answerJSON(w, jsonrpc.Response(m.ID, nil))
		}
		p.posts["slow"] = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			<-slow
			repeat(w, r, m)
		}
		p.posts["turn"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			w.Header().Set("Mcp-Session-Id", "s2")
			answerJSON(w, jsonrpc.Response(m.ID, nil))
		}
		p.posts["x"] = repeat
		c := inMemory(t, p)
		shake(t, c, protocol.V20251125)
		send(t, c, call(1, "slow"))
		synctest.Wait()
		send(t, c, call(2, "turn"))
		expect(t, c, `2: {"jsonrpc":"2.0","id":2,"result":{}}`)
		close(slow)
		expect(t, c, `1: {"jsonrpc":"2.0","id":1,"result":{}}`)
		send(t, c, call(3, "x"))
		expect(t, c, `3: {"jsonrpc":"2.0","id":3,"result":{}}`)
		if got := p.session("POST x"); got != "s2" {
			t.Errorf("the next request has the session id %q", got)
		}
	})
}

// A stream that is refused because its session id was replaced in the meantime is requested with
// the new id. So is a request whose refusal carries the new id. The session is not lost.
func TestReplacedSessionIDIsNoLostSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, late := newPeer(), make(chan bool)
		p.get = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Session-Id") == "s1" {
				<-late
				w.WriteHeader(http.StatusNotFound)
				return
			}
			stream(w, ": hello")
			<-r.Context().Done()
		}
		p.posts["turn"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			w.Header().Set("Mcp-Session-Id", "s2")
			answerJSON(w, jsonrpc.Response(m.ID, nil))
		}
		p.posts["late"] = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			if r.Header.Get("Mcp-Session-Id") == "s2" {
				answerJSON(w, jsonrpc.Response(m.ID, nil))
				return
			}
			<-late
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			gone := jsonrpc.Failure(m.ID, &jsonrpc.Error{Code: -32001, Message: "Session not found"})
			_, _ = w.Write(gone.Append(nil))
		}
		c := inMemory(t, p)
		shake(t, c, protocol.V20251125)
		send(t, c, jsonrpc.Notification("notifications/initialized", nil), call(1, "late"))
		time.Sleep(2 * time.Second) // requests wait a moment for the stream
		send(t, c, call(2, "turn"))
		expect(t, c, `2: {"jsonrpc":"2.0","id":2,"result":{}}`)
		late <- true
		late <- true
		got := []string{show(recv(t, c)), show(recv(t, c))}
		slices.Sort(got)
		want := []string{
			`1: {"jsonrpc":"2.0","id":1,"result":{}}`,
			"streamable.StandaloneState{Open:true Gap:false Err:<nil>}",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
