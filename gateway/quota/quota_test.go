package quota

import (
	"fmt"
	"net/netip"
	"strings"
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
		// Never more than the burst.
		{time.Hour, 0}, {time.Hour, 0}, {time.Hour, 0}, {time.Hour, time.Second},
		{59 * time.Minute, time.Second + time.Minute}, // a clock that jumps back gives no extra tokens
	} {
		if got := b.Take(start.Add(c.at), r); got != c.wait {
			t.Errorf("take %d at %v waits %v, want %v", i, c.at, got, c.wait)
		}
	}
	if b.Full(start.Add(time.Hour)) || !b.Full(start.Add(time.Hour+3*time.Second)) {
		t.Error("the bucket is full at the wrong time")
	}
}

func TestFailingAddressHasToWait(t *testing.T) {
	f := NewFailures()
	bad, good := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for i := range 20 {
		if wait := f.Wait(start, bad, PerMinute(20)); wait != 0 {
			t.Fatalf("failure %d has to wait %v", i, wait)
		}
		f.Failed(start, bad, PerMinute(20))
	}
	if got := f.Wait(start, bad, PerMinute(20)); got != 3*time.Second {
		t.Errorf("after 20 failures the wait is %v, want 3s", got)
	}
	if got := f.Wait(start, netip.MustParseAddr("::ffff:192.0.2.1"),
		PerMinute(20)); got != 3*time.Second {
		t.Errorf("the same address written as IPv6 waits %v", got)
	}
	if got := f.Wait(start, good, PerMinute(20)); got != 0 {
		t.Errorf("another address waits %v", got)
	}
	if got := f.Wait(start.Add(3*time.Second), bad, PerMinute(20)); got != 0 {
		t.Errorf("three seconds on it still waits %v", got)
	}
}

func TestIPv6NeighboursAreOneCaller(t *testing.T) {
	f := NewFailures()
	for i := range 20 {
		f.Failed(start, netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", i)), PerMinute(20))
	}
	if f.Wait(start, netip.MustParseAddr("2001:db8::ffff"), PerMinute(20)) == 0 ||
		f.Wait(start, netip.MustParseAddr("2001:db8:0:1::1"), PerMinute(20)) != 0 {
		t.Error("callers are not told apart by /64")
	}
}

// A tenant and each of its principals have their own buckets. A refusal by one bucket takes
// nothing from the other.
func TestRatesOfATenantAndItsPrincipals(t *testing.T) {
	var r Rates
	for i, c := range []struct {
		at        time.Duration
		who       string
		all, each int
		wait      time.Duration
	}{
		// Twice the rate at once, then the rate.
		{0, "acme/a", 3, 1, 0}, {0, "acme/a", 3, 1, 0}, {0, "acme/a", 3, 1, time.Second},
		{0, "acme/b", 3, 1, 0}, {0, "acme/b", 3, 1, 0},
		// Six of the tenant.
		{0, "acme/c", 3, 1, 0}, {0, "acme/c", 3, 1, 0}, {0, "acme/d", 3, 1, time.Second / 3},
		{0, "other/a", 3, 1, 0},
		{time.Second, "acme/a", 3, 1, 0}, {time.Second, "acme/a", 3, 1, time.Second},
		{time.Second, "acme/d", 3, 1, 0},
		{time.Second, "acme/a", 0, 0, 0}, {time.Second, "acme/a", 0, 0, 0}, // no bound
		{time.Second, "acme/e", 3, 0, 0}, {time.Second, "acme/e", 3, 0, time.Second/3 - 1},
	} {
		tenant, principal, _ := strings.Cut(c.who, "/")
		if got := r.Take(start.Add(c.at), tenant, principal, c.all, c.each); got != c.wait {
			t.Errorf("%d: %s waits %v, want %v", i, c.who, got, c.wait)
		}
	}
}

// Principals whose buckets are full again are forgotten.
func TestRatesForgetWhoRests(t *testing.T) {
	var r Rates
	for i := range 3 * MaxPrincipals {
		r.Take(start.Add(time.Duration(i)*time.Second), "acme", fmt.Sprint(i), 0, 1)
	}
	m, _ := r.tenants.Load("acme")
	if got := len(m.(*meter).each); got > MaxPrincipals {
		t.Errorf("%d principals are remembered, want at most %d", got, MaxPrincipals)
	}
}

func TestFailuresAreForgotten(t *testing.T) {
	f := NewFailures()
	for i := range MaxAddresses + 100 {
		f.Failed(start, netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), PerMinute(20))
	}
	if got := len(f.entries); got != MaxAddresses || f.recent.Len() != got {
		t.Errorf("remembers %d addresses, %d in order, want %d", got, f.recent.Len(), MaxAddresses)
	}
	f.Failed(start.Add(time.Hour), netip.Addr{}, PerMinute(20))
	if got := f.size.Load(); got != 1 || len(f.entries) != 1 {
		t.Errorf("an hour later it remembers %d addresses, want 1", got)
	}
}
