package faults

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Hands that are apart stay so: none strikes together with another, and each as often as it may.
func TestHandsThatAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex // guards at
		var at []time.Duration
		l := beginApart(t.Context(), &Site{For: time.Minute}, 4, 100*time.Millisecond, 25*time.Millisecond, func(context.Context, int) (int, error) {
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
