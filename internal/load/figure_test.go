package load

import "testing"

// A goal is met if every measurement meets it, and missed if none does. Anything in between is
// unclear.
func TestFigureIsJudgedByItsSpread(t *testing.T) {
	tests := []struct {
		samples []float64
		goal    float64
		want    Figure
	}{
		{[]float64{3, 1, 2}, 0, Figure{Median: 2, P95: 3, Low: 1, High: 3, Samples: 3}},
		{[]float64{4, 1, 2, 3}, 4, Figure{
			Median: 2.5, P95: 4, Low: 1, High: 4, Samples: 4, Goal: 4, Verdict: Pass,
		}},
		{[]float64{3, 1, 2}, 2, Figure{
			Median: 2, P95: 3, Low: 1, High: 3, Samples: 3, Goal: 2, Verdict: Unclear,
		}},
		{[]float64{3, 1, 2}, 0.5, Figure{
			Median: 2, P95: 3, Low: 1, High: 3, Samples: 3, Goal: 0.5, Verdict: Fail,
		}},
		{[]float64{7}, 7, Figure{Median: 7, P95: 7, Low: 7, High: 7, Samples: 1, Goal: 7, Verdict: Pass}},
	}
	for _, test := range tests {
		test.want.Name, test.want.Unit = "heap", "KiB"
		if got := NewFigure("heap", "KiB", test.samples, test.goal); got != test.want {
			t.Errorf("figure of %v = %+v, want %+v", test.samples, got, test.want)
		}
	}
}

// The 95th percentile of many samples excludes the few largest.
func TestFigureLeavesOutWhatIsRare(t *testing.T) {
	var samples []float64
	for i := range 100 {
		samples = append(samples, float64(100-i))
	}
	if f := NewFigure("start", "ms", samples, 0); f.P95 != 95 || f.High != 100 {
		t.Errorf("%+v", f)
	}
}

// A disturbance of one side of a few pairs does not decide; a difference in every pair does.
func TestShareIsJudgedByItsMedian(t *testing.T) {
	baseline, subject := make([]float64, 50), make([]float64, 50)
	for i := range baseline {
		baseline[i], subject[i] = 20+float64(i%7), 25+float64(i%7)
	}
	subject[3], subject[30], baseline[20] = 500, 700, 600
	for goal, want := range map[float64]Verdict{10: Pass, 5: Pass, 4.9: Fail, 0: ""} {
		if f := NewDifference("share", "ms", baseline, subject, goal); f.Verdict != want ||
			f.Median != 5 ||
			f.Goal != goal {
			t.Errorf("with goal %v: %+v, want %q", goal, f, want)
		}
	}
	for i := range 25 {
		subject[2*i] += 10
	}
	if f := NewDifference("share", "ms", baseline, subject, 10); f.Verdict != Unclear {
		t.Errorf("%+v", f)
	}
}
