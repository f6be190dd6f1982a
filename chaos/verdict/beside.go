package verdict

import (
	"maps"
	"math"
	"slices"
)

// pairedTimes pairs times of two phases by their offset from the beginning of the phase. All
// bystanders call one host, so that a disturbance of one of them in a second also disturbs the
// others: their ratios correlate by 0.78 in 71 full runs. Therefore all bystanders together count
// as one measurement of a second and not as several.
type pairedTimes map[int]logSums

// logSums are sums of logarithms of times. They yield the geometric mean, which preserves ratios.
type logSums struct{ before, during, n float64 }

func (all pairedTimes) add(at int, before, during float64) {
	b := all[at]
	all[at] = logSums{b.before + math.Log(before), b.during + math.Log(during), b.n + 1}
}

// means returns the mean at each offset, ordered by offset.
func (all pairedTimes) means() (before, during []float64) {
	for _, at := range slices.Sorted(maps.Keys(all)) {
		b := all[at]
		before, during = append(before, math.Exp(b.before/b.n)), append(during, math.Exp(b.during/b.n))
	}
	return before, during
}

// mostBatches is the number of batches into which a phase is cut. Adjacent seconds correlate a
// little (0.12 in those runs), so that an interval of single seconds would be too narrow. Means of
// several adjacent seconds are nearly independent.
const mostBatches = 20

// batchSize returns how many of n adjacent seconds form a batch.
func batchSize(n int) int { return max(1, (n+mostBatches-1)/mostBatches) }

// batches returns the means of batches of that many seconds. A rest of less than half a batch joins
// the last batch.
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
