// Package report shows the results of experiments: as a table on a terminal, as JUnit for a build
// server, and as one self-contained HTML page. Each output is a pure function of records. The
// package judges nothing: the records contain the verdicts. All texts in a record come from a host
// or its peers, so they are escaped and never interpreted.
package report

import (
	"math"
	"slices"
	"strings"

	"mcpd/chaos/record"
	"mcpd/telemetry"
)

// Bounds of one text, in bytes before escaping.
const (
	maxWord = 20   // a verdict, a unit
	maxName = 160  // a path, a tenant, a kind of fault
	maxText = 600  // a finding, an error, an event's message
	maxLong = 4000 // a hypothesis
)

func name(s string) string { return telemetry.Clean(s, maxName) }
func text(s string) string { return telemetry.Clean(strings.TrimSpace(s), maxText) }

// prose joins the lines of a text.
func prose(s string) string {
	return telemetry.Clean(strings.Join(strings.Fields(s), " "), maxLong)
}

// state is the result of an experiment: a word, a mark that works without colour, and the class of
// its colour.
type state struct{ Word, Mark, Class string }

var (
	stateHeld   = state{"held", "✓", "good"}
	stateBroken = state{"broken", "✗", "bad"}
	aborted     = state{"aborted", "■", "bad"}
	missed      = state{"not injected", "!", "odd"}
	unclear     = state{"unclear", "?", "odd"}
	unjudged    = state{"not judged", "–", "none"}
)

// runItself is the id of the verdict on the run itself. If the run was aborted or no fault was
// injected, the report has more specific words than a failure of that verdict.
const runItself = "E1"

// stateOf returns the gravest state that applies.
func stateOf(r *record.Record) state {
	is := func(label string) bool {
		return slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool { return v.Result == label })
	}
	switch {
	case slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool {
		return v.Result == record.Fail && v.ID != runItself
	}):
		return stateBroken
	case r.Aborted != "":
		return aborted
	case len(r.Strikes) > 0 && !slices.ContainsFunc(r.Strikes, func(s record.Strike) bool {
		return s.Error == "" && (s.Hits > 0 || s.Wrong != "")
	}):
		return missed
	case is(record.Fail):
		return stateBroken
	case is(record.Unclear):
		return unclear
	case is(record.Pass):
		return stateHeld
	}
	return unjudged
}

// verdictState returns the state of one verdict.
func verdictState(is string) state {
	switch is {
	case record.Pass:
		return state{is, stateHeld.Mark, stateHeld.Class}
	case record.Fail:
		return state{is, stateBroken.Mark, stateBroken.Class}
	case record.Unclear:
		return unclear
	case record.Unjudged:
		return unjudged
	}
	return state{telemetry.Clean(is, maxWord), unjudged.Mark, unjudged.Class}
}

// having returns the ids of the verdicts with that result.
func having(r *record.Record, label string) (ids []string) {
	for _, v := range r.Verdicts {
		if v.Result == label {
			ids = append(ids, name(v.ID))
		}
	}
	return ids
}

// Bounds of the length of a run, in seconds. Later parts of a record are not drawn.
const (
	shortest = 0.001
	longest  = 7 * 24 * 3600
)

// second limits a time of a record to the range that can be drawn.
func second(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return min(max(v, 0), longest)
}

// spanOf returns the length of a run, in seconds.
func spanOf(r *record.Record) (end float64) {
	for _, p := range r.Phases {
		end = max(end, second(p.To))
	}
	for _, g := range r.Groups {
		for _, s := range g.Seconds {
			end = max(end, second(float64(s.At)+1))
		}
	}
	for _, s := range r.Strikes {
		end = max(end, second(s.To))
	}
	if end < shortest {
		return 0
	}
	return end
}
