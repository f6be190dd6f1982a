package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Nothing is shown in place of a missing number. Apart is the no-break space between a number and
// its unit.
const (
	Nothing = "–"
	Apart   = "\u00a0"
)

// Count formats a whole number with separators between thousands.
func Count[N int | int64 | uint64](n N) string {
	digits := fmt.Sprint(n)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}

// Finite reports whether v can be drawn.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// ThreeDigits formats a number with three significant digits.
func ThreeDigits(v float64) string {
	switch a := math.Abs(v); {
	case !Finite(v):
		return Nothing
	case a >= 1e12:
		return strconv.FormatFloat(v, 'e', 2, 64)
	case a >= 100:
		return Count(int64(math.Round(v)))
	case v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}
