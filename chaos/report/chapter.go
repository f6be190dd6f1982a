package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mcpd/chaos/record"
	"mcpd/internal/chart"
)

func chapterOf(r *record.Record, id string) chapter {
	e, s := r.Experiment, summarize(r)
	c := chapter{
		ID: id, Name: name(e.Name), Title: text(e.Title), Hypothesis: prose(e.Hypothesis),
		Catalogue: text(strings.Join(e.Catalogue, ", ")),
		summary:   s, Headline: headline(r, s), Tiles: tilesOf(s), Timeline: timelineOf(r),
		Calls: callLines(r), Tree: treeOf(r), Declared: declared(e),
		Histograms: histogramsOf(r), Effects: effects(r.Effects), Order: order(r.Groups),
		Left: map[string]string{}, Facts: factsOf(r),
	}
	if c.Title == "" {
		c.Title = c.Name
	}
	c.remark(r)
	c.list(r)
	return c
}

// remark adds the caveats that a reader has to know before the numbers.
func (c *chapter) remark(r *record.Record) {
	if r.Experiment.Short {
		c.Remarks = append(c.Remarks,
			"A short run: its phases are too short for a verdict on latencies and recovery.")
	}
	if r.Experiment.Contends {
		c.Remarks = append(c.Remarks,
			"The fault takes what bystanders need too: cores, memory or descriptors.")
	}
	wrong := 0
	for _, s := range r.Strikes {
		trouble := troubleOf(s)
		if trouble == "" {
			continue
		}
		if wrong++; wrong <= maxLanes {
			c.Remarks = append(c.Remarks, trouble)
		}
	}
	if rest := wrong - maxLanes; rest > 0 {
		c.Remarks = append(c.Remarks,
			fmt.Sprintf("Not injected, or went wrong: %s.", countNoun(rest, "more fault", "more faults")))
	}
}

// troubleOf says that a fault could not be injected, or that it went wrong. It returns nothing if
// all went well.
func troubleOf(s record.Strike) string {
	says, reason := "Not injected", s.Error
	if reason == "" {
		says, reason = "Went wrong", s.Wrong
	}
	if reason == "" {
		return ""
	}
	return fmt.Sprintf("%s: %s at %s: %s", says, name(s.Kind), name(s.Target), text(reason))
}

func tilesOf(s summary) []tile {
	t, o := s.Target, s.Others
	list := []tile{
		{"injected", countNoun(s.Hits, "hit", "hits"),
			"of " + countNoun(s.Faults, "fault", "faults"), ""},
		{"restarted", countNoun(s.Restarts, "time", "times"), "rows of the supervision tree", ""},
	}
	if len(t.Tenants) > 0 {
		list = append(list, tile{
			"target: failed", countNoun(t.Failed, "call", "calls"),
			"of " + chart.Count(t.Calls) + ", " + joinNames(t.Tenants), "target",
		})
	}
	if len(o.Tenants) > 0 {
		list = append(list, tile{
			"bystanders: failed", countNoun(o.Failed, "call", "calls"),
			"of " + chart.Count(o.Calls) + ", " + joinNames(o.Tenants), "other",
		},
			tile{
				"bystanders: p99", millis(o.During.P99),
				"during the fault; " + millis(o.Before.P99) + " before", "other",
			})
	}
	return list
}

// countless is more restarts than a run can have. An experiment that allows more sets no bound.
const countless = 1_000_000

// declared lists the effects on the tree that the experiment expects.
func declared(e record.Experiment) (list []string) {
	for _, p := range e.MayRestart {
		list = append(list, name(p))
	}
	for _, p := range slices.Sorted(maps.Keys(e.Restarts)) {
		least, most := e.Restarts[p][0], e.Restarts[p][1]
		text := fmt.Sprintf("%s to %s restarts", chart.Count(least), chart.Count(most))
		switch {
		case least == most:
			text = countNoun(least, "restart", "restarts")
		case most > countless:
			text = "at least " + countNoun(least, "restart", "restarts")
		}
		if i := slices.Index(list, name(p)); i >= 0 {
			list[i] += ": " + text
		} else {
			list = append(list, name(p)+": "+text)
		}
	}
	return list[:min(len(list), maxList)]
}

func effects(e *record.Effects) string {
	if e == nil {
		return ""
	}
	said := fmt.Sprintf("Tools that count were called %s and had %s; %s beyond the first of one call.",
		countNoun(e.Asked, "time", "times"), countNoun(e.Done, "effect", "effects"),
		chart.Count(e.Doubled))
	if len(e.Twice) > 0 {
		said += " Twice: " + text(strings.Join(e.Twice, ", ")) + "."
	}
	if e.Uncounted != "" {
		said += " Not counted: " + text(e.Uncounted) + "."
	}
	return said
}

// order summarizes the calls that had a stream.
func order(groups []record.Group) string {
	var sum record.StreamCalls
	for _, g := range groups {
		if o := g.Streams; o != nil {
			sum.Calls += o.Calls
			sum.OK += o.OK
			sum.Events += o.Events
			sum.Resumed += o.Resumed
			sum.Replayed += o.Replayed
			sum.Refused += o.Refused
			sum.Slips += o.Slips
		}
	}
	if sum.Calls == 0 {
		return ""
	}
	return fmt.Sprintf("Beside them %s told of their progress, %s without an answer: %s, %s out of "+
		"order. Clients left streams and came back %s, were refused %s, and %s came again.",
		countNoun(sum.Calls, "call was", "calls were"), chart.Count(sum.Calls-sum.OK),
		countNoun(sum.Events, "message", "messages"), chart.Count(sum.Slips),
		countNoun(sum.Resumed, "time", "times"),
		countNoun(sum.Refused, "time", "times"), countNoun(sum.Replayed, "message", "messages"))
}

