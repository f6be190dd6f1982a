package report

import (
	"cmp"
	"math"

	"mcpd/bench/record"
	"mcpd/internal/chart"
)

// forest shows an interval with its limits. All comparisons have the same scale: the value as a
// multiple of the limit, from a hundredth to ten. Values to the left of the limit meet it. For a
// lower limit the ratio is inverted.
type forest struct {
	Low, Wide, At float64 // in percent of the width
	Gate, Goal    float64 // 0 is none
}

// below and above are the decades on both sides of the limit.
const below, above = 2.0, 1.0

func forestOf(c record.Comparison) *forest {
	limit := cmp.Or(c.Gate, c.Goal)
	if limit == 0 {
		return nil
	}
	at := func(v float64) float64 {
		of := v / limit
		if c.LowerBound {
			of = limit / v
		}
		if !(of > 0) { // a difference of zero or less
			return 0
		}
		return chart.Percent(min(max((math.Log10(of)+below)/(below+above), 0), 1) * chart.Width)
	}
	f := &forest{At: at(c.Ratio), Low: min(at(c.Low), at(c.High))}
	f.Wide = max(math.Abs(at(c.High)-at(c.Low)), 0.6)
	if c.Gate != 0 {
		f.Gate = at(c.Gate)
	}
	if c.Goal != 0 {
		f.Goal = at(c.Goal)
	}
	return f
}
