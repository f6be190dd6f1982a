package bench

import (
	"math"
	"slices"

	"mcpd/bench/compare"
	"mcpd/bench/record"
	"mcpd/internal/load"
)

// due is a gate that does not hold yet, or that lies so near its limit that no run can tell.
type due struct {
	scenario, kase, name string
	// had is the verdict of the last full run.
	had load.Verdict
	// ratio is what the last full run had, and end the worse end of its 95 % interval: high, or low of a lower limit. A
	// run whose whole interval lies beyond end has become worse, and fails. A gate that could not be
	// judged, with the ratio on its good side, is not excused either when it fails.
	ratio, end float64
	why        string
}

// Reasons, as far as they were measured.
const (
	even  = "it lies at its limit, so that hundreds of rounds would not tell on which side"
	heap  = "the relay, which decodes and renumbers only, takes 2.6 KB; the records of the call, of its reply and of its request take 1.5"
	http  = "mcpd and the relay make nearly as many system calls, 9.9 and 8.6 a call; the rest is code and memory of edge and actors: adr/0035"
	pipe  = "the relay has no actors and no edge, which took 14 and 11 µs of a call in a profile: adr/0025, adr/0034"
	plain = "a modern call puts 18 more objects and 1.6 KB more on the heap than a legacy one to the same server"
)

// owed are the gates that are owed, each with the ratio that it had in docs/benchmarks.json. They are measured, judged
// and listed in the report like all others, but fail no run unless they become worse, or a full run cannot judge that.
// A row goes when its gate holds. None is added for a gate that once held, unless that has become
// stricter. A gate whose interval more rounds would make narrow enough to see that it holds is
// not owed: it needs those rounds.
//
// Rows of a scenario that is newer than the record have the figures of its first runs in its
// short form.
var owed = []due{
	{"call-stdio", "16 sessions", "throughput of the relay's", load.Unclear, 0.854, 0.813, even},
	{"call-stdio", "128 sessions", "CPU per call of the relay's", load.Unclear, 1.469, 1.539, pipe},
	{"call-stdio", "128 sessions", "throughput of the relay's", load.Unclear, 0.811, 0.752, pipe},
	{"call-http", "16 sessions", "CPU per call of the relay's", load.Unclear, 1.657, 1.746, http},
	{"call-http", "128 sessions", "CPU per call of the relay's", load.Fail, 1.854, 1.958, http},
	{"call-heap", "HTTP", "heap bytes per call", load.Fail, 4856, 4867, heap},
	{"call-eras", "program, 1 session", "CPU per call, modern, of the legacy one's: legacy server", load.Unclear, 1.163, 1.233, plain},
	{"call-eras", "program, 16 sessions", "CPU per call, modern, of the legacy one's: legacy server", load.Unclear, 1.190, 1.254, plain},
	{"call-eras", "HTTP, 16 sessions", "CPU per call, modern, of the legacy one's: legacy server", load.Unclear, 1.191, 1.266, plain},
}

// wider is how many times wider than it was the interval of a gate that is owed may be in a full run.
const wider = 2

// excuse notes for each gate that is owed what ratio it had, and for those that have not become worse why it is owed.
func excuse(r *record.Record) {
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		if c.Verdict != load.Fail && c.Verdict != load.Unclear {
			continue
		}
		for _, o := range owed {
			if c.Scenario != o.scenario || c.Case != o.kase || c.Name != o.name {
				continue
			}
			c.Had, c.Owed = o.ratio, o.why
			if o.worse(c, r.Short) || !r.Short && o.vague(c) {
				c.Owed = ""
			}
		}
	}
}

// between is how much further than its interval a short run may lie from the full run: runs of one
// build differ by more than the rounds of one run do. Nine short runs of four builds, none slower than
// another, had call-http with 128 sessions at 2.18 to 2.41. The worst of their intervals began 1.034
// times beyond the end of the full run's.
const between = 1.05

// grain is the same for counts, in full runs too: three runs of one build had 71.8 to 72.2
// objects a call, and the interval of each was narrower than that.
const grain = 1.01

// counts reports whether a comparison is of a number of things, and not of a ratio.
func counts(c *record.Comparison) bool { return slices.Contains(compare.Steady, c.Unit) }

// worse reports whether the whole interval of a comparison lies beyond that of the ratio that it had,
// or whether it fails what it could not be judged by. That a gate fails is no news where its
// ratio was beyond it already.
func (o due) worse(c *record.Comparison, short bool) bool {
	if c.Verdict == load.Fail && o.had == load.Unclear && !o.beyond(c) {
		return true
	}
	margin := 1.0
	switch {
	case short:
		margin = between
	case counts(c):
		margin = grain
	}
	limit := load.AtMost(o.end * margin)
	if c.Least {
		limit = load.AtLeast(o.end / margin)
	}
	return load.Gate(c.Estimate, limit) == load.Fail
}

// beyond reports whether the ratio that it had lies beyond the gate.
func (o due) beyond(c *record.Comparison) bool {
	if c.Least {
		return o.ratio < c.Gate
	}
	return o.ratio > c.Gate
}

// vague reports whether the interval of a comparison is so much wider than it was that it could hide a ratio that has
// become worse. Widths are those of logarithms, as ratios have them.
func (o due) vague(c *record.Comparison) bool {
	had := 2 * math.Abs(math.Log(o.end/o.ratio))
	if counts(c) {
		had = max(had, math.Log(grain))
	}
	return !(c.Low > 0) || math.Log(c.High/c.Low) > wider*had
}
