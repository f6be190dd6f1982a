package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"mcpd/chaos/record"
	"mcpd/internal/load"
)

// judgeOutcomes judges I1.
func judgeOutcomes(r record.Record) (is, found string) {
	var f findings
	var n uint64
	for _, g := range groups(r, "") {
		c := total(g)
		n += c.Sent
		if c.Lost > 0 {
			f.add("%s: %d of %d calls had no outcome%s", g.Tenant, c.Lost, c.Sent, first(g, "lost"))
		}
		if o := ordered(g); o.Lost > 0 {
			f.add("%s: %d of %d calls with a stream had no outcome%s", g.Tenant, o.Lost, o.Calls,
				first(g, "lost"))
		}
		if c.Duplicate > 0 {
			f.add("%s: %d of %d calls had more than one%s", g.Tenant, c.Duplicate, c.Sent,
				first(g, "duplicate"))
		}
		if rest := c.Sent - c.OK - c.Failed - c.Lost - c.Crossed; rest != 0 {
			f.add("%s: the account of %d calls does not add up", g.Tenant, c.Sent)
		}
	}
	if n == 0 {
		return record.Unjudged, "no call was made"
	}
	return f.verdict("lost 0, duplicate 0 of %d", n)
}

// judgeReplies judges I2.
func judgeReplies(r record.Record) (is, found string) {
	var f findings
	var n uint64
	for _, g := range groups(r, "") {
		c := total(g)
		n += c.Sent + ordered(g).Calls
		if crossed := c.Crossed + ordered(g).Crossed; crossed > 0 {
			f.add("%s: %d of %d replies were another call's%s", g.Tenant, crossed, c.Sent+ordered(g).Calls,
				first(g, "crossed"))
		}
	}
	if n == 0 {
		return record.Unjudged, "no call was made"
	}
	return f.verdict("crossed 0 of %d", n)
}

// first says when the first slip of a kind happened.
func first(g record.Group, kind string) string {
	for _, s := range g.Violations {
		if s.Kind == kind {
			return fmt.Sprintf(", first at %.1f s", s.At)
		}
	}
	return ""
}

// judgeBystanders judges I3. Of n calls without a failure, the rate of failures is below 3/n with
// 95 % confidence.
func judgeBystanders(r record.Record) (is, found string) {
	var f findings
	var n uint64
	for _, g := range groups(r, record.Bystander) {
		c := total(g)
		n += c.Sent
		if bad := c.Sent - c.OK + c.Duplicate; bad > 0 {
			f.add("%s: %d of %d calls%s", g.Tenant, bad, c.Sent, most(g.Errors))
		}
		if o := ordered(g); o.Calls > o.OK {
			f.add("%s: %d of %d calls with a stream: %s", g.Tenant, o.Calls-o.OK, o.Calls, o.Error)
		}
	}
	if n == 0 {
		return record.Unjudged, "there was no bystander"
	}
	return f.verdict("0 of %d, so below %.1g with 95 %% confidence", n, 3/float64(n))
}

// most returns the most frequent error.
func most(errors map[string]uint64) string {
	if len(errors) == 0 {
		return ""
	}
	texts := slices.SortedFunc(maps.Keys(errors), func(a, b string) int {
		return cmp.Or(cmp.Compare(errors[b], errors[a]), cmp.Compare(a, b))
	})
	return ", mostly: " + texts[0]
}

// Limits of the latency of bystanders, as factors of the latency in the baseline.
const (
	logical   = 1.10
	tail      = 1.25 // of p99.9
	contended = 1.5
	extra     = 5.0 // milliseconds, where the fault takes resources that the bystanders need
)

// judgeLatency judges I4. It compares the seconds of the fault with the same seconds of the
// baseline and, for p99.9, the blocks of both. The values of the whole phases are shown but not
// judged, because they have no confidence interval. The phases follow one another, so that a drift
// of the machine is part of the result.
func judgeLatency(r record.Record) (is, found string) {
	if r.Experiment.Short {
		return record.Unjudged, "the phases are too short"
	}
	if len(groups(r, record.Bystander)) == 0 {
		return record.Unjudged, "there was no bystander"
	}
	before, during := pairs(r)
	of := batchSize(len(before))
	before, during = batches(before, of), batches(during, of)
	limit := logical
	if r.Experiment.Contends {
		limit = contended
	}
	e, err := load.Ratio(before, during)
	if err != nil {
		return record.Unjudged, err.Error()
	}
	is = string(load.Gate(e, load.AtMost(limit)))
	found = fmt.Sprintf(
		"p99 is %.3g times that of the baseline (%.3g to %.3g, %d times %d s); at most %.3g", e.Ratio,
		e.Low, e.High, e.Pairs, of, limit,
	)
	if r.Experiment.Contends {
		more := load.NewDifference("", "ms", before, during, extra)
		found += fmt.Sprintf("; and %+.3g ms, at most %+.3g ms", more.Median, extra)
		is = worse(is, string(more.Verdict))
	} else {
		of, text := tails(r)
		is, found = worse(is, of), found+"; "+text
	}
	return is, found + whole(r)
}

