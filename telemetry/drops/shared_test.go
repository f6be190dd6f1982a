package drops_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/internal/clock"
	"mcpd/telemetry"
	"mcpd/telemetry/drops"
)

// F41: however many streams drop at once, the result is one event at first and one a second. No
// drop is left out, even when the owner of the Shared ends.
func TestManyDropAtOnce(t *testing.T) {
	const streams, each = 20, 50
	for _, tt := range []struct {
		name string
		then func(s *drops.Shared)
		want []uint32
	}{
		{"it goes on", func(*drops.Shared) { time.Sleep(drops.Every) }, []uint32{1, streams*each - 1}},
		{"less than a second", func(*drops.Shared) { time.Sleep(drops.Every - 1) }, []uint32{1}},
		{"more follow", func(s *drops.Shared) {
			time.Sleep(drops.Every / 2)
			s.Notification(slow(3))
			time.Sleep(drops.Every)
			s.Notification(slow(4))
			time.Sleep(drops.Every)
		}, []uint32{1, streams*each + 2, 4}},
		{"it ends", func(s *drops.Shared) { s.End() }, []uint32{1, streams*each - 1}},
		{"it ends twice, and a stream is later", func(s *drops.Shared) {
			s.End()
			s.End()
			s.Notification(slow(2))
			s.Notification(slow(2))
			time.Sleep(2 * drops.Every)
		}, []uint32{1, streams*each - 1, 2, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var got []uint32
				s := drops.NewShared(clock.System, func(e telemetry.Event) {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, e.(telemetry.NotificationDropped).Count)
				})
				defer s.End()
				var all sync.WaitGroup
				for range streams {
					all.Go(func() {
						for range each {
							s.Notification(slow(1))
						}
					})
				}
				all.Wait()
				tt.then(s)
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				if !slices.Equal(got, tt.want) {
					t.Errorf("told of %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func slow(count uint32) telemetry.NotificationDropped {
	return telemetry.NotificationDropped{Reason: "slow_consumer", Count: count}
}
