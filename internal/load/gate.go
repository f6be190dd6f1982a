package load

import "fmt"

// Verdict is what a gate says of an estimate.
type Verdict string

const (
	Pass    Verdict = "pass"    // the whole interval keeps the limit
	Unclear Verdict = "unclear" // the interval lies on both sides: the measurement cannot tell; what that means is for who judges the run
	Fail    Verdict = "fail"    // the whole interval lies beyond the limit
)

// Limit bounds a ratio, from above or from below.
type Limit struct {
	bound float64
	above bool // the ratio must not be above bound; otherwise not below
}

// AtMost is for what should stay small, such as latency.
func AtMost(ratio float64) Limit { return Limit{bound: ratio, above: true} }

// AtLeast is for what should stay large, such as throughput.
func AtLeast(ratio float64) Limit { return Limit{bound: ratio} }

func (l Limit) String() string {
	if l.above {
		return fmt.Sprintf("≤ %.4g", l.bound)
	}
	return fmt.Sprintf("≥ %.4g", l.bound)
}

// Gate judges an estimate. It fails only when the whole confidence interval lies beyond the limit, so that a small or noisy machine
// widens the interval and does not fail the build.
func Gate(e Estimate, l Limit) Verdict {
	inside, outside := e.High <= l.bound, e.Low > l.bound
	if !l.above {
		inside, outside = e.Low >= l.bound, e.High < l.bound
	}
	switch {
	case outside:
		return Fail
	case inside:
		return Pass
	}
	return Unclear
}
