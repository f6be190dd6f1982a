package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"mcpd/gateway/tenant"
)

// A client that does not read standard error still receives its outcomes.
func TestJoinDoesNotWaitForItsLog(t *testing.T) {
	unread, log := io.Pipe() // Each Write blocks until a Read.
	defer unread.Close()
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n")
	var out strings.Builder
	ended := make(chan error, 1)
	go func() { // owner: the test, which waits for the result
		ended <- join(t.Context(), in, &out, log, "http://127.0.0.1:1", tenant.Route{Tenant: "default"})
	}()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(out.String(), `"id":1,"error":`) {
			t.Errorf("ended with %v after %q", err, out.String())
		}
	case <-time.After(5 * time.Second):
		t.Fatal("it waits for its log")
	}
}

// The last lines are written after the client has gone. Lines that do not fit are dropped.
func TestJoinLogIsBounded(t *testing.T) {
	var text strings.Builder
	release := make(chan struct{})
	q := newLogQueue(writerFunc(func(p []byte) (int, error) {
		<-release
		return text.Write(p)
	}))
	for range 3 * maxLogLines {
		io.WriteString(q, "line\n")
	}
	close(release)
	q.close()
	if n := strings.Count(text.String(), "line\n"); n < maxLogLines || n > maxLogLines+1 {
		t.Errorf("%d lines were written, want those of the queue, %d", n, maxLogLines)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
