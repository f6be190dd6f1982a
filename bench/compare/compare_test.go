package compare

import (
	"testing"

	"mcpd/bench/record"
)

func run(ratio []float64, least bool, kib []float64) record.Record {
	return record.Record{
		Machine: record.Machine{CPU: "one", Cores: 2},
		Comparisons: []record.Comparison{
			{Scenario: "s", Case: "c", Name: "of another's", Rounds: ratio, LowerBound: least},
		},
		Measurements: []record.Measurement{
			{Scenario: "s", Case: "c", Subject: record.Mcpd, Quantity: "heap", Unit: "KiB", Rounds: kib},
		},
	}
}

func TestWhatBecameOfIt(t *testing.T) {
	var (
		small = []float64{1, 1.01, 0.99, 1, 1.02}
		large = []float64{2, 2.02, 1.98, 2.01, 2}
		wild  = []float64{0.5, 2, 1, 0.7, 1.5}
	)
	for _, test := range []struct {
		name          string
		before, after []float64
		least         bool
		want          Change
	}{
		{"twice as much", small, large, false, Worse},
		{"half as much", large, small, false, Better},
		{"twice as much of what should be much", small, large, true, Better},
		{"half of it", large, small, true, Worse},
		{"no change", small, small, false, Same},
		{"noise", small, wild, false, Unclear},
		{"too few rounds", small, small[:3], false, Incomparable},
		{"no ratio of what is negative", small, []float64{-1, 1, 1, 1, 1}, false, Incomparable},
	} {
		list, err := Compare(run(test.before, test.least, small), run(test.after, test.least, small))
		if err != nil {
			t.Fatal(err)
		}
		if list[0].Is != test.want || list[1].Is != Same {
			t.Errorf("%s: %+v, want %s", test.name, list, test.want)
		}
	}
}

func TestMemoryIsComparedItself(t *testing.T) {
	ratio := []float64{1, 1, 1, 1, 1}
	list, err := Compare(run(ratio, false, []float64{5, 5.1, 5, 4.9, 5}), run(ratio, false, []float64{
		6, 6.1, 6, 5.9, 6,
	}))
	if err != nil || list[1].Is != Worse || list[1].Name != "heap" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestWhatCannotBeTold(t *testing.T) {
	r := run([]float64{1, 1, 1, 1, 1}, false, nil)
	for name, change := range map[string]func(*record.Record){
		"another processor": func(r *record.Record) { r.Machine.CPU = "two" },
		"more cores":        func(r *record.Record) { r.Machine.Cores = 4 },
		"another form":      func(r *record.Record) { r.Short = true },
	} {
		other := r
		change(&other)
		if _, err := Compare(r, other); err == nil {
			t.Errorf("%s: the runs were compared", name)
		}
	}
	renamed := run([]float64{1, 1, 1, 1, 1}, false, nil)
	renamed.Comparisons[0].Name = "of nobody's"
	list, err := Compare(r, renamed)
	if err != nil || len(list) < 2 || list[0].Is != Incomparable || list[1].Is != Incomparable {
		t.Errorf("%+v, %v", list, err)
	}
}
