package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// measurements are positive and finite, over six orders of magnitude.
func measurements(t *rapid.T, label string, n int) []float64 {
	return rapid.SliceOfN(rapid.Float64Range(1e-3, 1e3), n, n).Draw(t, label)
}

func TestRatioHasItsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(MinPairs, 20).Draw(t, "pairs")
		a, b := measurements(t, "baseline", n), measurements(t, "subject", n)
		e, err := Ratio(a, b)
		if err != nil {
			t.Fatal(err)
		}
		close := func(got, want float64) bool { return math.Abs(got-want) <= 1e-9*math.Abs(want) }

		low, high := math.Inf(1), 0.0
		for i := range a {
			low, high = min(low, b[i]/a[i]), max(high, b[i]/a[i])
		}
		if e.Ratio < low*(1-1e-9) || e.Ratio > high*(1+1e-9) {
			t.Fatalf("%v is outside the range of the pairs, %v to %v", e.Ratio, low, high)
		}
		if !close(e.Low*e.High, e.Ratio*e.Ratio) || e.Low > e.High {
			t.Fatalf("%v to %v is not around %v", e.Low, e.High, e.Ratio)
		}
		// Units cancel out.
		factor := rapid.Float64Range(0.01, 100).Draw(t, "factor")
		scaled := make([]float64, n)
		for i := range b {
			scaled[i] = b[i] * factor
		}
		if s, _ := Ratio(a, scaled); !close(s.Ratio, e.Ratio*factor) || !close(s.Low, e.Low*factor) ||
			!close(s.High, e.High*factor) {
			t.Fatalf("scaled by %v: %+v, from %+v", factor, s, e)
		}
		// Exchanging the two inverts the ratio.
		if inverse, _ := Ratio(b, a); !close(inverse.Ratio, 1/e.Ratio) || !close(inverse.Low, 1/e.High) ||
			!close(inverse.High, 1/e.Low) {
			t.Fatalf("inverse = %+v, of %+v", inverse, e)
		}
	})
}

// The interval contains the true ratio in 95 of 100 experiments, however few pairs there are.
func TestIntervalCoversTheTruth(t *testing.T) {
	const truth, experiments = 1.25, 4000
	for _, pairs := range []int{MinPairs, 2 * MinPairs, 60} {
		random := rand.New(rand.NewPCG(1, 2))
		covered := 0
		for range experiments {
			a, b := make([]float64, pairs), make([]float64, pairs)
			for i := range a {
				common := math.Exp(random.NormFloat64()) // a disturbance of both, which pairing must cancel out
				a[i] = common * math.Exp(0.1*random.NormFloat64())
				b[i] = common * math.Exp(0.1*random.NormFloat64()) * truth
			}
			e, err := Ratio(a, b)
			if err != nil {
				t.Fatal(err)
			}
			if e.Low <= truth && truth <= e.High {
				covered++
			}
		}
		if share := float64(covered) / experiments; share < 0.94 || share > 0.96 {
			t.Errorf("%d pairs: the interval held the truth in %.1f of 100 experiments", pairs, 100*share)
		}
	}
}

