package report

import (
	"math"
	"unicode/utf8"

	"mcpd/internal/chart"
)

// axis is a logarithmic axis.
type axis struct{ low, high float64 } // exponents of ten

func axisOf(values []float64) axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 && chart.Finite(v) {
			low, high = min(low, math.Log10(v)), max(high, math.Log10(v))
		}
	}
	if low > high {
		return axis{0, 1}
	}
	const margin = 0.04
	if wide := high - low; wide < 0.3 {
		low, high = low-(0.3-wide)/2, high+(0.3-wide)/2
	}
	wide := high - low
	return axis{low - margin*wide, high + margin*wide}
}

// at returns the position of a value on the axis, from 0 to 1.
func (a axis) at(v float64) float64 {
	if v <= 0 {
		return 0
	}
	return min(max((math.Log10(v)-a.low)/(a.high-a.low), 0), 1)
}

// ticks returns labelled round values: powers of ten, and on a short axis also some multiples of
// them.
func (a axis) ticks(label func(float64) string) (list []tick) {
	steps := []float64{1}
	switch {
	case a.high-a.low < 1.2:
		steps = []float64{1, 1.5, 2, 3, 5, 7}
	case a.high-a.low < 2.2:
		steps = []float64{1, 3}
	}
	every := max(1, int(math.Ceil((a.high-a.low)/6)))
	for d := math.Floor(a.low); d <= a.high; d++ {
		if len(steps) == 1 && int(d)%every != 0 {
			continue
		}
		for _, s := range steps {
			if v := s * math.Pow(10, d); math.Log10(v) >= a.low && math.Log10(v) <= a.high {
				list = append(list, tick{chart.Percent(a.at(v) * chart.Width), label(v)})
			}
		}
	}
	return list
}

// The size of labels, in percent of an axis. On most screens a plot has at least 234 by 150 pixels,
// and a letter has 6 by 16.
const (
	letter = 2.6
	gap    = 2.0 // beside a label
	line   = 12.0
)

// across returns the ticks of a horizontal axis. It omits ticks whose labels would touch the one
// before.
func across(list []tick) []tick {
	return apart(list, func(t tick) float64 {
		return gap + letter*float64(utf8.RuneCountInString(t.Text))
	})
}

// upwards converts ticks to those of a vertical axis. It also omits ticks whose labels would touch.
func upwards(list []tick) []tick {
	for i := range list {
		list[i].At = 100 - list[i].At
	}
	return apart(list, func(tick) float64 { return line })
}

func apart(list []tick, takes func(tick) float64) (kept []tick) {
	for _, t := range list {
		if n := len(kept); n == 0 || math.Abs(t.At-kept[n-1].At) >= (takes(t)+takes(kept[n-1]))/2 {
			kept = append(kept, t)
		}
	}
	return kept
}

func grid(x, y []tick) string {
	var p chart.Path
	for _, t := range x {
		p.To('M', t.At/100*chart.Width, 0)
		p.To('V', chart.Tall)
	}
	for _, t := range y {
		p.To('M', 0, t.At/100*chart.Tall)
		p.To('H', chart.Width)
	}
	return p.String()
}
