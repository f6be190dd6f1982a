package session

import (
	"sync"
	"sync/atomic"
	"testing"

	"mcpd/internal/clock"
	"mcpd/transport/streamable"
)

func idleHandle() *Handle {
	h := &Handle{
		streams: streamable.NewStore(streamable.StoreOptions{Clock: clock.System}).Streams("acme", "x"),
	}
	h.record.Store(&Record{})
	h.dormant.Store(true)
	return h
}

// A message that arrives before the eviction keeps its session; one that arrives later finds it
// closed. In a race between the two, both sides agree on the order.
func TestArrivalAndEvictionAgree(t *testing.T) {
	h := idleHandle()
	if !h.enter() || h.retire() || h.closed.Load() {
		t.Error("a session is ended while a message is on its way")
	}
	h.leave()
	if !h.retire() || h.enter() || !h.closed.Load() {
		t.Error("a session that is idle is kept, or takes a message after its end")
	}
	for range 2000 {
		h := idleHandle()
		var entered, retired atomic.Bool
		var both sync.WaitGroup
		both.Go(func() { entered.Store(h.enter()) })
		both.Go(func() { retired.Store(h.retire()) })
		both.Wait()
		if entered.Load() == retired.Load() {
			t.Fatalf("the message is taken: %t, the session is ended: %t", entered.Load(), retired.Load())
		}
	}
}
