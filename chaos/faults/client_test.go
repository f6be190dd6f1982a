package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// careless is a host that answers every request with the same text, whatever it asks, and every GET
// with a stream.
func careless(t *testing.T) string {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Mcp-Session-Id", "1")
		switch {
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: 0123456789abcdef.g1.0\ndata: \n\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			// the server does not notice that a client leaves after it has sent more bytes on the connection
			case <-over:
			}
		case strings.Contains(string(body), "notifications/"):
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(
				w,
				`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","content":[{"type":"text","text":"another's"}]}}`,
			)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	return server.URL + "/mcp"
}

// Every violation of the protocol is reported, however often the fault has struck: the answer of
// another call, one stream in place of another, an array that is accepted, a client that is kept
// although it is gone.
func TestWrongHostsAreFoundOut(t *testing.T) {
	url := careless(t)
	for _, c := range []struct {
		kind Kind
		with Values
		text string
	}{
		{clientSameID, Values{"clients": 2}, `of id 1 was answered with "another's"`},
		{clientCancel, Values{"clients": 1}, "call "},
		{clientResume, Values{"clients": 1}, "which is another session's"},
		{clientBatch, Values{"clients": 1, "every": time.Millisecond},
			"http status 200 with 1 answers, want"},
		{clientHalfOpen, Values{"clients": 1, "freed": 50 * time.Millisecond},
			"is still there after 50ms"},
	} {
		t.Run(c.kind.Name, func(t *testing.T) {
			t.Parallel()
			in, err := c.kind.Inject(t.Context(), atClient(c.kind, url, c.with))
			if err != nil {
				t.Fatal(err)
			}
			var wrong error
			until(t, "what is wrong", func() bool { _, wrong = in.Hits(t.Context()); return wrong != nil })
			if err := in.Heal(t.Context()); err != nil && !errors.Is(err, errViolation) {
				t.Errorf("heal: %v", err)
			}
			if !errors.Is(wrong, errViolation) || !strings.Contains(wrong.Error(), c.text) {
				t.Errorf("%v, want %q", wrong, c.text)
			}
		})
	}
}

// A call gets its own answer exactly once. A call that may have been cancelled in time may get
// none.
func TestSettledCalls(t *testing.T) {
	text := func(id, s string) answered {
		m := answered{ID: []byte(id)}
		m.Result.Content = append(m.Result.Content, struct {
			Text string `json:"text"`
		}{s})
		return m
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	own := text("7", "race-7")
	for _, c := range []struct {
		name      string
		ctx       context.Context
		a         answer
		cancelled bool
		err       error
		wrong     bool
	}{
		{"its own", t.Context(), answer{200, []answered{own}}, false, nil, false},
		{"its own, too late to be cancelled", t.Context(), answer{200, []answered{own}}, true,
			nil, false},
		{"none, cancelled", t.Context(), answer{status: 200}, true, nil, false},
		{"none", t.Context(), answer{status: 200}, false, nil, true},
		{"twice", t.Context(), answer{200, []answered{own, own}}, true, nil, true},
		{"another's id", t.Context(), answer{200, []answered{text("8", "race-7")}}, true, nil, true},
		{"another's text", t.Context(), answer{200, []answered{text("7", "race-8")}}, true, nil, true},
		{"a refusal", t.Context(), answer{status: 503}, false, nil, false},
		{"a broken connection", t.Context(), answer{}, false, io.ErrUnexpectedEOF, false},
		{"nothing in time", over, answer{}, true, over.Err(), true},
	} {
		if _, err := settle(c.ctx, c.a, "7", "race-7", c.cancelled, c.err); errors.Is(err,
			errViolation) != c.wrong {
			t.Errorf("%s: %v, wrong: %t", c.name, err, c.wrong)
		}
	}
}

// Clients that return keep their sessions until the fault is over. The time until the last client
// is back is measured.
func TestReturnsAreMeasured(t *testing.T) {
	url := careless(t)
	in, err := clientReturn.Inject(t.Context(), atClient(clientReturn, url, Values{
		"clients": 3, "every": 100 * time.Millisecond,
	}))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "what is wrong", func() bool { _, err = in.Hits(t.Context()); return err != nil })
	if !strings.Contains(err.Error(), `answered with "another's"`) {
		t.Errorf("%v", err)
	}
	if err := in.Heal(t.Context()); err != nil && !errors.Is(err, errViolation) {
		t.Fatal(err)
	}
	if took := in.Figures()["return_s"]; len(took) == 0 || took[0] <= 0 {
		t.Errorf("measured %v", took)
	}
}
