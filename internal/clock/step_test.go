package clock

import (
	"testing"
	"time"
)

// The wall clock changes, and elapsed time does not.
func TestStepMovesTheHourAlone(t *testing.T) {
	began := time.Now()
	for _, by := range []time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -400 * 24 * time.Hour,
		1500 * time.Millisecond, -time.Nanosecond, 0} {
		got := Step(began, by)
		if elapsed := got.Sub(began); elapsed != 0 {
			t.Errorf("by %s: %s have elapsed", by, elapsed)
		}
		if moved := got.Round(0).Sub(began.Round(0)); moved != by {
			t.Errorf("by %s: the hour moved by %s", by, moved)
		}
		if later := got.Add(time.Minute).Sub(began); later != time.Minute {
			t.Errorf("by %s: a minute later is after %s", by, later)
		}
	}
}

func TestStepOfATimeOfNoClock(t *testing.T) {
	at := time.Unix(1_800_000_000, 5)
	if got := Step(at, -time.Hour); !got.Equal(at.Add(-time.Hour)) {
		t.Errorf("%s, want an hour before %s", got, at)
	}
	far := 200 * 365 * 24 * time.Hour // no time with a monotonic reading can be so far away
	if now := time.Now(); !Step(now, far).Equal(now.Round(0).Add(far)) {
		t.Error("200 years from now is another year")
	}
}
