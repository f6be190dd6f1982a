package quota

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSharesGuaranteeHalfOfTheTotal(t *testing.T) {
	for _, c := range []struct {
		total            int64
		tenants          int
		guaranteed, free int64
	}{
		{100, 2, 25, 50},
		{100, 1, 50, 50},
		{100, 3, 16, 52},
		{10, 0, 5, 5}, // before there is a tenant
		{5, 3, 1, 2},  // too small for two each: one each, and the rest is free
		{2, 3, 0, 2},  // too small for one each: first come, first served
		{0, 3, 0, 0},  // no bound
		{256, 128, 1, 128},
	} {
		s := Shares{Total: c.total, Tenants: c.tenants}
		if g, f := s.Guaranteed(), s.Free(); g != c.guaranteed || f != c.free {
			t.Errorf("%d for %d tenants: %d guaranteed and %d free, want %d and %d",
				c.total, c.tenants, g, f, c.guaranteed, c.free)
		}
	}
}

func TestSharesWithoutABoundAdmitEverything(t *testing.T) {
	if !(Shares{Tenants: 2}).Admits(1<<40, 1<<40, 1<<50) {
		t.Error("an unbounded resource was refused")
	}
}

// A tenant below its guaranteed part is never refused, whatever all tenants request and release.
// The sum of all never exceeds the total.
func TestSharesKeepEveryGuarantee(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tenants := rapid.IntRange(1, 6).Draw(t, "tenants")
		s := Shares{Total: rapid.Int64Range(1, 60).Draw(t, "total"), Tenants: tenants}
		held := make([]int64, tenants)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			i := rapid.IntRange(0, tenants-1).Draw(t, "tenant")
			n := rapid.Int64Range(1, 8).Draw(t, "n")
			if rapid.Bool().Draw(t, "return") {
				held[i] -= min(n, held[i])
				continue
			}
			var excess, sum int64
			for _, h := range held {
				excess, sum = excess+s.Excess(h), sum+h
			}
			switch admitted := s.Admits(held[i], n, excess); {
			case admitted && sum+n > s.Total:
				t.Fatalf("%v: %d more for tenant %d exceed %d", held, n, i, s.Total)
			case !admitted && held[i]+n <= s.Guaranteed():
				t.Fatalf("%v: %d more for tenant %d are guaranteed, and refused", held, n, i)
			case admitted:
				held[i] += n
			}
		}
	})
}
