package quota

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestBucketGivesABurstThenTheRate(t *testing.T) {
	var b Bucket
	r := Rate{Every: time.Second, Burst: 3}
	for i, c := range []struct {
		at   time.Duration
		wait time.Duration
	}{
		{0, 0}, {0, 0}, {0, 0}, {0, time.Second},
		{500 * time.Millisecond, 500 * time.Millisecond},
		{time.Second, 0}, {time.Second, time.Second},
		{time.Hour, 0}, {time.Hour, 0}, {time.Hour, 0}, {time.Hour, time.Second}, // never more than the burst
		{59 * time.Minute, time.Second + time.Minute}, // a clock that jumps back makes nobody rich
	} {
		if got := b.Take(start.Add(c.at), r); got != c.wait {
			t.Errorf("take %d at %v waits %v, want %v", i, c.at, got, c.wait)
		}
	}
	if b.Full(start.Add(time.Hour)) || !b.Full(start.Add(time.Hour+3*time.Second)) {
		t.Error("the bucket is full at the wrong time")
	}
}

// S4-131: requests in flight are limited for each connection and each tenant.
func TestInFlightLimits(t *testing.T) {
	q := NewInFlight(3, 2)
	steps := []struct {
		release bool
		session string
		scope   string // of the refusal
	}{
		{false, "a", ""}, {false, "a", ""}, {false, "a", "session"}, {false, "b", ""}, {false, "b", "tenant"}, {false, "a", "session"},
		{true, "a", ""}, {false, "b", ""}, {false, "c", "tenant"}, {true, "b", ""}, {true, "b", ""}, {false, "c", ""},
	}
	for i, s := range steps {
		if s.release {
			q.Release(s.session)
			continue
		}
		err := q.Admit(s.session)
		var refused *Refused
		if scope := ""; errors.As(err, &refused) {
			if scope = refused.Scope; scope != s.scope {
				t.Errorf("step %d: refused by %s, want %q", i, scope, s.scope)
			}
		} else if s.scope != "" {
			t.Errorf("step %d: admitted, want refused by %s", i, s.scope)
		}
	}
	if q.Total() != 2 || q.Session("a") != 1 || q.Session("b") != 0 || q.Session("c") != 1 || len(q.of) != 2 {
		t.Errorf("counts are %d %v", q.Total(), q.of)
	}
}

func TestRestoredRequestsCountWhateverTheLimit(t *testing.T) {
	q := NewInFlight(1, 1)
	q.Restore("a")
	q.Restore("a")
	if q.Total() != 2 || q.Admit("b") == nil {
		t.Error("restored requests do not count")
	}
	q.Release("a")
	q.Release("a")
	if err := q.Admit("b"); err != nil {
		t.Error(err)
	}
}

func TestReleaseOfNothingIsABug(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("released a request that was never admitted")
		}
	}()
	NewInFlight(1, 1).Release("a")
}

func TestFailingAddressHasToWait(t *testing.T) {
	f := NewFailures()
	bad, good := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for i := range 20 {
		if wait := f.Wait(start, bad); wait != 0 {
			t.Fatalf("failure %d has to wait %v", i, wait)
		}
		f.Failed(start, bad)
	}
	if got := f.Wait(start, bad); got != 3*time.Second {
		t.Errorf("after 20 failures the wait is %v, want 3s", got)
	}
	if got := f.Wait(start, netip.MustParseAddr("::ffff:192.0.2.1")); got != 3*time.Second {
		t.Errorf("the same address written as IPv6 waits %v", got)
	}
	if got := f.Wait(start, good); got != 0 {
		t.Errorf("another address waits %v", got)
	}
	if got := f.Wait(start.Add(3*time.Second), bad); got != 0 {
		t.Errorf("three seconds on it still waits %v", got)
	}
}

func TestIPv6NeighboursAreOneCaller(t *testing.T) {
	f := NewFailures()
	for i := range 20 {
		f.Failed(start, netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", i)))
	}
	if f.Wait(start, netip.MustParseAddr("2001:db8::ffff")) == 0 || f.Wait(start, netip.MustParseAddr("2001:db8:0:1::1")) != 0 {
		t.Error("callers are not told apart by /64")
	}
}

func TestFailuresAreForgotten(t *testing.T) {
	f := NewFailures()
	for i := range MaxAddresses + 100 {
		f.Failed(start, netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
	}
	if got := len(f.entries); got != MaxAddresses || f.recent.Len() != got {
		t.Errorf("remembers %d addresses, %d in order, want %d", got, f.recent.Len(), MaxAddresses)
	}
	f.Failed(start.Add(time.Hour), netip.Addr{})
	if got := f.size.Load(); got != 1 || len(f.entries) != 1 {
		t.Errorf("an hour later it remembers %d addresses, want 1", got)
	}
}
