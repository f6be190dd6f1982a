package record

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func whole() Record {
	return Record{
		Format: Format, Seed: math.MaxUint64, Begun: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		Experiment: Experiment{
			Name: "hang", Catalogue: []string{"F05"}, MayRestart: []string{},
			Restarts: map[string][2]int{"a/*": {1, 3}}, TargetErrors: -1,
		},
		Phases: []Phase{{Baseline, 0, 5}},
		Groups: []Group{
			{Tenant: "acme", Phases: map[string]Calls{Fault: {Sent: 2, Histogram: []Bucket{{1, 2}}}},
				Seconds: []Second{{At: 1}}, Errors: map[string]uint64{"</script>": 1},
				Violations: []Violation{{1, "lost", "x"}}},
		},
		Strikes: []Strike{{ID: "1"}}, Rows: []Row{{Path: "mcpd"}}, Events: []Event{{Name: "e"}},
		Probes:   []Probe{{"ready", []Answer{{1, true, "200"}}}},
		Holdings: []Holding{{Name: "goroutines"}}, Effects: &Effects{Asked: 1},
		Figures:  []Figure{{Name: "detect", Samples: []float64{1.5}}},
		Verdicts: []Verdict{{"I1", "text", Pass, "found"}},
	}
}

func written(t *testing.T, list ...Record) string {
	t.Helper()
	var b strings.Builder
	for _, r := range list {
		if err := Write(&b, r); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestRecordsComeBackAsTheyWereWritten(t *testing.T) {
	one, two := whole(), whole()
	two.Experiment.Name = "drop"
	got, err := Read(strings.NewReader(written(t, one, two)))
	if want := []Record{one, two}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Read = %+v, %v, want %+v", got, err, want)
	}
}

func TestWhatIsNoNumberOrNoTextIsWritten(t *testing.T) {
	r := whole()
	r.Figures[0].Samples = []float64{math.NaN(), math.Inf(1), 2}
	r.Events[0].Message = "a\xffb"
	got, err := Read(strings.NewReader(written(t, r)))
	if err != nil {
		t.Fatal(err)
	}
	if s := got[0].Figures[0].Samples; len(s) != 3 || !math.IsNaN(s[0]) ||
		!math.IsNaN(s[1]) || s[2] != 2 {
		t.Errorf("samples %v, want NaN, NaN and 2", s)
	}
	if m := got[0].Events[0].Message; m != "a\ufffdb" {
		t.Errorf("message %q, want a\ufffdb", m)
	}
}

func TestReadRefusesWhatItDoesNotKnow(t *testing.T) {
	good := written(t, whole())
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", "no record: nothing is there"},
		{"another format", `{"format": 2, "of": "things to come"}`,
			"record 1: its format is 2, and only 1 is known here"},
		{"no format", `{"seed": 1}`, "record 1: no record of an experiment: it has no format"},
		{"the second of two", good + `{"format": 7}`, "record 2: its format is 7"},
		{"a list", `[]`, "record 1: no record of an experiment"},
		{"no JSON", `format: 1`, "record 1: no record of an experiment: it is no JSON: "},
		{"torn", good[:len(good)/2], "record 1: "},
		{"an unknown member", `{"format": 1, "verdict": []}`, `"verdict"`},
		{"a member twice", `{"format": 1, "seed": 1, "seed": 2}`, `"seed"`},
		{"another type", `{"format": 1, "groups": [{"rate": "fast"}]}`, "/groups/0/rate"},
	} {
		if _, err := Read(strings.NewReader(test.text)); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"format": 1, "figures": [{"samples": [null, 1e308]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		again, err := Read(strings.NewReader(written(t, list...)))
		if err != nil || written(t, again...) != written(t, list...) {
			t.Errorf("%q came back as %+v, %v", text, again, err)
		}
	})
}
