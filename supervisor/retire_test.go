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
	for l.connections.Open() == 0 {
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
	if n := l.connections.Open(); n != 0 {
		t.Errorf("%d connections are counted after the end", n)
	}
}

// A client that pauses between two requests for less than quietTime is told with an answer that its
// connection ends, although the drain has been over for a while: nothing crosses with the end.
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
		pause(farewell + 2*lookEvery)
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

// A client that says nothing prolongs a drain by newcomerTime, and no more.
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
	if took := time.Since(began); took > 3*newcomerTime {
		t.Errorf("the drain took %v", took)
	}
}
