// Package chart has the means of reports to draw and to write numbers: SVG outlines, scales, and
// readable numbers. It knows nothing of the subject of a drawing.
package chart

import (
	"math"
	"strconv"
	"strings"
)

// The size of drawings. Drawings are stretched to the space that they get, so that their units are
// fractions of its width and height.
const (
	Width = 1000.0
	Tall  = 100.0
)

// Path is the outline of a drawing in SVG syntax.
type Path struct{ strings.Builder }

// To appends a command with its numbers, rounded to a tenth.
func (p *Path) To(command byte, numbers ...float64) {
	p.WriteByte(command)
	for i, v := range numbers {
		if i > 0 {
			p.WriteByte(' ')
		}
		p.WriteString(strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64))
	}
}

// Rect appends a rectangle.
func (p *Path) Rect(x, y, w, h float64) {
	p.To('M', x, y)
	p.To('h', w)
	p.To('v', h)
	p.To('h', -w)
	p.To('z')
}

// Percent converts a position in tenths of a percent of the width or height to percent, as style
// sheets need it.
func Percent(v float64) float64 { return math.Round(v*10) / 100 }

// Decades returns the powers of ten around positive values as exponents, at least one apart.
// Without a value they are -1 and 0.
func Decades(values ...float64) (low, high int) {
	low, high = math.MaxInt, math.MinInt
	for _, v := range values {
		if Finite(v) && v > 0 {
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

// RoundStep returns a step of 1, 2 or 5 times a power of ten, of which at most the given number
// fits into a length.
func RoundStep(length float64, most int) float64 {
	step := math.Pow(10, math.Floor(math.Log10(length/float64(most))))
	for _, by := range []float64{1, 2, 5, 10} {
		if length/(step*by) <= float64(most) {
			return step * by
		}
	}
	return length
}
