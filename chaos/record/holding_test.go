package record

import "testing"

// The named part of a holding may change. The rest may grow by a share, or by a fixed amount.
func TestHeapGrowsByWhatHasNoName(t *testing.T) {
	for _, c := range []struct {
		name string
		h    Holding
		want bool
	}{
		{"the same", Holding{Before: 100, After: 100, Share: 0.05, Kept: 10}, false},
		{"as much as may be kept", Holding{Before: 100, After: 110, Share: 0.05, Kept: 10}, false},
		{"more", Holding{Before: 100, After: 111, Share: 0.05, Kept: 10}, true},
		{"a share", Holding{Before: 1000, After: 1050, Share: 0.05, Kept: 10}, false},
		{"more than a share", Holding{Before: 1000, After: 1051, Share: 0.05, Kept: 10}, true},
		{"by what has a name", Holding{Before: 100, After: 200, NamedBefore: 5, Named: 105, Share: 0.05,
			Kept: 10}, false},
		{"and by what has none", Holding{Before: 100, After: 211, NamedBefore: 5, Named: 105, Share: 0.05,
			Kept: 10}, true},
		{"although what has a name went",
			Holding{Before: 100, After: 100, NamedBefore: 50, Share: 0.05, Kept: 10}, true},
		{"what is not judged", Holding{Before: 100, After: 1000}, false},
	} {
		if got := c.h.Leaked(); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}
