package stdio

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// Programs are started no faster than the rate allows, however quickly they end. The waiting starts
// are counted, and can be cancelled.
func TestStartsHaveARate(t *testing.T) {
	s := NewSpawner(SpawnerOptions{Starting: 64})
	defer s.Close(context.Background())
	const every, burst, more = 100 * time.Millisecond, 3, 4
	s.turns.rate = rate{every: every, burst: burst}
	began := time.Now()
	var all sync.WaitGroup
	for range burst + more {
		all.Go(func() {
			c, err := s.Start(within(t), spec("quit"))
			if err != nil {
				t.Error(err)
				return
			}
			if err := c.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "the rest waits", func() bool { _, delayed := s.Waiting(); return delayed == more })
	ctx, cancel := context.WithCancel(t.Context())
	all.Go(func() {
		if _, err := s.Start(ctx, spec("quit")); !errors.Is(err, context.Canceled) {
			t.Errorf("a start that was given up: got %v, want %v", err, context.Canceled)
		}
	})
	eventually(t, "one more waits", func() bool {
		_, delayed := s.Waiting()
		return delayed == more+1
	})
	cancel()
	all.Wait()
	if took := time.Since(began); took < more*every {
		t.Errorf("%d programs were started within %s, want %s at least", burst+more, took, more*every)
	}
	if now, _ := s.Waiting(); now != 0 {
		t.Errorf("%d still wait", now)
	}
}

// A tenant whose servers crash in a loop does not keep another tenant's first program from
// starting: that waits for one program of the first tenant.
func TestACrashLoopHoldsUpNobodyElse(t *testing.T) {
	s := NewSpawner(SpawnerOptions{Starting: 1})
	defer s.Close(context.Background())
	s.turns.rate = rate{every: 50 * time.Millisecond, burst: 1}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	loop := spec("quit")
	loop.Tenant, loop.Restart = "noisy", true
	var mu sync.Mutex
	starts := 0 // of the first tenant
	for range 50 {
		all.Go(func() {
			for {
				c, err := s.Start(ctx, loop)
				if err != nil {
					return
				}
				mu.Lock()
				starts++
				mu.Unlock()
				<-c.Exited()
				_ = c.Stop(context.Background()) // it has ended
			}
		})
	}
	eventually(t, "the others wait", func() bool { now, _ := s.Waiting(); return now > 40 })
	mu.Lock()
	before := starts
	mu.Unlock()
	calm := spec("echo")
	calm.Tenant = "calm"
	c, err := s.Start(within(t), calm)
	mu.Lock()
	between := starts - before
	mu.Unlock()
	stop()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	all.Wait()
	if between > 15 { // one, if all of this happened at the same moment
		t.Errorf("%d of another tenant's programs were started before it", between)
	}
}
