package features

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// report is what came of the cells. It is safe for concurrent use.
type report struct {
	mu       sync.Mutex
	outcomes map[cell]map[string]outcome // by feature
	applied  map[string]int              // by the name of the rule
	wrong    []string
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

// judge compares what a client saw with the reference.
func (r *report) judge(c cell, reference, saw seen) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if saw.Refused != nil {
		r.wrong = append(r.wrong, fmt.Sprintf("%s: %s", c, compact(saw.Refused)))
		return
	}
	r.outcomes[c] = map[string]outcome{}
	r.compare(c, greeting, outcome{works: true}, []any{normal(reference.Greeting, reference.Name)}, []any{normal(saw.Greeting, saw.Name)})
	next := 0
	for _, f := range features {
		var a, b []any
		for range f.steps {
			a = append(a, normal(reference.Steps[next], reference.Name))
			b = append(b, normal(saw.Steps[next], saw.Name))
			next++
		}
		r.compare(c, f.name, outcome{works: strings.Contains(compact(b[len(b)-1]), f.works)}, a, b)
	}
}

func (r *report) compare(c cell, feature string, o outcome, reference, through []any) {
	for i := range reference {
		for _, d := range compare(reference[i], through[i]) {
			n := slices.IndexFunc(rules, func(rule rule) bool { return rule.applies(c, feature, i+1, d) })
			if n < 0 {
				r.wrong = append(r.wrong, fmt.Sprintf("%s, %s (%d)%s", c, feature, i+1, d))
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
}

// finish fails the test for every difference without a rule and, when all cells were tried, every
// rule without a difference.
func (r *report) finish(t *testing.T, some []client, behind []server) {
	t.Helper()
	slices.Sort(r.wrong)
	for _, each := range r.wrong {
		t.Error(each)
	}
	for _, rule := range rules {
		if *full && r.applied[rule.name] == 0 {
			t.Errorf("the rule %q no longer applies: remove it", rule.name)
		}
	}
	if t.Failed() {
		return
	}
	if *update {
		if err := os.WriteFile(docsPage, []byte(r.page(t, some, behind)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.current(t)
}
