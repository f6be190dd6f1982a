package load

import "fmt"

// Verdict is the judgement of a gate on an estimate.
type Verdict string

const (
	Pass Verdict = "pass" // the whole interval meets the limit
	// Unclear means that the limit lies within the interval, so that the measurement cannot tell. The
	// caller decides about the consequences.
	Unclear Verdict = "unclear"
	Fail    Verdict = "fail" // the whole interval is beyond the limit
)

// Limit bounds a ratio, from above or from below.
type Limit struct {
	bound float64
	above bool // upper bound; otherwise lower bound
}

// AtMost is for quantities that should stay small, such as latency.
func AtMost(ratio float64) Limit { return Limit{bound: ratio, above: true} }

// AtLeast is for quantities that should stay large, such as throughput.
func AtLeast(ratio float64) Limit { return Limit{bound: ratio} }

func (l Limit) String() string {
	if l.above {
		return fmt.Sprintf("≤ %.4g", l.bound)
	}
	return fmt.Sprintf("≥ %.4g", l.bound)
}

// Gate judges an estimate. It fails only if the whole confidence interval is beyond the limit. A
// small or noisy machine only widens the interval and does not fail the build.
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
