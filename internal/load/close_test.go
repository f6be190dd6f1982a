package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// If the host refuses to end a session now, Close tries again, and gives up when its time is over.
func TestCloseIsTriedAgainWhenItIsRefused(t *testing.T) {
	for _, test := range []struct {
		name    string
		status  int
		refused int64
		within  time.Duration
		want    error
	}{
		{"soon", http.StatusTooManyRequests, 2, time.Minute, nil},
		{"paused", http.StatusServiceUnavailable, 2, time.Minute, nil},
		{"crashed", http.StatusInternalServerError, 1, time.Minute, nil},
		{"never", http.StatusTooManyRequests, 1 << 40, 3 * closePause / 2, context.DeadlineExceeded},
		{"gone", http.StatusNotFound, 0, time.Minute, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var ends atomic.Int64
			host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodDelete && ends.Add(1) <= test.refused:
					w.WriteHeader(test.status)
				case r.Method == http.MethodDelete && test.refused == 0:
					w.WriteHeader(test.status)
				case r.Method == http.MethodDelete:
					w.WriteHeader(http.StatusNoContent)
				default:
					opens(w)
				}
			}))
			defer host.Close()
			s, err := Connect(t.Context(), SessionOptions{URL: host.URL, Tool: "echo", Argument: "message"})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), test.within)
			defer cancel()
			if err := s.Close(ctx); !errors.Is(err, test.want) ||
				test.want == nil && ends.Load() != test.refused+1 {
				t.Errorf("%v after %d requests", err, ends.Load())
			}
		})
	}
}

func opens(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Mcp-Session-Id", "a")
	fmt.Fprint(
		w,
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`,
	)
}

// A session whose handshake fails after the session was opened is ended.
func TestSessionWhoseHandshakeFailsIsEnded(t *testing.T) {
	var ended atomic.Int64
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method == http.MethodDelete:
			ended.Add(1)
		case strings.Contains(string(body), "initialized"):
			panic(http.ErrAbortHandler)
		default:
			opens(w)
		}
	}))
	defer host.Close()
	if _, err := Connect(t.Context(), SessionOptions{URL: host.URL}); err == nil || ended.Load() != 1 {
		t.Errorf("%v, ended %d times", err, ended.Load())
	}
}