func TestMovedCoversTheTruthAsWell(t *testing.T) {
	const truth, experiments = 1.25, 4000
	random := rand.New(rand.NewPCG(1, 2))
	covered := 0
	for range experiments {
		a, b := make([]float64, MinPairs), make([]float64, 4*MinPairs)
		for i := range a {
			a[i] = math.Exp(0.3 * random.NormFloat64())
		}
		for i := range b {
			b[i] = truth * math.Exp(0.1*random.NormFloat64())
		}
		e, err := UnpairedRatio(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if e.Low <= truth && truth <= e.High {
			covered++
		}
	}
	if share := float64(covered) / experiments; share < 0.94 || share > 0.96 {
		t.Errorf("the interval held the truth in %.1f of 100 experiments", 100*share)
	}
}

// The quantiles match the published tables.
func TestStudentIsStudents(t *testing.T) {
	for free, want := range map[float64]float64{4: 2.776, 5: 2.571, 6: 2.447, 8: 2.306, 9: 2.262,
		14: 2.145, 29: 2.045, 120: 1.980, 1e9: 1.960} {
		if got := student(free); math.Abs(got-want) > 0.003*want {
			t.Errorf("%v degrees of freedom: %.3f, want %v", free, got, want)
		}
	}
}

func TestRatioRefusesWhatItCannotJudge(t *testing.T) {
	five := []float64{1, 1, 1, 1, 1}
	tests := []struct {
		name              string
		baseline, subject []float64
	}{
		{"unequal", five, five[:4]},
		{"too few", five[:4], five[:4]},
		{"zero", five, []float64{1, 1, 1, 1, 0}},
		{"not a number", five, []float64{1, 1, 1, 1, math.NaN()}},
		{"infinite", []float64{1, 1, math.Inf(1), 1, 1}, five},
	}
	for _, test := range tests {
		if e, err := Ratio(test.baseline, test.subject); err == nil {
			t.Errorf("%s: accepted as %+v", test.name, e)
		}
	}
}

func TestGateFailsOnlyWhenTheWholeIntervalIsBeyondTheLimit(t *testing.T) {
	tests := []struct {
		low, high float64
		limit     Limit
		want      Verdict
	}{
		{1.00, 1.05, AtMost(1.1), Pass},
		{1.00, 1.10, AtMost(1.1), Pass},
		{1.05, 1.20, AtMost(1.1), Unclear},
		{1.10, 1.20, AtMost(1.1), Unclear},
		{1.11, 1.20, AtMost(1.1), Fail},
		{0.95, 1.05, AtLeast(0.9), Pass},
		{0.90, 1.05, AtLeast(0.9), Pass},
		{0.85, 0.95, AtLeast(0.9), Unclear},
		{0.80, 0.90, AtLeast(0.9), Unclear},
		{0.80, 0.89, AtLeast(0.9), Fail},
	}
	for _, test := range tests {
		if got := Gate(Estimate{Low: test.low, High: test.high}, test.limit); got != test.want {
			t.Errorf("%v to %v, limit %v: %s, want %s", test.low, test.high, test.limit, got, test.want)
		}
	}
}

func TestAlternateSwapsTheOrder(t *testing.T) {
	var order string
	take := func(name string, value float64) func(int) (float64, error) {
		return func(round int) (float64, error) {
			order += fmt.Sprintf("%s%d ", name, round)
			return value + float64(round), nil
		}
	}
	a, b, err := Alternate(3, take("a", 10), take("b", 20))
	if err != nil {
		t.Fatal(err)
	}
	if want := "a0 b0 b1 a1 a2 b2 "; order != want {
		t.Errorf("order = %q, want %q", order, want)
	}
	if got, want := fmt.Sprint(a, b), "[10 11 12] [20 21 22]"; got != want {
		t.Errorf("measurements = %s, want %s", got, want)
	}
	broken := fmt.Errorf("no server")
	if _, _, err := Alternate(3, take("a", 1), func(int) (float64, error) {
		return 0, broken
	}); err == nil || err.Error() != "round 0: no server" {
		t.Errorf("error = %v", err)
	}
}

func ExampleGate() {
	// p99 in milliseconds, five rounds: a relay alone, then with the host before it.
	relay := []float64{1.02, 1.10, 0.98, 1.05, 1.01}
	host := []float64{1.05, 1.12, 1.01, 1.10, 1.03}
	e, err := Ratio(relay, host)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.2f, %.2f to %.2f: %s\n", e.Ratio, e.Low, e.High, Gate(e, AtMost(1.10)))
	// Output: 1.03, 1.01 to 1.04: pass
}

func TestDifferenceIsTheMedianOfPairs(t *testing.T) {
	e, err := Difference([]float64{1, 2, 3, 4, 500}, []float64{3, 4, 5, 6, 502}, 1)
	if err != nil || e != (Estimate{Ratio: 2, Low: 2, High: 2, Pairs: 5}) {
		t.Errorf("got %+v, %v", e, err)
	}
	for _, bad := range [][2][]float64{{{1}, {1}}, {{1, 2, 3, 4, 5}, {1}},
		{{1, 2, 3, 4, math.Inf(1)}, {1, 2, 3, 4, math.Inf(1)}}} {
		if _, err := Difference(bad[0], bad[1], 1); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

func TestMovedTellsWhatChangedFromNoise(t *testing.T) {
	before := []float64{10, 11, 9, 10.5, 9.5, 10}
	for _, test := range []struct {
		name  string
		after []float64
		moved bool
	}{
		{"the same", []float64{9.8, 10.4, 10.9, 9.1, 10}, false},
		{"twice", []float64{20, 22, 18, 21, 19}, true},
	} {
		e, err := UnpairedRatio(before, test.after)
		if err != nil || (e.Low > 1) != test.moved || e.Low > e.Ratio || e.High < e.Ratio {
			t.Errorf("%s: %+v, %v", test.name, e, err)
		}
	}
	if _, err := UnpairedRatio(before, before[:4]); err == nil {
		t.Error("four rounds were accepted")
	}
	if _, err := UnpairedRatio(before, []float64{0, 1, 1, 1, 1}); err == nil {
		t.Error("0 was accepted")
	}
}
