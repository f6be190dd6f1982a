package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// MinPairs is the least number of pairs for an estimate. With fewer pairs an interval is too wide
// to decide anything, and a resampled interval is little more than the range of the sample.
const MinPairs = 5

// resamples is the number of bootstrap samples. The ends of a 95 % interval then rest on some 250
// samples each, and move by less than a tenth of the interval's width between seeds.
const resamples = 10_000

// Estimate is the ratio of the subject to the baseline.
type Estimate struct {
	Ratio float64 `json:"ratio"` // geometric mean over the pairs
	Low   float64 `json:"low"`   // lower end of the 95 % confidence interval
	High  float64 `json:"high"`  // upper end
	Pairs int     `json:"pairs"`
}

// Ratio estimates subject/baseline from measurements taken in pairs. The measurements baseline[i]
// and subject[i] are taken side by side, so that disturbances of both (other processes, a warm
// machine) cancel out. The interval is Student's, of the logarithms of the ratios. A resampled
// interval of few pairs contains the true value too rarely: with five pairs in 83 of 100 runs.
// Measurements must be positive and finite.
func Ratio(baseline, subject []float64) (Estimate, error) {
	if len(baseline) != len(subject) {
		return Estimate{}, fmt.Errorf("pairs: %d baseline and %d subject measurements", len(baseline),
			len(subject))
	}
	if len(baseline) < MinPairs {
		return Estimate{}, fmt.Errorf("pairs: %d, want at least %d", len(baseline), MinPairs)
	}
	logs := make([]float64, len(baseline))
	for i := range logs {
		for _, v := range []float64{baseline[i], subject[i]} {
			if !(v > 0) || math.IsInf(v, 1) {
				return Estimate{}, fmt.Errorf("pair %d: measurement %v is not positive and finite", i, v)
			}
		}
		// The ratios 2 and 1/2 are equally far from 1 only in their logarithms.
		logs[i] = math.Log(subject[i]) - math.Log(baseline[i])
	}
	free := float64(len(logs) - 1)
	return around(mean(logs), student(free)*math.Sqrt(spread(logs)), len(logs)), nil
}

// around returns an estimate from the middle and half the width of an interval of logarithms.
func around(middle, half float64, pairs int) Estimate {
	return Estimate{
		Ratio: math.Exp(middle), Low: math.Exp(middle - half), High: math.Exp(middle + half),
		Pairs: pairs,
	}
}

// Difference is like Ratio, but for subject-baseline. Estimate.Ratio is the median of the
// differences, and the interval is the percentile interval of a bootstrap over the pairs, which is
// reproducible for a seed. Measurements may have any sign.
func Difference(baseline, subject []float64, seed uint64) (Estimate, error) {
	if len(baseline) != len(subject) || len(baseline) < MinPairs {
		return Estimate{}, fmt.Errorf(
			"pairs: %d baseline and %d subject measurements, want as many of both, at least %d",
			len(baseline), len(subject), MinPairs,
		)
	}
	differences := make([]float64, len(baseline))
	for i := range differences {
		differences[i] = subject[i] - baseline[i]
		if math.IsNaN(differences[i]) || math.IsInf(differences[i], 0) {
			return Estimate{}, fmt.Errorf("pair %d: %v and %v have no difference", i,
				baseline[i], subject[i])
		}
	}
	low, high := bootstrap(differences, seed, median)
	return Estimate{Ratio: median(differences), Low: low, High: high, Pairs: len(differences)}, nil
}

// UnpairedRatio estimates the ratio of the mean of later to the mean of earlier, for measurements
// of two runs that are not paired. Measurements must be positive. The interval is Welch's.
func UnpairedRatio(earlier, later []float64) (Estimate, error) {
	if min(len(earlier), len(later)) < MinPairs {
		return Estimate{}, fmt.Errorf("%d measurements before and %d after, want at least %d",
			len(earlier), len(later), MinPairs)
	}
	logs := make([]float64, 0, len(earlier)+len(later))
	for _, v := range append(slices.Clone(earlier), later...) {
		if !(v > 0) || math.IsInf(v, 1) {
			return Estimate{}, fmt.Errorf("measurement %v is not positive and finite", v)
		}
		logs = append(logs, math.Log(v))
	}
	before, after := logs[:len(earlier)], logs[len(earlier):]
	b, a := spread(before), spread(after)
	half := 0.0
	if a+b > 0 { // the degrees of freedom divide by these
		free := (a + b) * (a + b) / (a*a/float64(len(after)-1) + b*b/float64(len(before)-1))
		half = student(free) * math.Sqrt(a+b)
	}
	return around(mean(after)-mean(before), half, min(len(before), len(after))), nil
}

// student returns half the width of a 95 % interval in standard errors. It is the 97.5 % quantile
// of Student's t with that many degrees of freedom, accurate to 0.3 % from 4 degrees on (Abramowitz
// and Stegun, 26.7.5).
func student(free float64) float64 {
	const z = 1.959964 // the same quantile of the normal distribution
	const z3, z5, z7 = z * z * z, z * z * z * z * z, z * z * z * z * z * z * z
	return z + (z3+z)/(4*free) + (5*z5+16*z3+3*z)/(96*free*free) +
		(3*z7+19*z5+17*z3-15*z)/(384*free*free*free)
}

// spread returns the square of the standard error of the mean of values.
func spread(values []float64) (s float64) {
	m, n := mean(values), float64(len(values))
	for _, v := range values {
		s += (v - m) * (v - m)
	}
	return s / (n - 1) / n
}

// bootstrap returns the 2.5 % and 97.5 % quantiles of a statistic of samples drawn from values with
// replacement.
func bootstrap(values []float64, seed uint64,
	statistic func([]float64) float64) (low, high float64) {
	random := rand.New(rand.NewPCG(seed, uint64(len(values))))
	results, sample := make([]float64, resamples), make([]float64, len(values))
	for i := range results {
		for j := range sample {
			sample[j] = values[random.IntN(len(values))]
		}
		results[i] = statistic(sample)
	}
	slices.Sort(results)
	return results[resamples*25/1000], results[resamples*975/1000-1]
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Alternate takes pairs of measurements, one of each kind in every round, and swaps the order from
// round to round, so that a drift of the machine favours neither. It stops at the first error.
func Alternate(rounds int,
	baseline, subject func(round int) (float64, error)) (baselines, subjects []float64, err error) {
	baselines, subjects = make([]float64, rounds), make([]float64, rounds)
	for round := range rounds {
		type measurement struct {
			take func(int) (float64, error)
			into []float64
		}
		both := []measurement{{baseline, baselines}, {subject, subjects}}
		if round%2 == 1 {
			slices.Reverse(both)
		}
		for _, m := range both {
			if m.into[round], err = m.take(round); err != nil {
				return nil, nil, fmt.Errorf("round %d: %w", round, err)
			}
		}
	}
	return baselines, subjects, nil
}
