package otp

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type bead struct{ place[*bead] }

// A chain behaves like a slice, whatever is added and removed.
func TestChainIsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		beads := make([]*bead, 6)
		for i := range beads {
			beads[i] = &bead{}
		}
		var c chain[*bead]
		var want []*bead
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			b := rapid.SampledFrom(beads).Draw(t, "bead")
			switch i := slices.Index(want, b); rapid.IntRange(0, 5).Draw(t, "do") {
			case 0: // drop others while iterating
				for v := range c.all() {
					if v != b {
						c.drop(v)
					}
				}
				want = slices.DeleteFunc(want, func(v *bead) bool { return v != b })
			case 1:
				if got := c.take(); !slices.Equal(got, want) {
					t.Fatalf("took %v, want %v", got, want)
				}
				want = nil
			case 2, 3:
				c.drop(b) // also after it was dropped
				want = slices.DeleteFunc(want, func(v *bead) bool { return v == b })
			default:
				if i < 0 {
					c.add(b)
					want = append(want, b)
				}
			}
			if got := slices.Collect(c.all()); !slices.Equal(got, want) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	})
}
