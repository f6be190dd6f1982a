package chart

import (
	"math"
	"testing"
)

func TestPathsAreShortAndClosed(t *testing.T) {
	var p Path
	p.Rect(0, 1.26, 10, 5)
	if got, want := p.String(), "M0 1.3h10v5h-10z"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDecadesEncloseTheirValues(t *testing.T) {
	for _, test := range []struct {
		values    []float64
		low, high int
	}{{nil, -1, 0}, {[]float64{1}, 0, 1}, {[]float64{0.02, 3}, -2, 1},
		{[]float64{math.NaN(), -1, 50}, 1, 2}} {
		if low, high := Decades(test.values...); low != test.low || high != test.high {
			t.Errorf("%v: %d to %d, want %d to %d", test.values, low, high, test.low, test.high)
		}
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.01234: "0.012", 1.2345: "1.23", 12.345: "12.3",
		1234567: "1,234,567", -5: "-5", math.Inf(1): Nothing} {
		if got := ThreeDigits(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
