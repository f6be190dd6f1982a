package load

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Figure is one measured quantity other than the latency of calls: memory, a time to start, or a
// quantile that was measured several times.
type Figure struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Median float64 `json:"median"`
	// P95 is not exceeded by 95 of 100 samples. With fewer than 20 samples it is the largest.
	P95     float64 `json:"p95"`
	Low     float64 `json:"low"`  // the smallest sample
	High    float64 `json:"high"` // the largest sample
	Samples int     `json:"samples"`
	Goal    float64 `json:"goal,omitzero"` // upper limit; 0 is none
	Verdict Verdict `json:"verdict,omitzero"`
}

// NewFigure summarizes measurements of one quantity. There must be at least one. With a goal, the
// figure passes if all measurements meet the goal, and fails if none does.
func NewFigure(name, unit string, samples []float64, goal float64) Figure {
	sorted := slices.Sorted(slices.Values(samples))
	n := len(sorted)
	f := Figure{
		Name: name, Unit: unit, Median: middle(sorted), P95: sorted[int(math.Ceil(0.95*float64(n)))-1],
		Low: sorted[0], High: sorted[n-1],
		Samples: n, Goal: goal,
	}
	if goal > 0 {
		f.Verdict = Gate(Estimate{Low: f.Low, High: f.High}, AtMost(goal))
	}
	return f
}

// NewDifference summarizes by how much the subject exceeds the baseline, from measurements taken in
// pairs side by side. A disturbance of the machine hits both sides of a pair equally often, so that
// single differences say little. Therefore the figure is judged by the 95 % interval of the median
// difference, if there is a goal.
func NewDifference(name, unit string, baseline, subject []float64, goal float64) Figure {
	differences := make([]float64, len(subject))
	for i := range differences {
		differences[i] = subject[i] - baseline[i]
	}
	f := NewFigure(name, unit, differences, 0)
	if goal > 0 {
		low, high := bootstrap(differences, 1, median)
		f.Goal, f.Verdict = goal, Gate(Estimate{Low: low, High: high}, AtMost(goal))
	}
	return f
}

func median(values []float64) float64 { return middle(slices.Sorted(slices.Values(values))) }

// middle returns the median of a sorted list.
func middle(sorted []float64) float64 {
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// figureColumns are the columns of the table of figures.
func figureColumns() []column[Figure] {
	return []column[Figure]{
		{"figure", func(f Figure) string { return f.Name }},
		{"unit", func(f Figure) string { return f.Unit }},
		number("median", func(f Figure) float64 { return f.Median }),
		number("p95", func(f Figure) float64 { return f.P95 }),
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
