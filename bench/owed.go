package bench

import (
	"math"
	"slices"

	"mcpd/bench/compare"
	"mcpd/bench/record"
	"mcpd/internal/load"
)

// outstandingGate is an outstanding gate: a gate that does not hold yet, or whose ratio is too near
// to its limit for a run to tell.
type outstandingGate struct {
	scenario, kase, name string
	// had is the verdict of the last full run.
	had load.Verdict
	// ratio is the ratio of the last full run. The field end is the worse end of its 95 % interval:
	// the high end, or the low end for a lower limit. A run whose whole interval is beyond end has
	// become worse, and fails. If the gate could not be judged, with the ratio on its good side, it is
	// not excused when it fails.
	ratio, end float64
	reason     string
}

// Reasons why gates are outstanding, as far as they were measured.
const (
	even = "it lies at its limit, so that hundreds of rounds would not tell on which side"
	heap = "the relay, which decodes and renumbers only, takes 2.6 KB; the records of the call, of " +
		"its reply and of its request take 1.5"
	http = "mcpd and the relay make nearly as many system calls, 9.9 and 8.6 a call; the rest is " +
		"code and memory of edge and actors: adr/0035"
	pipe = "the relay has no actors and no edge, which took 14 and 11 µs of a call in a profile: " +
		"adr/0025, adr/0034"
	plain = "a modern call puts 18 more objects and 1.6 KB more on the heap than a legacy one to " +
		"the same server"
)

// outstanding are the outstanding gates, each with its ratio in docs/benchmarks.json. They are
// measured, judged and listed in the report like all others. They fail a run only if they become
// worse, or if a full run cannot tell. A row is removed when its gate holds. A gate that once held
// is not added, unless its limit has become stricter. A gate for which more rounds would make the
// interval narrow enough to show that it holds is not outstanding: it needs these rounds.
//
// Rows of a scenario that is newer than the record have the figures of its first runs in short
// form.
var outstanding = []outstandingGate{
	{"call-stdio", "16 sessions", "throughput of the relay's", load.Unclear, 0.854, 0.813, even},
	{"call-stdio", "128 sessions", "CPU per call of the relay's", load.Unclear, 1.469, 1.539, pipe},
	{"call-stdio", "128 sessions", "throughput of the relay's", load.Unclear, 0.811, 0.752, pipe},
	{"call-http", "16 sessions", "CPU per call of the relay's", load.Unclear, 1.657, 1.746, http},
	{"call-http", "128 sessions", "CPU per call of the relay's", load.Fail, 1.854, 1.958, http},
	{"call-heap", "HTTP", "heap bytes per call", load.Fail, 4856, 4867, heap},
	{"call-eras", "program, 1 session", "CPU per call, modern, of the legacy one's: legacy server",
		load.Unclear, 1.163, 1.233, plain},
	{"call-eras", "program, 16 sessions", "CPU per call, modern, of the legacy one's: legacy server",
		load.Unclear, 1.190, 1.254, plain},
	{"call-eras", "HTTP, 16 sessions", "CPU per call, modern, of the legacy one's: legacy server",
		load.Unclear, 1.191, 1.266, plain},
}

// maxWidening is the factor by which the interval of an outstanding gate may be wider in a full run
// than before.
const maxWidening = 2

// markOutstanding adds the earlier ratio to each outstanding gate, and the reason why it is
// outstanding to each that has not become worse.
func markOutstanding(r *record.Record) {
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		if c.Verdict != load.Fail && c.Verdict != load.Unclear {
			continue
		}
		for _, o := range outstanding {
			if c.Scenario != o.scenario || c.Case != o.kase || c.Name != o.name {
				continue
			}
			c.EarlierRatio, c.Outstanding = o.ratio, o.reason
			if o.worse(c, r.Short) || !r.Short && o.tooWide(c) {
				c.Outstanding = ""
			}
		}
	}
}

// shortRunMargin is how far beyond the full run's interval a short run may be, as a factor. Runs of
// one build differ by more than the rounds of one run. Nine short runs of four builds, none slower
// than another, had call-http with 128 sessions at 2.18 to 2.41; the worst of their intervals began
// at 1.034 times the end of the full run's.
const shortRunMargin = 1.05

// countMargin is the same for counts, also in full runs. Three runs of one build had 71.8 to 72.2
// objects a call, with narrower intervals.
const countMargin = 1.01

// counts reports whether a comparison is about a count and not about a ratio.
func counts(c *record.Comparison) bool { return slices.Contains(compare.Steady, c.Unit) }

// worse reports whether the whole interval of a comparison is beyond that of the earlier ratio, or
// whether the gate fails although it could not be judged before and its ratio was on the good side.
// The failure of a gate whose ratio was already beyond it is expected.
func (o outstandingGate) worse(c *record.Comparison, short bool) bool {
	if c.Verdict == load.Fail && o.had == load.Unclear && !o.beyond(c) {
		return true
	}
	margin := 1.0
	switch {
	case short:
		margin = shortRunMargin
	case counts(c):
		margin = countMargin
	}
	limit := load.AtMost(o.end * margin)
	if c.LowerBound {
		limit = load.AtLeast(o.end / margin)
	}
	return load.Gate(c.Estimate, limit) == load.Fail
}

// beyond reports whether the earlier ratio is beyond the gate.
func (o outstandingGate) beyond(c *record.Comparison) bool {
	if c.LowerBound {
		return o.ratio < c.Gate
	}
	return o.ratio > c.Gate
}

// tooWide reports whether the interval of a comparison is so much wider than before that it could
// hide a worse ratio. Widths are differences of logarithms, since the values are ratios.
func (o outstandingGate) tooWide(c *record.Comparison) bool {
	had := 2 * math.Abs(math.Log(o.end/o.ratio))
	if counts(c) {
		had = max(had, math.Log(countMargin))
	}
	return !(c.Low > 0) || math.Log(c.High/c.Low) > maxWidening*had
}
