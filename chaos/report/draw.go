package report

import (
	"math"

	"mcpd/internal/chart"
)

// Drawings are stretched to the space that they get, so that their units are fractions of its width
// and height.
const (
	width = chart.Width
	tall  = chart.Tall
	// grain is the least width of a shape. Shapes that are nearer to each other than that are drawn as
	// one. It bounds the length of a drawing.
	grain = 4.0
)

// snapped rounds a position to the grain.
func snapped(x float64) float64 { return math.Round(min(max(x, 0), width)/grain) * grain }

// step is one column of a stepped curve: from x to end, between two heights.
type step struct{ x, end, low, high float64 }

// area fills stepped columns from low to high. Adjacent columns share one outline.
func area(steps []step) string {
	var p chart.Path
	for from := 0; from < len(steps); {
		to := from + 1
		for to < len(steps) && steps[to].x == steps[to-1].end {
			to++
		}
		p.To('M', steps[from].x, steps[from].low)
		for _, s := range steps[from:to] {
			p.To('V', s.high)
			p.To('H', s.end)
		}
		for i := to - 1; i >= from; i-- {
			p.To('V', steps[i].low)
			p.To('H', steps[i].x)
		}
		p.To('z')
		from = to
	}
	return p.String()
}

// line draws the upper edge of stepped columns. It has a gap where there is no column.
func line(steps []step) string {
	var p chart.Path
	for i, s := range steps {
		if i == 0 || steps[i-1].end != s.x {
			p.To('M', s.x, s.high)
		} else {
			p.To('V', s.high)
		}
		p.To('H', s.end)
	}
	return p.String()
}

// span is a named stretch of a lane.
type span struct {
	From, To float64
	Count    int
	Text     string
}

// Wide returns the width of the span.
func (s span) Wide() float64 { return s.To - s.From }

// join merges spans that are closer together than the grain. The spans must be sorted by From, in
// units of the drawing.
func join(spans []span) (list []span) {
	for _, s := range spans {
		s.From, s.To = snapped(s.From), snapped(s.To)
		s.To = min(max(s.To, s.From+grain), width)
		s.From = min(s.From, width-grain)
		if last := len(list) - 1; last >= 0 && s.From < list[last].To {
			list[last].To = max(list[last].To, s.To)
			list[last].Count += s.Count
			continue
		}
		list = append(list, s)
	}
	return list
}

// mark is a label at a position, in percent.
type mark struct {
	At    float64
	Text  string
	Minor bool // omitted where space is scarce
}
