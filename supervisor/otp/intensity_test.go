package otp

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestWindowIsTrulySliding compares the ring with a list of all restarts.
func TestWindowIsTrulySliding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 5).Draw(t, "limit")
		within := time.Duration(rapid.IntRange(1, 20).Draw(t, "within"))
		w := newWindow(Intensity{limit, within})
		now := time.Unix(0, 0)
		var all []time.Time
		for range rapid.IntRange(1, 60).Draw(t, "restarts") {
			now = now.Add(time.Duration(rapid.IntRange(0, 12).Draw(t, "pause")))
			inside := 1 // the restart at now
			for _, at := range all {
				if now.Sub(at) <= within {
					inside++
				}
			}
			allowed := w.add(now)
			if want := inside <= limit; allowed != want {
				t.Fatalf("restart %d of window %d/%s: allowed %v, want %v", inside, limit, within,
					allowed, want)
			}
			if !allowed {
				return // the supervisor has given up
			}
			all = append(all, now)
		}
	})
}

func TestWindowSurvivesAClockThatGoesBack(t *testing.T) {
	w := newWindow(Intensity{2, time.Second})
	now := time.Unix(1000, 0)
	for _, step := range []struct {
		at   time.Duration
		want bool
	}{{0, true}, {-time.Hour, true}, {-time.Hour, false}, {2 * time.Second, true}} {
		if got := w.add(now.Add(step.at)); got != step.want {
			t.Errorf("restart at %s: allowed %v, want %v", step.at, got, step.want)
		}
	}
}

// A large limit takes no memory at the first restart.
func TestWindowTakesMemoryForRestartsThatThereWere(t *testing.T) {
	w := newWindow(Intensity{MaxRestarts, time.Hour})
	for n := range 100 {
		if !w.add(time.Unix(int64(n), 0)) {
			t.Fatalf("restart %d was not allowed", n)
		}
	}
	if kept := cap(w.times); kept > 200 {
		t.Errorf("room for %d after 100 restarts", kept)
	}
}

func BenchmarkWindow(b *testing.B) {
	w := newWindow(Intensity{1000, time.Nanosecond})
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Microsecond)
		w.add(now)
	}
}
