package bench

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/bench/report"
	"mcpd/internal/load"
)

// TestShortRunKeepsItsPromises runs everything in its short form, as make bench does.
func TestShortRunKeepsItsPromises(t *testing.T) {
	unraced(t)
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	begun := time.Now()
	r, err := Run(t.Context(),
		Options{Short: true, Seed: 1, Version: "test", Say: func(format string, args ...any) {
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
		if !word.MatchString(s.Name) || slices.Contains(names, s.Name) || s.Title == "" ||
			s.Description == "" ||
			s.Measure == nil {
			t.Errorf("%+v", s)
		}
		names = append(names, s.Name)
	}
}

// Each headline belongs to an existing scenario. If the record lacks it, the next full run adds it.
func TestHeadlinesAreOfScenarios(t *testing.T) {
	for _, h := range report.Headlines {
		if !slices.ContainsFunc(All, func(s kit.Scenario) bool { return s.Name == h.Scenario }) {
			t.Errorf("%s: nobody measures %s", h.Says, h.Scenario)
		}
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
	if list, err := chosen([]string{All[2].Name, All[0].Name}); err != nil || len(list) != 2 ||
		list[0].Name != All[0].Name {
		t.Errorf("%v, %v", list, err)
	}
}

func TestMachineSaysWhatItIs(t *testing.T) {
	m := machine(t.Context(), "v1")
	if _, err := os.Stat("/proc/cpuinfo"); err == nil &&
		(m.Memory == 0 || m.CPU == "" || m.System == "") {
		t.Errorf("%+v", m)
	}
}

// The CPU time of other processes excludes that of this process.
func TestProcessorTimeOfOthersIsNotOurs(t *testing.T) {
	before := processor{all: 100, own: 10}
	for _, test := range []struct{ all, own, want float64 }{{103, 11, 2}, {103, 13, tick},
		{103, 14, tick}, {100, 10, tick}, {0, 14, 0}} {
		if got := (processor{test.all, test.own}).others(before); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
	if _, err := os.Stat("/proc/stat"); err == nil && (used().all <= used().own || used().own == 0) {
		t.Errorf("%+v", used())
	}
}

// rounds is the largest number of rounds that a gate may need. A gate that fewer rounds could judge
// must not be outstanding; the bench has to take these rounds.
const rounds = 100

// Every outstanding gate (owed) is a gate that does not hold in docs/benchmarks.json, with the same
// ratio, end of the interval and verdict. If the gate could not be judged, its ratio is beyond the
// limit, or so near to the limit that a hundred rounds would not suffice. Every other gate of the
// record has no excuse. A scenario may be newer than the record.
func TestOutstandingGatesAreThoseOfTheRecord(t *testing.T) {
	file, err := os.Open("../docs/benchmarks.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := record.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	of := map[[3]string]outstandingGate{}
	for _, o := range outstanding {
		of[[3]string{o.scenario, o.kase, o.name}] = o
	}
	if len(of) != len(outstanding) {
		t.Error("a gate is owed twice")
	}
	near := func(a, b float64) bool { return math.Abs(a/b-1) < 0.001 }
	for _, c := range r.Comparisons {
		at := [3]string{c.Scenario, c.Case, c.Name}
		o, known := of[at]
		delete(of, at)
		if !known {
			if c.Outstanding != "" || c.EarlierRatio != 0 {
				t.Errorf("%v is owed in the record, and nowhere else", at)
			}
			continue
		}
		end := c.High
		if c.LowerBound {
			end = c.Low
		}
		if o.had != c.Verdict || c.Verdict == load.Pass || !near(o.ratio, c.Ratio) || !near(o.end, end) ||
			c.EarlierRatio != o.ratio || c.Outstanding != o.reason {
			t.Errorf("%v: %+v is owed, and the record has %+v", at, o, c)
		}
		if c.Verdict == load.Unclear && !o.beyond(&c) && needed(c) < rounds {
			t.Errorf("%v: %.0f rounds would judge it, and it is owed", at, needed(c))
		}
	}
	for at := range of {
		if slices.ContainsFunc(r.Scenarios, func(s record.Scenario) bool { return s.Name == at[0] }) {
			t.Errorf("%v is owed, and not in the record", at)
		}
		if !slices.ContainsFunc(All, func(s kit.Scenario) bool { return s.Name == at[0] }) {
			t.Errorf("%v is owed, and nobody measures it", at)
		}
	}
}

// needed returns how many rounds it takes until half the interval of a ratio is as narrow as the
// distance of the ratio from its gate.
func needed(c record.Comparison) float64 {
	half, distance := math.Log(c.High/c.Low)/2, math.Abs(math.Log(c.Gate/c.Ratio))
	return float64(c.Pairs) * (half / distance) * (half / distance)
}

// An outstanding gate (owed) fails a run if its whole interval is worse than before. It fails a
// full run also if the interval is too wide to tell. Otherwise it is excused, whether it fails or
// cannot be judged. No other gate is excused.
func TestOutstandingGateFailsBeyondTheRatioThatItHad(t *testing.T) {
	of := func(scenario, kase, name string) outstandingGate {
		return outstanding[slices.IndexFunc(outstanding, func(o outstandingGate) bool {
			return o.scenario == scenario && o.kase == kase && o.name == name
		})]
	}
	o := of("call-http", "128 sessions", "CPU per call of the relay's")
	unclear := of("call-http", "16 sessions", "CPU per call of the relay's")
	stricter := of("call-stdio", "128 sessions", "CPU per call of the relay's")
	least := of("call-stdio", "128 sessions", "throughput of the relay's")
	count := of("call-heap", "HTTP", "heap bytes per call")
	gates := map[outstandingGate]float64{
		o: 1.7, unclear: 1.7, stricter: 1.45, least: 0.85, count: 4500,
	}
	at := func(o outstandingGate, low, high float64, verdict load.Verdict) record.Comparison {
		c := record.Comparison{
			Scenario: o.scenario, Case: o.kase, Name: o.name, Verdict: verdict, Gate: gates[o],
			LowerBound: o == least,
			Estimate:   load.Estimate{Ratio: math.Sqrt(low * high), Low: low, High: high},
		}
		if o == count {
			c.Unit = "B"
		}
		return c
	}
	half := o.end / o.ratio // the half width of the earlier interval, as a factor
	another := at(o, o.ratio, o.ratio, load.Fail)
	another.Case = "another"
	nobodys := at(o, 1, 2, load.Unclear)
	nobodys.Case = "another"
	for name, c := range map[string]struct {
		is    record.Comparison
		short bool
		owed  bool
		fails string // a part of the message; empty if it does not fail
	}{
		"as it was": {at(o, o.ratio/half, o.ratio*half, load.Fail),
			false, true, ""},
		"better":                     {at(o, 1.75, 1.8, load.Fail), false, true, ""},
		"not judged":                 {at(o, 1.6, 1.8, load.Unclear), false, true, ""},
		"not judged, in a short run": {at(o, 1.1, 6, load.Unclear), true, true, ""},
		"worse, but not as a whole":  {at(o, o.end/1.01, o.end*1.2, load.Fail), false, true, ""},
		"worse": {at(o, o.end*1.01, o.end*1.2, load.Fail), false, false,
			"has become worse than the 1.8"},
		"worse, in a short run": {at(o, o.end*shortRunMargin*1.01, o.end*1.3, load.Fail), true, false,
			"has become worse than the 1.8"},
		"as runs differ, in a short run": {at(o, o.end*shortRunMargin/1.01, o.end*1.3, load.Fail),
			true, true, ""},
		"just narrow enough": {at(o, o.ratio*math.Pow(half, -1.99),
			o.ratio*math.Pow(half, 1.99), load.Fail), false, true, ""},
		"too wide to be worse": {at(o, o.ratio*math.Pow(half, -2.01),
			o.ratio*math.Pow(half, 2.01), load.Fail), false, false, "or its interval is too wide to tell"},
		"too wide to be judged": {at(o, 1.1, 6, load.Unclear), false, false,
			"owed at 1.85: its interval is too wide"},
		"it holds":     {at(o, 1.5, 1.6, load.Pass), false, false, ""},
		"another case": {another, false, false, "must be at most"},
		"nobody's, not judged": {nobodys, false, false,
			"its interval is too wide to judge it"},
		"nobody's, not judged, in short": {nobodys, true, false, ""},
		"at its limit, as it was": {at(unclear, unclear.ratio*unclear.ratio/unclear.end,
			unclear.end, load.Unclear), false, true, ""},
		"at its limit, and now beyond it": {at(unclear, unclear.ratio*1.02, unclear.end, load.Fail),
			false, false, "has become worse"},
		"the same in a short run": {at(unclear, unclear.ratio*1.02, unclear.end, load.Fail), true,
			false, "has become worse"},
		"beyond a stricter gate": {at(stricter, stricter.ratio/1.01, stricter.ratio*1.01,
			load.Fail), false, true, ""},
		"further beyond it": {at(stricter, stricter.end*1.01, stricter.end*1.02, load.Fail),
			false, false, "has become worse"},
		"below, as it was": {at(least, least.end, least.ratio, load.Fail), false, true, ""},
		"further below": {at(least, least.end/1.2, least.end/1.01, load.Fail), false,
			false, "must be at least"},
		"further below, in a short run": {at(least, least.end/1.2,
			least.end/shortRunMargin*1.01, load.Fail),
			true, true, ""},
		"as many": {at(count, count.end*1.001, count.end*1.009, load.Fail),
			false, true, ""},
		"as many, but nobody can tell": {at(count, count.ratio*0.98, count.ratio*1.02, load.Fail), false,
			false, "too wide to tell"},
		"more": {at(count, count.end*1.011, count.end*1.012, load.Fail), false, false,
			"must be at most 4,500 B"},
	} {
		r := record.Record{Short: c.short, Comparisons: []record.Comparison{c.is}}
		markOutstanding(&r)
		if got := r.Comparisons[0].Outstanding != ""; got != c.owed {
			t.Errorf("%s: owed %t, want %t", name, got, c.owed)
		}
		got := strings.Join(r.Failures(), "\n")
		if (got != "") != (c.fails != "") || !strings.Contains(got, c.fails) {
			t.Errorf("%s: %q, want %q", name, got, c.fails)
		}
	}
}
