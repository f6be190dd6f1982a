package verdict

import (
	"maps"
	"math"
	"slices"
)

// beside are times of two phases that lie as far from the beginning of each, by where that is. All bystanders call one host, so that what disturbs one
// of them in a second disturbs the others (their ratios correlate by 0.78, in 71 full runs): together they are one measurement of it, not as many as
// there are of them.
type beside map[int]both

// both are sums of logarithms: of times, the geometric mean is the one that a ratio is kept by.
type both struct{ before, during, n float64 }

func (all beside) add(at int, before, during float64) {
	b := all[at]
	all[at] = both{b.before + math.Log(before), b.during + math.Log(during), b.n + 1}
}

// means are the means of each place, in their order.
func (all beside) means() (before, during []float64) {
	for _, at := range slices.Sorted(maps.Keys(all)) {
		b := all[at]
		before, during = append(before, math.Exp(b.before/b.n)), append(during, math.Exp(b.during/b.n))
	}
	return before, during
}

// mostBatches are the stretches that a phase is cut into. One second is a little like the one before it (0.12, in those runs), so that an interval of
// single seconds would be too narrow; means of some in a row hardly depend on each other.
const mostBatches = 20

// stretch is how many of n seconds in a row are taken together.
func stretch(n int) int { return max(1, (n+mostBatches-1)/mostBatches) }

// batches are the means of so many in a row. What is left at the end, and is less than half of it, goes with the last.
func batches(seconds []float64, of int) (list []float64) {
	for len(seconds) > 0 {
		n := of
		if len(seconds)-of < (of+1)/2 {
			n = len(seconds)
		}
		sum := 0.0
		for _, v := range seconds[:n] {
			sum += math.Log(v)
		}
		list, seconds = append(list, math.Exp(sum/float64(n))), seconds[n:]
	}
	return list
}
