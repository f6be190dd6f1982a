package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"mcpd/chaos/record"
)

const (
	// lateShare is the share of samples that may exceed a goal: goals hold for 99 of 100 samples.
	lateShare = 0.01
	// significance is the significance level. A figure fails only if a figure that meets its goal
	// would have so many late samples with at most this probability.
	significance = 0.05
)

// figures judges E3. A figure fails if the number of samples beyond its goal would occur by chance
// in at most one of twenty runs. A smaller number of such samples is unclear.
func figures(r record.Record) (is, found string) {
	var f findings
	var all, unclear, missing []string
	var untested []string
	for _, x := range r.Unmeasured() {
		untested = append(untested, x.Name)
	}
	for _, x := range r.Figures {
		if x.Goal == 0 || x.Name == "recovery_s" {
			continue
		}
		if len(x.Samples) == 0 {
			switch { // a run, or all its faults, may end before anything is detected
			case r.Experiment.Short || unmetPrecondition(r) != "" || slices.Contains(untested, x.Name):
				missing = append(missing,
					fmt.Sprintf("%s: nothing was measured, which may take %.4g %s", x.Name, x.Goal, x.Unit))
			default:
				f.add("%s: nothing was measured", x.Name)
			}
			continue
		}
		worst, beyond := slices.Max(x.Samples), 0
		all = append(all, fmt.Sprintf("%s %.4g %s", x.Name, worst, x.Unit))
		if r.Experiment.Short {
			continue
		}
		for _, v := range x.Samples {
			if v > x.Goal {
				beyond++
			}
		}
		text := fmt.Sprintf("%s: %d of %d beyond %.4g %s, up to %.4g", x.Name, beyond, len(x.Samples),
			x.Goal, x.Unit, worst)
		switch {
		case beyond == 0:
		case chance(beyond, len(x.Samples)) <= significance:
			f.add("%s", text)
		default:
			unclear = append(unclear, text)
		}
	}
	switch {
	case r.Experiment.Short:
		return record.Unjudged, strings.Join(slices.Concat([]string{"the phases are too short"}, all,
			missing), "; ")
	case len(missing) > 0 && len(f) == 0 && len(unclear) == 0:
		why := slices.Concat([]string{unmetPrecondition(r)}, all, missing)
		return record.Unjudged, strings.TrimPrefix(strings.Join(why, "; "), "; ")
	case len(all) == 0 && len(f) == 0:
		return record.Unjudged, "none is expected"
	case len(unclear) > 0 && len(f) == 0:
		return record.Unclear, strings.Join(unclear, "; ")
	}
	return f.verdict("%s", strings.Join(all, ", "))
}

// chance returns the probability that at least k of n samples are late, if each is late with the
// probability late. It is the upper tail of the binomial distribution.
func chance(k, n int) float64 {
	below, term := 0.0, math.Pow(1-lateShare, float64(n)) // the term of no late sample
	for i := range k {
		below += term
		term *= float64(n-i) / float64(i+1) * lateShare / (1 - lateShare)
	}
	return max(0, 1-below)
}
