package record

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"mcpd/internal/load"
)

func sample() Record {
	return Record{
		Format: Format, Machine: Machine{CPU: "one", Cores: 2},
		Begun: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC), Seconds: 1, Seed: 1,
		Scenarios: []Scenario{{"s", "S", "What.", 1}},
		Measurements: []Measurement{
			{Scenario: "s", Case: "c", Subject: Mcpd, Quantity: "p50", Unit: "µs", Rounds: []float64{1, 2},
				Calls: &load.Counts{Sent: 2, OK: 2}},
		},
		Comparisons: []Comparison{
			{Scenario: "s", Case: "c", Name: "p50",
				Estimate: load.Estimate{Ratio: 1, Low: 1, High: 1, Pairs: 5}, Rounds: []float64{1},
				Verdict: load.Pass},
		},
		Missing: []Missing{{Scenario: "s", Subject: OTP, Reason: "not here"}},
	}
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, sample()); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if want := sample(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, text := range []string{"", "{", `{"format":2}`, `{"format":1,"seed":"x"}`,
		`{"format":1,"experiment":{}}`} {
		if _, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestFailuresAreGatesLostAnswersAndBrokenScenarios(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Record)
		want   int
	}{
		"as it is": {func(*Record) {}, 0},
		"gate":     {func(r *Record) { r.Comparisons[0].Verdict = load.Fail }, 1},
		"owed": {func(r *Record) {
			r.Comparisons[0].Verdict, r.Comparisons[0].Outstanding = load.Fail, "not yet"
		}, 0},
		"unclear": {func(r *Record) { r.Comparisons[0].Verdict = load.Unclear }, 1},
		"unclear in a short run": {func(r *Record) {
			r.Comparisons[0].Verdict, r.Short = load.Unclear, true
		}, 0},
		"unclear and owed": {func(r *Record) {
			r.Comparisons[0].Verdict, r.Comparisons[0].Outstanding = load.Unclear, "not yet"
		}, 0},
		"fails in a short run": {func(r *Record) {
			r.Comparisons[0].Verdict, r.Short = load.Fail, true
		}, 1},
		"goal":      {func(r *Record) { r.Comparisons[0].Reached = load.Fail }, 0},
		"lost":      {func(r *Record) { r.Measurements[0].Calls.Lost = 1 }, 1},
		"doubled":   {func(r *Record) { r.Measurements[0].Calls.Duplicate = 1 }, 1},
		"crosstalk": {func(r *Record) { r.Measurements[0].Calls.Crosstalk = 1 }, 1},
		"broken":    {func(r *Record) { r.Missing[0].Broken = true }, 1},
	} {
		r := sample()
		test.change(&r)
		if got := r.Failures(); len(got) != test.want {
			t.Errorf("%s: %q, want %d", name, got, test.want)
		}
	}
}

func TestFailuresHaveNumbersWithoutExponents(t *testing.T) {
	r := sample()
	c := &r.Comparisons[0]
	c.Estimate, c.Gate, c.EarlierRatio, c.Unit, c.Verdict = load.Estimate{Ratio: 6575, Low: 999.4,
		High: 65750}, 4500, 6581, "B", load.Fail
	want := "s: c, p50: 6,575 (999 to 65,750), must be at most 4,500 B, and has become worse than " +
		"the 6,581 that it is owed at"
	if got := r.Failures(); len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("%q, want %s", got, want)
	}
}
