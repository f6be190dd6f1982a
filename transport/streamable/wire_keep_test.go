package streamable

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestKeptFor(t *testing.T) {
	for _, tt := range []struct {
		fields []string
		want   time.Duration
	}{
		{nil, 4 * time.Second}, // Node.js and uvicorn close theirs after 5 s and need not say so
		{[]string{"timeout=5"}, 4 * time.Second},
		{[]string{"max=100, Timeout = 5"}, 4 * time.Second},
		{[]string{"max=100", `timeout="7"`}, 6 * time.Second},
		{[]string{"timeout=1"}, 0},
		{[]string{"timeout=0"}, 0},
		{[]string{"timeout=60"}, 50 * time.Second},
		{[]string{"timeout=600"}, maxIdleKept},
		{[]string{"timeout=-5"}, idleKept},
		{[]string{"timeout=99999999999999999999"}, idleKept},
		{[]string{"5"}, idleKept},
	} {
		if got := keptFor(http.Header{"Keep-Alive": tt.fields}); got != tt.want {
			t.Errorf("%q: got %v, want %v", tt.fields, got, tt.want)
		}
	}
}

// A connection is not reused when its server is about to close it. It is unknown if a request that
// crosses with the close was executed.
func TestWireIsGivenUpBeforeItsServerClosesIt(t *testing.T) {
	for field, want := range map[string]int32{"": 1, "Keep-Alive: timeout=5\r\n": 1,
		"Keep-Alive: timeout=1\r\n": 2} {
		answer := strings.Replace(okay, "Content-Length", field+"Content-Length", 1)
		url, connections := script(t, answer, answer)
		w := newWired(t)
		for range 2 {
			resp, err := post(t, t.Context(), w, url, "{}")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.ReadAll(resp.Body) // the connection is free with its end
		}
		if got := connections.Load(); got != want {
			t.Errorf("%q: %d connections, want %d", field, got, want)
		}
	}
}
