package supervisor

import (
	"context"
	"errors"
	"testing"
	"time"

	"mcpd/telemetry"
)

// A client that has connected is answered, although its first request comes when the drain is over.
func TestFirstRequestIsAnsweredInADrain(t *testing.T) {
	var told []telemetry.Event
	l := draining(t, func() time.Duration { return time.Hour }, &told)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx) }()
	c := newCaller(t, l)
	for l.fresh.count.Load() == 0 {
		pause(time.Millisecond)
	}
	stop()
	pause(settle + farewell)
	if r := c.ask(); !r.Close {
		t.Error("the answer does not end the connection")
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := l.fresh.count.Load(); n != 0 {
		t.Errorf("%d connections are counted after the end", n)
	}
}

// A client that says nothing prolongs a drain by newcomerTime, and no more.
func TestSilentConnectionHoldsUpNoDrain(t *testing.T) {
	var told []telemetry.Event
	l := draining(t, func() time.Duration { return time.Hour }, &told)
	l.budget = 6 * time.Second
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx) }()
	newCaller(t, l)
	for l.fresh.count.Load() == 0 {
		pause(time.Millisecond)
	}
	stop()
	began := time.Now()
	<-ended
	if took := time.Since(began); took > 3*newcomerTime {
		t.Errorf("the drain took %v", took)
	}
}
