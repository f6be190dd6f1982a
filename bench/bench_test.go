package bench

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/internal/load"
)

// TestShortRunKeepsItsPromises runs everything in its short form. make bench does the same and shows what came of it.
func TestShortRunKeepsItsPromises(t *testing.T) {
	unraced(t)
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	begun := time.Now()
	r, err := Run(t.Context(), Options{Short: true, Seed: 1, Version: "test", Say: func(format string, args ...any) {
		t.Logf("%5.1f s "+format, append([]any{time.Since(begun).Seconds()}, args...)...)
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Failures() {
		t.Error(f)
	}
	if len(r.Scenarios) != len(All) || r.Machine.Cores == 0 || r.Machine.Go == "" {
		t.Errorf("%d scenarios on %+v", len(r.Scenarios), r.Machine)
	}
}

func TestScenariosHaveNamesOfTheirOwnAndSayWhatTheyMeasure(t *testing.T) {
	word := regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	var names []string
	for _, s := range All {
		if !word.MatchString(s.Name) || slices.Contains(names, s.Name) || s.Title == "" || s.What == "" || s.Measure == nil {
			t.Errorf("%+v", s)
		}
		names = append(names, s.Name)
	}
}

func TestRolesHaveNamesOfTheirOwnAndOneLife(t *testing.T) {
	var names []string
	for _, r := range Roles {
		if slices.Contains(names, r.Name) || (r.Serve == nil) == (r.Stdio == nil) {
			t.Errorf("%+v", r)
		}
		names = append(names, r.Name)
	}
}

func TestUnknownScenariosAreRefused(t *testing.T) {
	if _, err := Run(t.Context(), Options{Names: []string{"restart", "no-such"}}); err == nil {
		t.Error("no-such was run")
	}
	if list, err := chosen([]string{All[2].Name, All[0].Name}); err != nil || len(list) != 2 || list[0].Name != All[0].Name {
		t.Errorf("%v, %v", list, err)
	}
}

func TestMachineSaysWhatItIs(t *testing.T) {
	m := machine(t.Context(), "v1")
	if _, err := os.Stat("/proc/cpuinfo"); err == nil && (m.Memory == 0 || m.CPU == "" || m.System == "") {
		t.Errorf("%+v", m)
	}
}

// What this process uses is not what others do.
func TestProcessorTimeOfOthersIsNotOurs(t *testing.T) {
	before := processor{all: 100, own: 10}
	for _, test := range []struct{ all, own, want float64 }{{103, 11, 2}, {103, 13, tick}, {103, 14, tick}, {100, 10, tick}, {0, 14, 0}} {
		if got := (processor{test.all, test.own}).others(before); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
	if _, err := os.Stat("/proc/stat"); err == nil && (used().all <= used().own || used().own == 0) {
		t.Errorf("%+v", used())
	}
}

// Every gate that is owed is one that there is, with a ratio and the end of its interval on the worse side of it.
func TestGatesThatAreOwedAreOnesThatThereAre(t *testing.T) {
	for _, o := range owed {
		if !slices.ContainsFunc(All, func(s kit.Scenario) bool { return s.Name == o.scenario }) || o.kase == "" || o.name == "" || o.why == "" {
			t.Errorf("%+v", o)
		}
		if o.ratio == 0 || o.end == 0 || o.had != load.Fail && o.had != load.Unclear {
			t.Errorf("%+v has no ratio, or no verdict", o)
		}
	}
}

// A gate that is owed fails a run once it is worse than it was, with its whole interval; until then it is excused,
// whether it fails or cannot be judged. Nothing else is excused.
func TestAGateThatIsOwedFailsBeyondTheRatioThatItHad(t *testing.T) {
	o := owed[slices.IndexFunc(owed, func(o due) bool { return o.scenario == "call-http" })]
	at := func(low, high float64, verdict load.Verdict) record.Comparison {
		return record.Comparison{
			Scenario: o.scenario, Case: o.kase, Name: o.name, Verdict: verdict, Gate: 1.7, Estimate: load.Estimate{Ratio: (low + high) / 2, Low: low, High: high},
		}
	}
	unclear := owed[slices.IndexFunc(owed, func(o due) bool { return o.had == load.Unclear })]
	judged := func(verdict load.Verdict) record.Comparison {
		return record.Comparison{Scenario: unclear.scenario, Case: unclear.kase, Name: unclear.name, Verdict: verdict, Estimate: load.Estimate{Ratio: 1, Low: 0.9, High: unclear.end}}
	}
	another := at(o.ratio, o.ratio, load.Fail)
	another.Case = "another"
	for name, c := range map[string]struct {
		is      record.Comparison
		owed    bool
		failing int
	}{
		"as it was":                 {at(o.ratio-0.1, o.ratio+0.1, load.Fail), true, 0},
		"better":                    {at(1.75, 1.8, load.Fail), true, 0},
		"not judged":                {at(1.6, 1.8, load.Unclear), true, 0},
		"worse, but not as a whole": {at(o.end-0.01, o.end+0.3, load.Fail), true, 0},
		"worse":                     {at(o.end+0.01, o.end+0.3, load.Fail), false, 1},
		"it holds":                  {at(1.5, 1.6, load.Pass), false, 0},
		"another case":              {another, false, 1},
		"still not judged":          {judged(load.Unclear), true, 0},
		"not judged, and now fails": {judged(load.Fail), false, 1},
	} {
		r := record.Record{Comparisons: []record.Comparison{c.is}}
		excuse(r.Comparisons)
		if got := r.Comparisons[0].Owed != ""; got != c.owed {
			t.Errorf("%s: owed %t, want %t", name, got, c.owed)
		}
		if got := r.Failures(); len(got) != c.failing {
			t.Errorf("%s: %q, want %d", name, got, c.failing)
		} else if name == "worse" && !strings.Contains(got[0], "has become worse than the 2.0") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
