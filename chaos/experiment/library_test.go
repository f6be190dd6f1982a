package experiment

import (
	"io/fs"
	"strings"
	"testing"

	"mcpd/chaos/faults"
)

// Every file of the library loads, has the name of its experiment and a hypothesis, uses existing
// kinds, parameters and rows of the catalogue, and strikes existing rows of the host's tree, also
// in its short form.
func TestLibrary(t *testing.T) {
	names, err := fs.Glob(files, "library/*.yaml")
	if err != nil || len(names) < 12 {
		t.Fatalf("%d experiments, %v", len(names), err)
	}
	for _, name := range names {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "library/"), ".yaml")
		e, err := Parse(name+".yaml", Source(name), faults.Kinds)
		if err != nil {
			t.Error(err)
			continue
		}
		if e.Name != name {
			t.Errorf("%s.yaml is called %s", name, e.Name)
		}
		// Of so many calls without a failure, the rate of failures is below 3 in 100,000 with 95 %
		// confidence.
		if all := e.Phases.Baseline + e.Phases.Fault + e.Phases.Heal; e.Load.Bystanders > 0 &&
			float64(e.Load.Rate*min(e.Load.Bystanders, 2))*all.Seconds() < 100_000 {
			t.Errorf("%s: %d calls a second on %d bystanders for %v are too few", name, e.Load.Rate,
				e.Load.Bystanders, all)
		}
		if len(e.Faults) > 0 && len(e.CatalogueIDs) == 0 {
			t.Errorf("%s: no row of the catalogue", name)
		}
		if !strings.HasSuffix(e.Hypothesis, ".") || strings.HasSuffix(e.Title, ".") {
			t.Errorf("%s: a hypothesis has sentences, and a title is none", name)
		}
		for _, f := range e.Faults {
			k, ok := faults.Find(faults.Kinds, f.Kind)
			if !ok {
				t.Errorf("%s: there is no kind %s", name, f.Kind)
			}
			for param := range f.Params {
				if _, ok := k.Param(param); !ok {
					t.Errorf("%s: %s has no parameter %s", name, f.Kind, param)
				}
			}
		}
		if strikes := schedule(t, e.Short(), rowsOf("acme", "globex", "initech", "umbrella"),
			1); len(strikes) == 0 && len(e.Faults) > 0 {
			t.Errorf("%s: nothing strikes when it is short", name)
		}
	}
}

// Every misbehaviour of servers occurs in some experiment.
func TestEveryWayOfServersHasAnExperiment(t *testing.T) {
	done := map[string]bool{}
	for _, e := range Library() {
		for _, f := range e.Faults {
			done[f.Kind] = true
		}
	}
	for _, k := range faults.Kinds {
		if (k.Aim == faults.AtServer || k.Aim == faults.AtProgram) && !done[k.Name] {
			t.Errorf("no experiment has %s", k.Name)
		}
	}
}
