package faults

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Staggered workers stay staggered: no two strike together, and each strikes at its own rate.
func TestHandsThatAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex // guards at
		var at []time.Duration
		l := beginApart(t.Context(), &Site{Duration: time.Minute}, 4, 100*time.Millisecond,
			25*time.Millisecond, func(context.Context, int) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				at = append(at, time.Since(began))
				return 1, nil
			})
		time.Sleep(time.Second - time.Millisecond)
		if err := l.heal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(at) != 40 || !slices.IsSorted(at) {
			t.Fatalf("struck %d times, at %v", len(at), at)
		}
		for i, when := range at {
			if want := time.Duration(i) * 25 * time.Millisecond; when != want {
				t.Errorf("struck at %v, want %v", when, want)
			}
		}
	})
}

// Waiting workers are no goroutines: a fault with very many of them costs the measuring process
// nothing while they wait.
func TestHandsThatWaitAreNoGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hands = 1000
		before := runtime.NumGoroutine()
		l := beginApart(t.Context(), &Site{Duration: time.Hour}, hands, time.Minute, time.Millisecond,
			func(context.Context, int) (int, error) {
				return 1, nil
			})
		for _, sleep := range []time.Duration{0, 500 * time.Millisecond, 30 * time.Second} {
			time.Sleep(sleep)
			synctest.Wait()
			if now := runtime.NumGoroutine(); now > before+10 {
				t.Errorf("%d goroutines, %d before", now, before)
			}
		}
		if err := l.heal(t.Context()); err != nil {
			t.Fatal(err)
		}
		struck, _ := l.hitCount(t.Context())
		time.Sleep(2 * time.Minute)
		if again, _ := l.hitCount(t.Context()); struck != hands || again != struck {
			t.Errorf("struck %d times, want %d; %d times when it was over", struck, hands, again)
		}
	})
}

// A worker whose run takes longer than the wait begins its next run at once when it is done, and
// makes up for no other missed run.
func TestHandThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration // only one worker writes it
		l := begin(t.Context(), &Site{Duration: time.Minute}, 1, 100*time.Millisecond,
			func(context.Context, int) (int, error) {
				if at = append(at, time.Since(began).Round(time.Millisecond)); len(at) == 1 {
					time.Sleep(350 * time.Millisecond)
				}
				return 1, nil
			})
		time.Sleep(600 * time.Millisecond)
		if err := l.heal(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{0, 350 * time.Millisecond, 450 * time.Millisecond, 550 * time.Millisecond}
		if !slices.Equal(at, want) {
			t.Errorf("struck at %v, want %v", at, want)
		}
	})
}
