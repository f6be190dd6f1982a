package report

import (
	"math"
	"strconv"
	"strings"
)

// Drawings are stretched over the room they get: their units are parts of its width and height.
const (
	width = 1000.0
	tall  = 100.0
	// grain is how wide a thing is at least; what is nearer to another than that is drawn as one with it. It bounds the length of a drawing.
	grain = 4.0
)

// snapped is a place on the grain.
func snapped(x float64) float64 { return math.Round(min(max(x, 0), width)/grain) * grain }

// path is the outline of a drawing, as SVG writes it.
type path struct{ strings.Builder }

func (p *path) to(command byte, numbers ...float64) {
	p.WriteByte(command)
	for i, v := range numbers {
		if i > 0 {
			p.WriteByte(' ')
		}
		p.WriteString(strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64))
	}
}

func (p *path) rect(x, y, w, h float64) {
	p.to('M', x, y)
	p.to('h', w)
	p.to('v', h)
	p.to('h', -w)
	p.to('z')
}

// step is one column of a stepped curve: from x to end, between two heights.
type step struct{ x, end, low, high float64 }

// area fills stepped columns from low to high. Columns that touch become one outline.
func area(steps []step) string {
	var p path
	for from := 0; from < len(steps); {
		to := from + 1
		for to < len(steps) && steps[to].x == steps[to-1].end {
			to++
		}
		p.to('M', steps[from].x, steps[from].low)
		for _, s := range steps[from:to] {
			p.to('V', s.high)
			p.to('H', s.end)
		}
		for i := to - 1; i >= from; i-- {
			p.to('V', steps[i].low)
			p.to('H', steps[i].x)
		}
		p.to('z')
		from = to
	}
	return p.String()
}

// line is the upper edge of stepped columns. It has gaps where there is no column.
func line(steps []step) string {
	var p path
	for i, s := range steps {
		if i == 0 || steps[i-1].end != s.x {
			p.to('M', s.x, s.high)
		} else {
			p.to('V', s.high)
		}
		p.to('H', s.end)
	}
	return p.String()
}

// span is a stretch of something that has a name.
type span struct {
	From, To float64
	Count    int
	Text     string
}

// Wide is how wide it is.
func (s span) Wide() float64 { return s.To - s.From }

// hundredth is a part of the width or the height in hundredths, as style sheets write it.
func hundredth(v float64) float64 { return math.Round(v*10) / 100 }

// join puts spans that lie closer together than the grain into one. They come sorted by From, in units of the drawing.
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

// decades are the powers of ten around positive values, at least one apart. Without a value they are 0.1 and 1.
func decades(values ...float64) (low, high int) {
	low, high = math.MaxInt, math.MinInt
	for _, v := range values {
		if finite(v) && v > 0 {
			l := math.Log10(min(max(v, 1e-3), 1e6))
			low, high = min(low, int(math.Floor(l))), max(high, int(math.Ceil(l)))
		}
	}
	if low > high {
		return -1, 0
	}
	if low == high {
		high++
	}
	return low, high
}

// mark is a label at a place, in parts of a hundred.
type mark struct {
	At    float64
	Text  string
	Minor bool // left out where there is little room
}

// roundStep is a step of 1, 2 or 5 times a power of ten of which at most so many fit into a length.
func roundStep(length float64, most int) float64 {
	step := math.Pow(10, math.Floor(math.Log10(length/float64(most))))
	for _, by := range []float64{1, 2, 5, 10} {
		if length/(step*by) <= float64(most) {
			return step * by
		}
	}
	return length
}
