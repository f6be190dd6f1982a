package report

import (
	"fmt"
	"slices"
	"strings"

	"mcpd/chaos/record"
	"mcpd/internal/chart"
)

// summary is an experiment in a few numbers and words.
type summary struct {
	State          state
	Broken         []string // ids of invariants
	Faults, Hits   int
	Restarts       int
	Target, Others tally
	Untested       []string // figures that could not be judged because no fault lasted long enough
	Sentence       string
}

func summarize(r *record.Record) summary {
	s := summary{
		State: stateOf(r), Broken: having(r, record.Fail), Target: tallyOf(r, record.Target),
		Others: tallyOf(r, record.Bystander),
	}
	for _, strike := range r.Strikes {
		if strike.Error == "" {
			s.Faults++
			s.Hits += strike.Hits
		}
	}
	for _, f := range r.Unmeasured() {
		s.Untested = append(s.Untested, name(f.Name))
	}
	s.Restarts = r.Restarts()
	s.Sentence = strings.Join(slices.DeleteFunc([]string{broke(r), untested(r), hurt(s.Target),
		healed(r), noticed(r, s.Others), ended(r)}, func(part string) bool {
		return part == ""
	}), " ")
	return s
}

// broke says which faults struck, and which did not strike.
func broke(r *record.Record) string {
	var kinds, targets, idle []string
	hits, faults := 0, 0
	for _, s := range r.Strikes {
		if s.Error != "" {
			continue
		}
		faults++
		k, t := name(s.Kind), name(s.Target)
		if s.Hits == 0 {
			idle = append(idle, k+" at "+t)
			continue
		}
		hits += s.Hits
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
		if !slices.Contains(targets, t) {
			targets = append(targets, t)
		}
	}
	if faults == 0 {
		return "No fault was injected."
	}
	var parts []string
	if len(kinds) > 0 {
		parts = append(parts, fmt.Sprintf("%s struck %s at %s.", joinNames(kinds),
			countNoun(hits, "time", "times"), some(targets)))
	}
	if len(idle) > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s never struck: %s.", len(idle),
			countNoun(faults, "fault", "faults"), some(idle)))
	}
	return strings.Join(parts, " ")
}

// untested says which figures could not be judged.
func untested(r *record.Record) string {
	var list []string
	for _, f := range r.Unmeasured() {
		if f.Goal == 0 {
			return unseen(r)
		}
		list = append(list, fmt.Sprintf("%s, which may take %s", name(f.Name), quantity(f.Goal, f.Unit)))
	}
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("Not put to the test: %s: no fault lasted longer than %s.", joinNames(list),
		seconds(r.LongestFault()))
}

// unseen says which silent faults the host did not detect, if the experiment sets no goal for their
// detection.
func unseen(r *record.Record) string {
	var kinds []string
	for _, s := range r.Strikes {
		if s.Silent && s.Hits > 0 && !slices.Contains(kinds, s.Kind) {
			kinds = append(kinds, name(s.Kind))
		}
	}
	return fmt.Sprintf("The host did not find out %s: no fault lasted longer than %s.",
		joinNames(kinds),
		seconds(r.LongestFault()))
}

// some names the first target and counts the others: a fault that kills processes again and again
// has as many targets as hits.
func some(names []string) string {
	if len(names) > 2 {
		return names[0] + " and " + chart.Count(len(names)-1) + " others"
	}
	return joinNames(names)
}

// hurt says how many calls of the tenants failed.
func hurt(t tally) string {
	if len(t.Tenants) == 0 {
		return ""
	}
	return sentenceOf(t) + "."
}

// healing lists the figures that say how fast the host healed while the fault lasted, in the order
// of the steps of healing.
var healing = []struct{ figure, text string }{
	{"detect_ms", "found out within "}, {"down_ms", "servers back within "},
	{"restart_ms", "rows restarted within "},
}

// due is the number of samples that a figure of healing must have. There is one for each hit of a
// fatal fault, or, if no fault is fatal, one for each hit. If a server is killed again and again,
// the only time that it was back says nothing.
func due(r *record.Record) int {
	all, fatal := 0, 0
	for _, s := range r.Strikes {
		all += s.Hits
		if s.Fatal {
			fatal += s.Hits
		}
	}
	if fatal > 0 {
		return fatal
	}
	return all
}

