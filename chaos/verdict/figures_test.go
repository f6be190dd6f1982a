package verdict

import (
	"math"
	"testing"

	"mcpd/chaos/record"
)

// A goal holds for 99 of 100 samples. A number of samples beyond it that could be chance neither
// fails nor passes.
func TestFigureBeyondItsGoalByChanceIsUnclear(t *testing.T) {
	for _, x := range []struct {
		beyond, of int
		want       string
	}{
		{0, 1, record.Pass}, {0, 1000, record.Pass},
		{1, 1, record.Fail}, {1, 5, record.Fail}, {1, 6, record.Unclear}, {1, 8, record.Unclear},
		{2, 8, record.Fail},
		{3, 100, record.Unclear}, {4, 100, record.Fail}, {1000, 1000, record.Fail},
	} {
		samples := make([]float64, x.of)
		for i := range x.beyond {
			samples[i] = 2
		}
		r := record.Record{
			Figures: []record.Figure{{Name: "restart_ms", Unit: "ms", Samples: samples, Goal: 1}},
		}
		if is, found := figures(r); is != x.want {
			t.Errorf("%d of %d beyond the goal: %s, %s, want %s", x.beyond, x.of, is, found, x.want)
		}
	}
	// A figure that no fault lasted long enough for is not judged.
	r := record.Record{
		Figures: []record.Figure{{Name: "detect_ms", Unit: "ms", Goal: 5100, DuringFault: true}},
		Strikes: []record.Strike{{To: 2, Hits: 1}},
	}
	if is, found := figures(r); is != record.Unjudged ||
		found != "detect_ms: nothing was measured, which may take 5100 ms" {
		t.Errorf("no fault was long enough: %s, %s", is, found)
	}
	r.Strikes[0].To = 6
	if is, found := figures(r); is != record.Fail {
		t.Errorf("it was not found out: %s, %s", is, found)
	}
	if got := chance(1, 100); math.Abs(got-0.6340) > 1e-4 { // 1 - 0.99^100
		t.Errorf("one or more of 100: %.5f, want 0.6340", got)
	}
}
