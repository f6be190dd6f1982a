package kit

import (
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"mcpd/bench/record"
	"mcpd/internal/load"
)

func TestCompareJudgesGateAndGoal(t *testing.T) {
	tests := []struct {
		name             string
		subject          float64 // for a baseline of 1
		limits           Limits
		verdict, reached load.Verdict
	}{
		{"within both", 0.2, Limits{Gate: 1, Goal: 0.5}, load.Pass, load.Pass},
		{"short of the goal", 0.8, Limits{Gate: 1, Goal: 0.5}, load.Pass, load.Fail},
		{"beyond the gate", 1.2, Limits{Gate: 1, Goal: 0.5}, load.Fail, load.Fail},
		{"at least", 0.95, Limits{Gate: 0.9, Goal: 1, LowerBound: true}, load.Pass, load.Fail},
		{"no limit", 3, Limits{}, "", ""},
	}
	for _, test := range tests {
		r := &Run{}
		of := func(v float64) record.Measurement {
			return record.Measurement{Rounds: []float64{v, v, v, v, v}}
		}
		if err := r.Compare(test.name, of(test.subject), of(1), test.limits); err != nil {
			t.Fatal(err)
		}
		if c := r.Record.Comparisons[0]; c.Verdict != test.verdict || c.Reached != test.reached {
			t.Errorf("%s: %q and %q, want %q and %q", test.name, c.Verdict, c.Reached, test.verdict,
				test.reached)
		}
	}
}

// A count has limits in its own unit, and the record shows that unit.
func TestCountsAreJudgedByThemselves(t *testing.T) {
	for gate, want := range map[float64]load.Verdict{45: load.Pass, 44: load.Unclear, 41: load.Fail} {
		r := &Run{Seed: 1}
		m := record.Measurement{Unit: "objects", Rounds: []float64{42, 43, 44, 45, 44}}
		if err := r.Count("heap objects per call", m, Limits{Gate: gate, Goal: 30}); err != nil {
			t.Fatal(err)
		}
		c := r.Record.Comparisons[0]
		if c.Verdict != want || c.Reached != load.Fail || c.Unit != m.Unit || c.Ratio != 44 ||
			c.Rounds[0] != 42 {
			t.Errorf("gate %v: %+v, want %q", gate, c, want)
		}
	}
}

func TestHistogramsSurviveTheRecord(t *testing.T) {
	h := hdrhistogram.New(100, 1e10, 3)
	for _, v := range []int64{1000, 2000, 3000} {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	text, err := Encode(h)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if !again.Equals(h) {
		t.Errorf("%v is now %v", h.Distribution(), again.Distribution())
	}
	if _, err := Decode(""); err == nil {
		t.Error("nothing was decoded")
	}
}
