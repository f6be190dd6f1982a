package streamable_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// A session that its client left is not ended, and another client goes on with it: with its id, and
// with a standing stream before the first request. One that is taken to be ended is ended.
func TestSessionOutlivesItsClient(t *testing.T) {
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got = append(got, r.Method+" "+r.Header.Get("Mcp-Session-Id")+" "+r.Header.Get("Mcp-Protocol-Version"))
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
	for deadline := time.Now().Add(5 * time.Second); len(requests()) < len(want) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	for i, line := range requests() {
		if i >= len(want) || line != want[i] {
			t.Fatalf("sent %v, want %v", requests(), want)
		}
	}
}