// first returns at most most entries of a list, and notes how many are left out.
func first[T any](c *chapter, label string, list []T, most int) []T {
	if rest := len(list) - most; rest > 0 {
		c.Left[label] = "… " + countNoun(rest, "more", "more")
		return list[:most]
	}
	return list
}

// list fills the tables.
func (c *chapter) list(r *record.Record) {
	for _, v := range first(c, "verdicts", r.Verdicts, maxList) {
		c.Verdicts = append(c.Verdicts, verdictLine{
			verdictState(v.Result), name(v.ID), text(v.Text), text(v.Found),
		})
	}
	for _, f := range first(c, "figures", r.Figures, maxList) {
		c.Figures = append(c.Figures, figureOf(f))
	}
	for _, p := range first(c, "probes", r.Probes, maxList) {
		wrong, last := 0, nothing
		for _, a := range p.Answers {
			last = text(a.Text)
			if !a.OK {
				wrong++
			}
		}
		c.Probes = append(c.Probes, probeLine{
			name(p.Name), countNoun(len(p.Answers), "time", "times"), chart.Count(wrong), last,
		})
	}
	for _, h := range first(c, "holds", changedHoldings(r.Holdings), maxList) {
		c.Holds = append(c.Holds, holdOf(h))
	}
	type slip struct {
		tenant string
		record.Violation
	}
	var errors []errorLine
	var slips []slip
	for _, g := range r.Groups {
		tenant := name(g.Tenant)
		byNumber := slices.SortedFunc(maps.Keys(g.Errors), func(a, b string) int {
			return cmp.Or(cmp.Compare(g.Errors[b], g.Errors[a]), cmp.Compare(a, b))
		})
		for _, e := range byNumber {
			errors = append(errors, errorLine{tenant, text(e), chart.Count(g.Errors[e])})
		}
		for _, s := range g.Violations {
			slips = append(slips, slip{tenant, s})
		}
	}
	c.Errors = first(c, "errors", errors, maxErrors)
	for _, s := range first(c, "slips", slips, maxSlips) {
		c.Slips = append(c.Slips, slipLine{s.tenant, seconds(s.At), name(s.Kind), text(s.Text)})
	}
	for _, e := range first(c, "events", importantEvents(r.Events), maxEvents) {
		where := e.Path
		if where == "" {
			where = strings.Trim(e.Tenant+"/"+e.Server, "/")
		}
		c.Events = append(c.Events, eventLine{
			seconds(e.At), name(e.Level), name(e.Name), name(where), particulars(e),
		})
	}
}

// changedHoldings removes the holdings of a family whose number has not changed, because there are
// many of them.
func changedHoldings(list []record.Holding) []record.Holding {
	return slices.DeleteFunc(slices.Clone(list), func(h record.Holding) bool {
		return h.Family != "" && h.Before == h.After
	})
}

// particulars returns an event's message and its fields.
func particulars(e record.Event) string {
	parts := []string{e.Message}
	for _, key := range slices.Sorted(maps.Keys(e.Fields)) {
		parts = append(parts, key+"="+e.Fields[key])
	}
	return text(strings.Join(parts, " "))
}

// importantEvents returns the events that report trouble or its end.
func importantEvents(list []record.Event) []record.Event {
	return slices.DeleteFunc(slices.Clone(list), func(e record.Event) bool {
		return e.Level != "warn" && e.Level != "error" && e.Name != record.Restarted &&
			!strings.HasPrefix(e.Name, "fault")
	})
}

func holdOf(h record.Holding) holdLine {
	unit := ""
	if strings.Contains(h.Name, "bytes") || strings.Contains(h.Name, "resident") {
		unit = "bytes"
	}
	l := holdLine{
		Name: name(h.Name), Before: quantity(h.Before, unit), After: quantity(h.After, unit),
		Named: nothing, Peak: nothing, Limit: nothing,
	}
	if h.Unmeasured {
		l.After = nothing
	}
	if h.Named > 0 {
		l.Named = quantity(h.Named, unit)
	}
	if h.Peak > 0 {
		l.Peak = quantity(h.Peak, unit)
	}
	if h.Limit > 0 {
		l.Limit = quantity(h.Limit, unit)
	}
	return l
}

func factsOf(r *record.Record) []fact {
	var load []string
	for _, g := range r.Groups[:min(len(r.Groups), maxTenants)] {
		load = append(load, fmt.Sprintf("%s %s calls/s", name(g.Tenant), chart.ThreeDigits(g.Rate)))
	}
	if rest := len(r.Groups) - maxTenants; rest > 0 {
		load = append(load, countNoun(rest, "more", "more"))
	}
	expected := []string{"any number of failed calls of the target"}
	if most := r.Experiment.TargetErrors; most >= 0 {
		expected[0] = "at most " + countNoun(most, "failed call", "failed calls") + " of the target"
	}
	if r.Experiment.Recovery > 0 {
		expected = append(expected, "recovery within "+seconds(r.Experiment.Recovery))
	}
	return []fact{
		{"experiment", name(r.Experiment.Name)},
		{"begun", moment(r.Begun)},
		{"mcpd", name(r.Host.Version)},
		{"machine", machine(r.Host)},
		{"seed", strconv.FormatUint(r.Seed, 10)},
		{"load", "open loop: " + strings.Join(load, ", ")},
		{"expected", strings.Join(expected, ", ")},
	}
}
