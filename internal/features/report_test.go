package features

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

// report is what came of the cells. It is safe for concurrent use.
type report struct {
	mu       sync.Mutex
	outcomes map[cell]map[string]outcome // of cells that are right, by feature
	applied  map[string]int              // by the name of the rule
}

// outcome is what a cell says of a feature.
type outcome struct {
	works bool
	rules []int // the rules that applied
}

func newReport() *report {
	return &report{outcomes: map[cell]map[string]outcome{}, applied: map[string]int{}}
}

// greeting stands for the feature of what a server says of itself.
const greeting = "what the server says of itself"

// judge compares what a client saw with the reference, and fails the test at each difference
// without a rule.
func (r *report) judge(t *testing.T, c cell, reference, saw seen) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case reference.Refused != nil:
		t.Errorf("%s: %s directly: %s", c, c.reference(), compact(reference.Refused))
		return
	case saw.Refused != nil:
		t.Errorf("%s: %s", c, compact(saw.Refused))
		return
	}
	r.outcomes[c] = map[string]outcome{}
	same := r.compare(t, c, greeting, outcome{works: true}, []any{normal(reference.Greeting, reference.Name)}, []any{normal(saw.Greeting, saw.Name)})
	next := 0
	for _, f := range features {
		var a, b []any
		for range f.steps {
			a = append(a, normal(reference.Steps[next], reference.Name))
			b = append(b, normal(saw.Steps[next], saw.Name))
			next++
		}
		same = r.compare(t, c, f.name, outcome{works: strings.Contains(compact(b[len(b)-1]), f.works)}, a, b) && same
	}
	if !same {
		delete(r.outcomes, c)
	}
}

// compare reports whether all differences of a feature are explained.
func (r *report) compare(t *testing.T, c cell, feature string, o outcome, reference, through []any) bool {
	t.Helper()
	same := true
	for i := range reference {
		for _, d := range compare(reference[i], through[i]) {
			n := slices.IndexFunc(rules, func(rule rule) bool { return rule.applies(c, feature, i+1, d) })
			if n < 0 {
				t.Errorf("%s, %s (%d)%s", c, feature, i+1, d)
				same = false
				continue
			}
			r.applied[rules[n].name]++
			if !slices.Contains(o.rules, n) {
				o.rules = append(o.rules, n)
			}
		}
	}
	slices.Sort(o.rules)
	r.outcomes[c][feature] = o
	return same
}

// finish fails the test for every rule without a difference when all cells were tried, and for a
// page that says something else.
func (r *report) finish(t *testing.T) {
	t.Helper()
	for _, rule := range rules {
		if *full && *only == "" && r.applied[rule.name] == 0 {
			t.Errorf("the rule %q no longer applies: remove it", rule.name)
		}
	}
	if *update {
		r.write(t) // the cells that are right
	}
	if !t.Failed() {
		r.current(t)
	}
}