// healed says how fast the host healed: the slowest sample of each figure of healing.
func healed(r *record.Record) string {
	slowest := func(figure string) (record.Figure, float64, bool) {
		i := slices.IndexFunc(r.Figures, func(f record.Figure) bool {
			return f.Name == figure && len(sorted(f.Samples)) > 0
		})
		if i < 0 {
			return record.Figure{}, 0, false
		}
		return r.Figures[i], slices.Max(sorted(r.Figures[i].Samples)), true
	}
	var steps, parts []string
	need := due(r)
	for _, h := range healing {
		if f, took, ok := slowest(h.figure); ok && need > 0 && len(f.Samples) >= need {
			steps = append(steps, h.text+quantity(took, f.Unit))
		}
	}
	if len(steps) > 0 {
		parts = append(parts, strings.ToUpper(steps[0][:1])+strings.Join(steps, ", ")[1:]+".")
	}
	switch _, took, ok := slowest("recovery_s"); {
	case ok && took <= 0:
		parts = append(parts, "All was well as soon as the last fault ended.")
	case ok:
		parts = append(parts, fmt.Sprintf("All was well again %s after the last fault ended.",
			seconds(took)))
	}
	return strings.Join(parts, " ")
}

// noticed says whether other tenants noticed the fault, and which. None did if no call failed and
// the verdict on latencies has passed. It quotes that verdict on latencies.
func noticed(r *record.Record, t tally) string {
	if len(t.Tenants) == 0 {
		return "Nobody else was there to notice."
	}
	var who []string
	for _, g := range r.Groups {
		var sent, bad uint64
		for _, c := range g.Phases {
			sent += c.Sent
			bad += failed(c) + c.Duplicate
		}
		if g.Role == record.Bystander && bad > 0 {
			who = append(who, fmt.Sprintf("%s (%s calls)", name(g.Tenant), outOf(bad, sent)))
		}
	}
	is := ""
	latency := latency(t)
	if i := slices.IndexFunc(r.Verdicts, func(v record.Verdict) bool {
		return v.ID == "I4" && v.Result != record.Unjudged
	}); i >= 0 {
		is = r.Verdicts[i].Result
		// the limit is shown with the verdict
		if found, _, _ := strings.Cut(text(r.Verdicts[i].Found), ";"); found != "" {
			latency = "; " + strings.TrimSuffix(found, ".")
		}
	}
	switch {
	case len(who) > 0:
		return fmt.Sprintf("Others noticed: %s%s.", joinNames(who), latency)
	case is == record.Fail:
		return fmt.Sprintf("Others noticed, though %s calls of %s failed%s.", outOf(0, t.Calls),
			joinNames(t.Tenants), latency)
	case is == record.Pass:
		return fmt.Sprintf("Nobody else noticed: %s calls of %s failed%s.", outOf(0, t.Calls),
			joinNames(t.Tenants), latency)
	}
	return sentenceOf(t) + latency + "."
}

// latency compares the p99 of bystanders with their p99 before the fault, as the end of a sentence.
func latency(t tally) string {
	if t.During.P99 <= 0 || t.Before.P99 <= 0 {
		return ""
	}
	return fmt.Sprintf("; their p99 was %s, and %s before", millis(t.During.P99), millis(t.Before.P99))
}

// sentenceOf says how many calls failed, as the beginning of a sentence.
func sentenceOf(t tally) string {
	s := fmt.Sprintf("%s calls of %s failed", outOf(t.Failed, t.Calls), joinNames(t.Tenants))
	return strings.ToUpper(s[:1]) + s[1:]
}

// ended says why a run ended early.
func ended(r *record.Record) string {
	if r.Aborted == "" {
		return ""
	}
	return "The run was aborted: " + strings.TrimSuffix(text(r.Aborted), ".") + "."
}

// overall summarizes a run of many experiments in one sentence.
func overall(list []summary) string {
	var parts []string
	for _, s := range []state{stateBroken, aborted, missed, unclear, unjudged, stateHeld} {
		n := 0
		for _, one := range list {
			if one.State == s {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", chart.Count(n), s.Word))
		}
	}
	var others []tally
	for _, s := range list {
		others = append(others, s.Others)
	}
	sum := merge(others)
	sum.Tenants = []string{"bystanders"}
	return fmt.Sprintf("%s: %s. %s.", countNoun(len(list), "experiment", "experiments"),
		strings.Join(parts, ", "), sentenceOf(sum))
}
