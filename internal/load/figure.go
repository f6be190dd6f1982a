package load

import (
	"cmp"
	"fmt"
	"slices"
)

// Figure is one measured quantity that is no latency of calls: memory, a time to start, a quantile that was taken several times.
type Figure struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Median  float64 `json:"median"`
	Low     float64 `json:"low"`  // the smallest that was measured
	High    float64 `json:"high"` // the largest
	Samples int     `json:"samples"`
	Goal    float64 `json:"goal,omitzero"` // what it should not exceed; 0 is none
	Verdict Verdict `json:"verdict,omitzero"`
}

// NewFigure sums up measurements of one quantity, of which there is at least one. With a goal, it passes when all of them keep it and
// fails when none does.
func NewFigure(name, unit string, samples []float64, goal float64) Figure {
	sorted := slices.Sorted(slices.Values(samples))
	n := len(sorted)
	f := Figure{Name: name, Unit: unit, Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Low: sorted[0], High: sorted[n-1], Samples: n, Goal: goal}
	if goal > 0 {
		f.Verdict = Gate(Estimate{Low: f.Low, High: f.High}, AtMost(goal))
	}
	return f
}

// figureColumns is the table of figures.
func figureColumns() []column[Figure] {
	return []column[Figure]{
		{"figure", func(f Figure) string { return f.Name }},
		{"unit", func(f Figure) string { return f.Unit }},
		number("median", func(f Figure) float64 { return f.Median }),
		{"spread", func(f Figure) string { return figure(f.Low) + " to " + figure(f.High) }},
		count("samples", func(f Figure) uint64 { return uint64(f.Samples) }),
		{"goal", func(f Figure) string {
			if f.Goal == 0 {
				return ""
			}
			return fmt.Sprintf("≤ %s", figure(f.Goal))
		}},
		{"verdict", func(f Figure) string { return cmp.Or(string(f.Verdict), "-") }},
	}
}
