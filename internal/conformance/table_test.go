package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// run is one run of a set against one server or client, with the expected results.
type run struct {
	set
	name     string   // name of its column
	args     []string // further arguments of the suite
	env      []string // further environment of the suite
	outcomes []outcome
	// direct is the run of the same server without mcpd. A scenario that fails there may fail here.
	// If against is nil, all scenarios must pass.
	direct *run
	// comparisonOnly means that nothing is expected of this run: it only serves for comparison.
	comparisonOnly bool
}

func (r *run) outcomeOf(name string) outcome {
	for _, o := range r.outcomes {
		if o.name == name {
			return o
		}
	}
	return outcome{}
}

// verdict is the judgement on one scenario of a run.
type verdict string

const (
	passed   verdict = "ok"
	failed   verdict = "FAILED"
	missing  verdict = "MISSING"
	notThere verdict = "-"        // fails without mcpd too
	excepted verdict = "excepted" // fails only in checks that exceptions name
	// An exception names a check that does not fail, or a scenario that fails directly.
	stale verdict = "STALE"
)

// acceptable reports whether a verdict is acceptable.
func (v verdict) acceptable() bool { return v == passed || v == notThere || v == excepted }

// verdict judges one scenario and returns the checks that are to blame.
func (r *run) verdict(o outcome) (verdict, []check) {
	var listed []string
	for _, n := range r.excepted(o.name) {
		listed = append(listed, exceptions[n-1].checks[o.name]...)
	}
	fails := func(id string) bool {
		return slices.ContainsFunc(o.problems, func(c check) bool { return c.ID == id })
	}
	failsDirectly := r.comparisonOnly || r.direct != nil && !r.direct.outcomeOf(o.name).passed()
	blame := slices.DeleteFunc(slices.Clone(o.problems), func(c check) bool {
		return slices.Contains(listed, c.ID)
	})
	switch {
	case !o.ran:
		return missing, nil
	case len(listed) > 0 && failsDirectly:
		return stale, o.problems
	case !o.passed() && failsDirectly:
		return notThere, o.problems
	case len(blame) > 0:
		return failed, blame
	case slices.ContainsFunc(listed, func(id string) bool { return !fails(id) }):
		return stale, o.problems
	case len(listed) > 0:
		return excepted, nil
	}
	return passed, nil
}

// notes describes every scenario that went wrong, with the failed checks.
func (r *run) notes() (all []string) {
	for _, s := range r.scenarios {
		v, blame := r.verdict(r.outcomeOf(s.name))
		if v.acceptable() {
			continue
		}
		text := fmt.Sprintf("%s, %s: %s %s", r.set, r.name, s.name, v)
		for _, c := range blame {
			text += fmt.Sprintf("\n    %s %s: %s", strings.ToLower(c.Status), c.ID, c.ErrorMessage)
		}
		all = append(all, text)
	}
	return all
}

// count returns the number of scenarios that passed.
func (r *run) count() (n int) {
	for _, s := range r.scenarios {
		if v, _ := r.verdict(r.outcomeOf(s.name)); v == passed {
			n++
		}
	}
	return n
}
