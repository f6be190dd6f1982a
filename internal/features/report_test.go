package features

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

// report collects the results of the cells. It is safe for concurrent use.
type report struct {
	mu       sync.Mutex
	outcomes map[cell]map[string]outcome // of correct cells, by feature
	applied  map[string]int              // by the name of the rule
}

// outcome is the result of one feature in one cell.
type outcome struct {
	works bool
	rules []int // indices of the rules that applied
}

func newReport() *report {
	return &report{outcomes: map[cell]map[string]outcome{}, applied: map[string]int{}}
}

// greeting is the name of the row for the server's description of itself.
const greeting = "what the server says of itself"

// judge compares the results of a client with the reference. It fails the test at each difference
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
	same := r.compare(t, c, greeting, outcome{works: true},
		[]any{normal(reference.Greeting, reference.Name)}, []any{normal(saw.Greeting, saw.Name)})
	next := 0
	for _, f := range features {
		var a, b []any
		for range f.steps {
			a = append(a, normal(reference.Steps[next], reference.Name))
			b = append(b, normal(saw.Steps[next], saw.Name))
			next++
		}
		same = r.compare(t, c, f.name, outcome{works: strings.Contains(compact(b[len(b)-1]), f.works)},
			a, b) && same
	}
	if !same {
		delete(r.outcomes, c)
	}
}

// compare reports whether rules explain all differences of a feature.
func (r *report) compare(t *testing.T, c cell, feature string, o outcome,
	reference, through []any) bool {
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

// finish fails the test if the page is not current. If the run tested all cells, finish also fails
// the test for every rule that never applied.
func (r *report) finish(t *testing.T) {
	t.Helper()
	for _, rule := range rules {
		if *full && *only == "" && r.applied[rule.name] == 0 {
			t.Errorf("the rule %q no longer applies: remove it", rule.name)
		}
	}
	if *update {
		r.write(t) // only the correct cells
	}
	if !t.Failed() {
		r.current(t)
	}
}
