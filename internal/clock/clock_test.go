package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSystemTellsTheTimeAndWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if got := System.Now(); !got.Equal(time.Now()) {
			t.Errorf("now %s, want %s", got, time.Now())
		}
		start, woken := time.Now(), time.Duration(-1)
		System.AfterFunc(3*time.Second, func() { woken = time.Since(start) })
		never := System.AfterFunc(time.Second, func() { t.Error("woken though stopped") })
		if !never.Stop() || never.Stop() {
			t.Error("Stop does not say whether it did")
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if woken != 3*time.Second {
			t.Errorf("woken after %s, want 3s", woken)
		}
	})
}

// wall removes the monotonic reading of a time.
func wall(t time.Time) time.Time { return t.Round(0) }

func TestSkewedMovesTheHourOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewSkewed(nil)
		before := c.Now()
		for n, offset := range []time.Duration{0, time.Hour, -time.Hour, 24 * time.Hour, 0} {
			c.Set(offset)
			now := c.Now()
			if got := wall(now).Sub(wall(time.Now())); got != offset || c.Offset() != offset ||
				now.Sub(before) != time.Duration(n)*time.Second {
				t.Errorf("ahead by %s, Offset %s, want %s; %s passed", got, c.Offset(), offset, now.Sub(before))
			}
			time.Sleep(time.Second)
		}
		c.Set(time.Hour)
		start, woken := time.Now(), time.Duration(-1)
		c.AfterFunc(time.Second, func() { woken = time.Since(start) })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if woken != time.Second {
			t.Errorf("woken after %s, want 1s", woken)
		}
	})
}

// A moment in steady nanoseconds keeps its distance, and its displayed time follows the current
// wall clock.
func TestSteadyIsNotMovedByTheHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewSkewed(nil)
		at := SteadyNanos(c.Now())
		time.Sleep(time.Minute)
		for _, offset := range []time.Duration{0, time.Hour, -24 * time.Hour} {
			c.Set(offset)
			if got := time.Duration(SteadyNanos(c.Now()) - at); got != time.Minute {
				t.Errorf("%s: a minute is %s", offset, got)
			}
			if got := wall(c.Now()).Sub(wall(WallTime(c.Now(), at))); got != time.Minute {
				t.Errorf("%s: the hour says %s ago", offset, got)
			}
		}
		now := c.Now()
		p := FromStored(now, wall(now).Add(-time.Minute)) // as it is read from a disk
		c.Set(48 * time.Hour)
		if got := c.Now().Sub(p); got != time.Minute {
			t.Errorf("what was written down a minute ago is %s old", got)
		}
		if p := FromStored(now, wall(now).Add(time.Hour)); p.Sub(now) != 0 {
			t.Errorf("what was written down an hour from now is of %s, want now", p)
		}
	})
}
