package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"mcpd/internal/clock"
	"mcpd/transport/streamable"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer writes the reply to one tools/call with the given id and message.
type answer func(w http.ResponseWriter, id, message string)

func result(id, text string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":` +
		quote(text) + `}]}}`
}

func asJSON(body func(id, message string) string) answer {
	return func(w http.ResponseWriter, id, message string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body(id, message))
	}
}

func asEvents(events func(id, message string) []string) answer {
	return func(w http.ResponseWriter, id, message string) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		fmt.Fprint(w, "id: 1\nretry: 10\ndata:\n\n: comment\n\n")
		for _, e := range events(id, message) {
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", e)
		}
	}
}

// server is the smallest server that a Session can talk to. It checks the required parts of every
// request.
func server(t *testing.T, call answer) string {
	deleted := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("%s: authorization %q", r.Method, got)
		}
		var m struct {
			ID     jsontext.Value
			Method string
			Params struct {
				Name      string
				Arguments struct{ Message string }
			}
		}
		if r.Method == http.MethodPost {
			if err := json.UnmarshalRead(r.Body, &m, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Errorf("request: %v", err)
			}
		}
		if m.Method != "initialize" &&
			(r.Header.Get("Mcp-Session-Id") != "s1" ||
				r.Header.Get("Mcp-Protocol-Version") != "2025-11-25") {
			t.Errorf("%s %s: headers %v", r.Method, m.Method, r.Header)
		}
		switch {
		case r.Method == http.MethodDelete:
			deleted = true
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s1")
			asJSON(func(id, _ string) string {
				return `{"jsonrpc":"2.0","id":` + id + `,"result":{"protocolVersion":"2025-11-25"}}`
			})(w, string(m.ID), "")
		case m.Method == "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "tools/call" && m.Params.Name == "echo":
			call(w, string(m.ID), m.Params.Arguments.Message)
		default:
			t.Errorf("unexpected %s %s", r.Method, m.Method)
		}
	}))
	t.Cleanup(func() {
		s.Close()
		if !deleted {
			t.Error("session was not ended")
		}
	})
	return s.URL
}

func connect(t *testing.T, o SessionOptions) *Session {
	o.Key, o.Tool, o.Argument = "secret", "echo", "message"
	s, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestSessionReadsEveryKindOfReply(t *testing.T) {
	progress := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	tests := []struct {
		name string
		call answer
		err  string // "" for the call's own nonce
	}{
		{"json", asJSON(result), ""},
		{"with words before it", asJSON(func(id, m string) string { return result(id, "Echo: "+m) }), ""},
		{"events", asEvents(func(id, m string) []string {
			return []string{progress, result(id, m)}
		}), ""},
		{"two results", asEvents(func(id, m string) []string {
			return []string{result(id, m), result(id, m)}
		}), ErrDuplicate.Error()},
		{"no result", asEvents(func(string, string) []string {
			return []string{progress}
		}), ErrNoReply.Error()},
		{"another request's result", asJSON(func(_, m string) string {
			return result("99", m)
		}), ErrNoReply.Error()},
		{"error", asJSON(func(id, _ string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32602,"message":"unknown tool"}}`
		}), "error -32602: unknown tool"},
		{"tool error", asJSON(func(id, _ string) string {
			return `{"jsonrpc":"2.0","id":` + id +
				`,"result":{"isError":true,"content":[{"type":"text","text":"no"}]}}`
		}), "the tool failed: no"},
		{"status", func(w http.ResponseWriter, _, _ string) {
			w.WriteHeader(http.StatusTooManyRequests)
		}, "http status 429"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := connect(t, SessionOptions{URL: server(t, test.call)})
			got, err := s.Call(t.Context(), "n1-1")
			if (err == nil) != (test.err == "") || (err != nil && err.Error() != test.err) {
				t.Fatalf("error = %v, want %q", err, test.err)
			}
			if (err == nil || errors.Is(err, ErrDuplicate)) && got != "n1-1" {
				t.Errorf("nonce = %q, want n1-1", got)
			}
		})
	}
}

// A run over real connections, where every request of every session carries the id 1.
func TestRunOverSessionsThatShareOneID(t *testing.T) {
	url := server(t, func(w http.ResponseWriter, id, message string) {
		if id != "1" {
			t.Errorf("id = %s", id)
		}
		asJSON(result)(w, id, message)
	})
	clients := make([]Client, 3)
	for i := range clients {
		clients[i] = connect(t, SessionOptions{URL: url, SameID: true})
	}
	r, err := Run(t.Context(), clients, Options{
		Clock: clock.System, Workers: 6, Calls: 300, For: time.Minute, Timeout: 10 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Clean() || r.Counts.OK != 300 {
		t.Errorf("counts = %+v, errors %v", r.Counts, r.Errors)
	}
}

func TestConnectSaysWhy(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	_, err := Connect(t.Context(), SessionOptions{URL: s.URL})
	if want := "session with " + s.URL + ": http status 404: 404 page not found"; err == nil ||
		err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func TestEventsAreBounded(t *testing.T) {
	long := strings.NewReader("data: " + strings.Repeat("x", maxReply/2) + "\ndata: " +
		strings.Repeat("x", maxReply/2) + "\n\n")
	err := EachEvent(long, func(string, []byte) error { return nil })
	if err == nil {
		t.Error("an event beyond the bound was accepted")
	}
}

// No call fails because the host closes its connection after a long idle time.
func TestIdleConnectionsAreGivenUpBeforeTheHostDoes(t *testing.T) {
	if idleTime >= streamable.DefaultHeaderTime/2 {
		t.Errorf("they may idle for %s, and the host waits %s, less whatever stops it", idleTime,
			streamable.DefaultHeaderTime)
	}
}
