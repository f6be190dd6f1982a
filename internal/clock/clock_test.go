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

func TestSkewedJumpsButDoesNotStretch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewSkewed(nil)
		if !c.Now().Equal(time.Now()) {
			t.Error("wrong before it was set")
		}
		for _, offset := range []time.Duration{time.Hour, -time.Hour, 0} {
			c.Set(offset)
			if got := time.Until(c.Now()); got != offset || c.Offset() != offset {
				t.Errorf("ahead by %s, Offset %s, want %s", got, c.Offset(), offset)
			}
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

func TestSkewedStacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := NewSkewed(System)
		base.Set(time.Minute)
		c := NewSkewed(base)
		c.Set(time.Second)
		if got := time.Until(c.Now()); got != 61*time.Second {
			t.Errorf("ahead by %s", got)
		}
	})
}
