package conformance

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// run is one run of a set against something, with what is expected of it.
type run struct {
	set
	name     string   // of its column
	args     []string // further arguments of the suite
	env      []string // further environment of it
	outcomes []outcome
	against  *run // the same server without mcpd: what fails there may fail here; nil if all must pass
	free     bool // nothing is expected: it is there to be compared with
}

func (r *run) of(name string) outcome {
	for _, o := range r.outcomes {
		if o.name == name {
			return o
		}
	}
	return outcome{}
}

// verdict is what a run of a scenario means.
type verdict string

const (
	passed    verdict = "ok"
	failed    verdict = "FAILED"
	missing   verdict = "MISSING"
	notThere  verdict = "-"      // fails without mcpd too
	uncarried verdict = "cannot" // fails in nothing but what cannot be carried
	stale     verdict = "CAN"    // is in the list of what cannot be carried, and was
)

// fine reports whether a verdict is as it should be.
func (v verdict) fine() bool { return v == passed || v == notThere || v == uncarried }

// verdict judges one scenario, and returns the checks that are to blame.
func (r *run) verdict(o outcome) (verdict, []check) {
	listed := r.cannot(o.name)
	switch {
	case !o.ran:
		return missing, nil
	case o.passed() && len(listed) > 0:
		return stale, nil
	case o.passed():
		return passed, nil
	case r.free, r.against != nil && !r.against.of(o.name).passed():
		return notThere, o.wrong
	}
	blame := slices.DeleteFunc(slices.Clone(o.wrong), func(c check) bool {
		return slices.ContainsFunc(listed, func(u uncarriable) bool { return u.checks == nil || slices.Contains(u.checks, c.ID) })
	})
	if len(blame) == 0 && len(listed) > 0 {
		return uncarried, nil
	}
	return failed, blame
}

// table shows the runs of a set to a reader, a column each, and below it what went wrong.
func table(runs []*run) string {
	var b, notes strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\t", runs[0].set)
	for _, r := range runs {
		fmt.Fprintf(w, "%s\t", r.name)
	}
	fmt.Fprintln(w)
	good := make([]int, len(runs))
	for _, s := range runs[0].scenarios {
		name := s.name
		if !s.scored {
			name += " (not scored)"
		}
		fmt.Fprintf(w, "%s\t", name)
		for i, r := range runs {
			v, blame := r.verdict(r.of(s.name))
			fmt.Fprintf(w, "%s\t", v)
			if v == passed {
				good[i]++
			}
			for _, c := range blame {
				if !v.fine() {
					fmt.Fprintf(&notes, "    %s, %s: %s %s: %s\n", r.name, s.name, strings.ToLower(c.Status), c.ID, c.ErrorMessage)
				}
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "passed of %d\t", len(runs[0].scenarios))
	for _, n := range good {
		fmt.Fprintf(w, "%d\t", n)
	}
	fmt.Fprintln(w)
	w.Flush()
	return b.String() + notes.String()
}

// wrongs are the scenarios that did not go as they should.
func (r *run) wrongs() (names []string) {
	for _, s := range r.scenarios {
		if v, _ := r.verdict(r.of(s.name)); !v.fine() {
			names = append(names, fmt.Sprintf("%s, %s: %s %s", r.set, r.name, s.name, v))
		}
	}
	return names
}