// tails judges p99.9.
func tails(r record.Record) (is, found string) {
	before, during := blocks(r)
	e, err := load.Ratio(before, during)
	if err != nil {
		return record.Unclear, fmt.Sprintf(
			"p99.9: too few calls: %d pairs of blocks with %d calls or more, want %d", len(before), enough,
			load.MinPairs,
		)
	}
	return string(load.Gate(e, load.AtMost(tail))),
		fmt.Sprintf("p99.9 %.3g times (%.3g to %.3g, %d blocks); at most %.3g", e.Ratio, e.Low, e.High,
			e.Pairs, tail)
}

// enough is the number of calls of which one exceeds p99.9.
const enough = 1000

// blocks pairs the p99.9 of each block of the fault with that of the same block of the baseline. A
// fault that lasts longer than the baseline goes through the baseline's blocks again.
func blocks(r record.Record) (before, during []float64) {
	all := pairedTimes{}
	for _, g := range groups(r, record.Bystander) {
		of := map[string][]record.Block{}
		for _, b := range g.Blocks {
			of[b.Phase] = append(of[b.Phase], b)
		}
		base := of[record.Baseline]
		for i, b := range of[record.Fault] {
			if len(base) == 0 {
				break
			}
			if first := base[i%len(base)]; first.Calls >= enough && b.Calls >= enough {
				all.add(i%len(base), first.P999, b.P999)
			}
		}
	}
	return all.means()
}

// whole describes the latencies of the whole phases, for the worst bystander.
func whole(r record.Record) string {
	var before, during record.Calls
	for _, g := range groups(r, record.Bystander) {
		for name, sum := range map[string]*record.Calls{record.Baseline: &before, record.Fault: &during} {
			sum.P99, sum.P999 = max(sum.P99, g.Phases[name].P99), max(sum.P999, g.Phases[name].P999)
		}
	}
	return fmt.Sprintf("; as a whole p99 %.3g ms, before %.3g; p99.9 %.3g ms, before %.3g", during.P99,
		before.P99, during.P999, before.P999)
}

// worse returns the worse of two verdicts.
func worse(a, b string) string {
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// rank orders verdicts from best to worst.
var rank = map[string]int{record.Pass: 0, record.Unclear: 1, record.Fail: 2}

// pairs pairs the 99th percentile of each second of the fault with that of the baseline's second at
// the same offset, averaged over all bystanders that have both. A fault that lasts longer than the
// baseline goes through the baseline again, and all its seconds that share a second of the baseline
// count together. A second in which a phase begins or ends belongs to no phase.
func pairs(r record.Record) (before, during []float64) {
	const instant = 0.02 // seconds by which a phase may have begun too late
	from := map[string][2]int{}
	for _, p := range r.Phases {
		from[p.Name] = [2]int{int(math.Ceil(p.From - instant)), int(p.To + instant)}
	}
	base, fault := from[record.Baseline], from[record.Fault]
	there := max(1, base[1]-base[0])
	all := pairedTimes{}
	for _, g := range groups(r, record.Bystander) {
		at := map[int]float64{}
		for _, s := range g.Seconds {
			at[s.At] = s.P99
		}
		for i := range max(0, fault[1]-fault[0]) {
			if b, d := at[base[0]+i%there], at[fault[0]+i]; b > 0 && d > 0 {
				all.add(i%there, b, d)
			}
		}
	}
	return all.means()
}

// judgeRecovery judges I5.
func judgeRecovery(r record.Record) (is, found string) {
	i := slices.IndexFunc(r.Figures, func(f record.Figure) bool { return f.Name == "recovery_s" })
	switch {
	case r.Aborted != "":
		return record.Unjudged, "the run was ended early"
	case i < 0 || len(r.Figures[i].Samples) == 0:
		return record.Unjudged, "nothing was broken"
	case r.Experiment.Short:
		return record.Unjudged, fmt.Sprintf("the phases are too short; %.3g s", r.Figures[i].Samples[0])
	case r.Experiment.Recovery == 0:
		return record.Unjudged, fmt.Sprintf("nothing is expected; %.3g s", r.Figures[i].Samples[0])
	}
	var f findings
	if took := r.Figures[i].Samples[0]; took > r.Experiment.Recovery {
		f.add("after %.3g s; at most %.3g s", took, r.Experiment.Recovery)
	}
	return f.verdict("after %.3g s; at most %.3g s", r.Figures[i].Samples[0], r.Experiment.Recovery)
}

// targetErrors judges E2.
func targetErrors(r record.Record) (is, found string) {
	var f findings
	var failed, sent uint64
	for _, g := range groups(r, record.Target) {
		c := total(g)
		sent += c.Sent
		failed += c.Sent - c.OK
		if limit := r.Experiment.TargetErrors; limit >= 0 && c.Sent-c.OK > uint64(limit) {
			f.add("%d of %d; at most %d%s", c.Sent-c.OK, c.Sent, limit, most(g.Errors))
		}
	}
	if sent == 0 {
		return record.Unjudged, "no call was made"
	}
	if r.Experiment.TargetErrors < 0 {
		return record.Pass, fmt.Sprintf("%d of %d; any number may", failed, sent)
	}
	return f.verdict("%d of %d; at most %d", failed, sent, r.Experiment.TargetErrors)
}
