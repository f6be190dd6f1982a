package load

import "testing"

// A goal is met when every measurement keeps it and missed when none does; anything between says nothing.
func TestFigureIsJudgedByItsSpread(t *testing.T) {
	tests := []struct {
		samples []float64
		goal    float64
		want    Figure
	}{
		{[]float64{3, 1, 2}, 0, Figure{Median: 2, Low: 1, High: 3, Samples: 3}},
		{[]float64{4, 1, 2, 3}, 4, Figure{Median: 2.5, Low: 1, High: 4, Samples: 4, Goal: 4, Verdict: Pass}},
		{[]float64{3, 1, 2}, 2, Figure{Median: 2, Low: 1, High: 3, Samples: 3, Goal: 2, Verdict: Unclear}},
		{[]float64{3, 1, 2}, 0.5, Figure{Median: 2, Low: 1, High: 3, Samples: 3, Goal: 0.5, Verdict: Fail}},
		{[]float64{7}, 7, Figure{Median: 7, Low: 7, High: 7, Samples: 1, Goal: 7, Verdict: Pass}},
	}
	for _, test := range tests {
		test.want.Name, test.want.Unit = "heap", "KiB"
		if got := NewFigure("heap", "KiB", test.samples, test.goal); got != test.want {
			t.Errorf("figure of %v = %+v, want %+v", test.samples, got, test.want)
		}
	}
}
