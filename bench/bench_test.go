package bench

import (
	"os"
	"regexp"
	"slices"
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

func TestGatesThatAreOwedAreOnesThatThereAre(t *testing.T) {
	for _, o := range owed {
		if !slices.ContainsFunc(All, func(s kit.Scenario) bool { return s.Name == o.scenario }) || o.name == "" || o.why == "" {
			t.Errorf("%+v", o)
		}
	}
	if len(owed) == 0 {
		return
	}
	list := []record.Comparison{
		{Scenario: owed[0].scenario, Name: owed[0].name, Verdict: load.Fail}, {Scenario: owed[0].scenario, Name: owed[0].name, Verdict: load.Pass},
		{Scenario: owed[0].scenario, Name: "another", Verdict: load.Fail},
		{Scenario: "another", Name: owed[0].name, Verdict: load.Fail},
	}
	excuse(list)
	if list[0].Owed != owed[0].why || list[1].Owed != "" || list[2].Owed != "" || list[3].Owed != "" {
		t.Errorf("%+v", list)
	}
}
