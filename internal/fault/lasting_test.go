package fault

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/internal/clock"
)

// ticking is a clock that advances by a millisecond with each reading.
type ticking struct {
	clock.Clock
	looks atomic.Int64
}

func (c *ticking) Now() time.Time {
	return time.Unix(0, 0).Add(time.Duration(c.looks.Add(1)) * time.Millisecond)
}

func TestWhoSpinsComputesForItsDelay(t *testing.T) {
	c := &ticking{Clock: clock.System}
	r := New(c)
	Fault{Action: Spin, Point: Point{Path: "a"}, Delay: time.Second, Count: 1}.in(t, r)
	before := c.looks.Load()
	if r.BeforeReceive("a", nil) != 1 {
		t.Error("its message is lost")
	}
	if looks := c.looks.Load() - before; looks < 1000 || looks > 1010 {
		t.Errorf("it went on after %d ms", looks)
	}
	before = c.looks.Load()
	if r.BeforeReceive("a", nil); c.looks.Load() > before+10 {
		t.Error("it spins once more")
	}
}

func TestASpinEndsWithItsFault(t *testing.T) {
	r := New(nil)
	id := Fault{Action: Spin, Point: Point{Path: "a"}, Delay: time.Hour}.in(t, r)
	over := make(chan struct{})
	go func() { r.BeforeReceive("a", nil); close(over) }()
	for r.Active()[0].Struck == 0 {
		time.Sleep(time.Millisecond)
	}
	r.Disarm(id)
	<-over
}

// Only the wall clock is off while a fault says so.
func TestTheHourIsOffWhileArmed(t *testing.T) {
	r := New(nil)
	c := r.Clock(clock.System)
	off := func() time.Duration {
		t.Helper()
		now, real := c.Now(), time.Now()
		if elapsed := real.Sub(now); elapsed < 0 || elapsed > time.Minute {
			t.Errorf("%v have elapsed", elapsed)
		}
		return now.Round(0).Sub(real.Round(0)).Round(time.Minute)
	}
	if by := off(); by != 0 {
		t.Errorf("nothing is armed, and it is off by %v", by)
	}
	one := Fault{Action: Ahead, Point: Point{Place: WallClock}, Delay: 24 * time.Hour}.in(t, r)
	if by := off(); by != 24*time.Hour {
		t.Errorf("it is off by %v, want a day", by)
	}
	other := Fault{Action: Behind, Point: Point{Place: WallClock}, Delay: 25 * time.Hour}.in(t, r)
	if by := off(); by != -time.Hour {
		t.Errorf("it is off by %v, want an hour behind", by)
	}
	if s := r.Active(); s[0].Struck != 1 || s[1].Struck != 1 {
		t.Errorf("struck %d and %d times, want once each", s[0].Struck, s[1].Struck)
	}
	r.Disarm(one)
	r.Disarm(other)
	if by := off(); by != 0 {
		t.Errorf("nothing is armed any more, and it is off by %v", by)
	}
}

func TestHowFullTheMemoryIsToBe(t *testing.T) {
	r := New(nil)
	id := Fault{Action: Fill, Point: Point{Place: Memory}, Percent: 90}.in(t, r)
	if got := r.Fill(); got != 90 || r.Active()[0].Struck != 1 {
		t.Errorf("%v, struck %d times", got, r.Active()[0].Struck)
	}
	if r.Disarm(id); r.Fill() != 0 || (*Registry)(nil).Fill() != 0 {
		t.Error("it is to be full of nothing")
	}
}

func TestWhatLastsIsRefusedWhatItHasNot(t *testing.T) {
	for name, c := range map[string]struct {
		fault Fault
		want  error
	}{
		"a count": {Fault{Action: Ahead, Point: Point{Place: WallClock}, Delay: time.Hour, Count: 1},
			ErrCount},
		"no step": {Fault{Action: Ahead, Point: Point{Place: WallClock}}, ErrDelay},
		"two years": {Fault{Action: Behind, Point: Point{Place: WallClock}, Delay: 2 * MaxStep},
			ErrDelay},
		"half an hour": {Fault{Action: Behind, Point: Point{Place: WallClock}, Delay: time.Hour,
			Percent: 50}, ErrPercent},
		"no fill": {Fault{Action: Fill, Point: Point{Place: Memory}}, ErrPercent},
		"a tenant's hour": {Fault{Action: Ahead, Point: Point{Place: WallClock, Who: Who{Tenant: "acme"}},
			Delay: time.Hour}, ErrPoint},
	} {
		c.fault.Lease = time.Minute
		if _, err := New(nil).Arm(c.fault); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func BenchmarkHourUnarmed(b *testing.B) {
	c := New(nil).Clock(still{})
	b.ReportAllocs()
	for b.Loop() {
		c.Now()
	}
}

// still is a clock that costs nothing.
type still struct{ clock.Clock }

func (still) Now() time.Time { return time.Time{} }
