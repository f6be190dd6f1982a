package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// A session that the host has no time to end is ended later, and given up when there is none left.
func TestCloseIsTriedAgainWhenItIsTooMuch(t *testing.T) {
	for _, test := range []struct {
		name    string
		refused int64
		within  time.Duration
		want    error
	}{{"soon", 2, time.Minute, nil}, {"never", 1 << 40, 3 * closePause / 2, context.DeadlineExceeded}} {
		t.Run(test.name, func(t *testing.T) {
			var ends atomic.Int64
			host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodDelete && ends.Add(1) <= test.refused:
					w.WriteHeader(http.StatusTooManyRequests)
				case r.Method == http.MethodDelete:
					w.WriteHeader(http.StatusNoContent)
				default:
					w.Header().Set("Content-Type", "application/json")
					w.Header().Set("Mcp-Session-Id", "a")
					fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`)
				}
			}))
			defer host.Close()
			s, err := Connect(t.Context(), SessionOptions{URL: host.URL, Tool: "echo", Argument: "message"})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), test.within)
			defer cancel()
			if err := s.Close(ctx); !errors.Is(err, test.want) || test.want == nil && ends.Load() != test.refused+1 {
				t.Errorf("%v after %d requests", err, ends.Load())
			}
		})
	}
}
