package request

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A list contains the exchanges that were added and not removed, in the order of their ids, in any
// history. A removed exchange has no links left. The lists of sessions and of connections are
// independent.
func TestListHasWhatWasAdded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	lists := []*List{{Of: SessionList}, {Of: ConnectionList}}
	model := []map[*Exchange]bool{{}, {}}
	var all []*Exchange
	for id := range uint64(20) {
		all = append(all, &Exchange{ID: id + 1})
	}
	for step := range 5000 {
		at, x := rng.IntN(2), all[rng.IntN(len(all))]
		l, m := lists[at], model[at]
		if rng.IntN(2) == 0 {
			l.Add(x)
			m[x] = true
		} else {
			if got := l.Remove(x); got != m[x] {
				t.Fatalf("step %d: removed %t, want %t", step, got, m[x])
			}
			delete(m, x)
		}
		var want []*Exchange
		for _, x := range all {
			if m[x] {
				want = append(want, x)
			}
			if l.Has(x) != m[x] {
				t.Fatalf("step %d: has %d: %t", step, x.ID, l.Has(x))
			}
		}
		if got := l.All(); !slices.Equal(got, want) || l.Len() != len(want) {
			t.Fatalf("step %d: got %d, want %d", step, len(got), len(want))
		}
	}
	for at, l := range lists {
		for _, x := range l.All() {
			l.Remove(x)
		}
		if l.first != nil || slices.ContainsFunc(all, func(x *Exchange) bool {
			return x.links[at] != links{}
		}) {
			t.Errorf("list %d keeps something", at)
		}
	}
}
