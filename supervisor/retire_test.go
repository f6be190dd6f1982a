package supervisor

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/telemetry"
)

// A client that has connected is answered, even if its first request comes when the drain is over.
func TestFirstRequestIsAnsweredInADrain(t *testing.T) {
	var told []telemetry.Event
	l := draining(t, func() time.Duration { return time.Hour }, &told)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx) }()
	c := newCaller(t, l)
	for l.connections.Open() == 0 {
		pause(time.Millisecond)
	}
	stop()
	pause(quietBeforeEnd + partingNotice)
	if r := c.ask(); !r.Close {
		t.Error("the answer does not end the connection")
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := l.connections.Open(); n != 0 {
		t.Errorf("%d connections are counted after the end", n)
	}
}

// A client that pauses between two requests for less than quietTime learns from an answer that its
// connection ends, although the drain has been over for a while. No request crosses with the end.
func TestPausingClientIsToldThatItsConnectionEnds(t *testing.T) {
	for try := range 20 {
		var told []telemetry.Event
		l := draining(t, func() time.Duration { return time.Hour }, &told)
		l.handover.wants = true // this drain is over as soon as nothing is in flight
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Serve(ctx) }()
		c := newCaller(t, l)
		c.ask()
		asked := time.Now()
		stop()
		pause(partingNotice + 2*lookEvery)
		again, err := c.try()
		if time.Since(asked) >= quietTime {
			<-ended
			t.Logf("attempt %d: this machine was too slow, the client paused for longer", try)
			continue
		}
		if err != nil {
			t.Fatalf("the request after a pause of %v: %v", time.Since(asked), err)
		}
		if !again.Close {
			t.Error("the answer does not end the connection")
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		return
	}
	t.Fatal("no attempt was in time")
}

// When a client learns that its connection ends, its other idle connections are closed already.
// Otherwise it would send its next request over one of them while the host closes it.
func TestKeptConnectionsEndBeforeTheOneInUse(t *testing.T) {
	var told []telemetry.Event
	l := draining(t, func() time.Duration { return 0 }, &told)
	l.handover.wants = true // every answer ends its connection from the beginning
	l.budget = 6 * time.Second
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx) }()
	kept, used := newCaller(t, l), newCaller(t, l)
	kept.ask()
	pause(quietTime)
	used.ask()
	stop()
	for !used.ask().Close {
		pause(time.Millisecond)
	}
	if err := kept.conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(kept.answers); err != nil ||
		!strings.HasPrefix(string(rest), "HTTP/1.1 408 ") {
		t.Errorf("a connection that the client has kept: %v after %q, want a refusal and its end", err,
			rest)
	}
	<-ended
}

// A connection whose stream the drain has ended announces its own end with the next answer. The
// client may have waited for a free connection, and uses this one.
func TestRequestAfterAStreamIsAnswered(t *testing.T) {
	var told []telemetry.Event
	l := draining(t, func() time.Duration { return time.Hour }, &told)
	drained, begun := make(chan struct{}), make(chan struct{})
	var once sync.Once
	l.endStreams = func() { once.Do(func() { close(drained) }) }
	l.server.RegisterOnShutdown(l.endStreams)
	answers := l.server.Handler
	l.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/stream" {
			answers.ServeHTTP(w, r)
			return
		}
		_ = http.NewResponseController(w).Flush()
		close(begun)
		<-drained
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx) }()
	c := newCaller(t, l)
	if _, err := c.conn.Write([]byte("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	stop()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		t.Errorf("the stream ends with %v", err)
	}
	if r := c.ask(); !r.Close {
		t.Error("the answer does not end the connection")
	}
	<-ended
}

// A client that sends nothing prolongs a drain by minConnectionAge at most.
func TestSilentConnectionHoldsUpNoDrain(t *testing.T) {
	var told []telemetry.Event
	l := draining(t, func() time.Duration { return time.Hour }, &told)
	l.budget = 6 * time.Second
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx) }()
	newCaller(t, l)
	for l.connections.Open() == 0 {
		pause(time.Millisecond)
	}
	stop()
	began := time.Now()
	<-ended
	if took := time.Since(began); took > 3*minConnectionAge {
		t.Errorf("the drain took %v", took)
	}
}
