// Package report shows what experiments saw: as a table on a terminal, as JUnit for a build server, and as one page of HTML that needs nothing but
// itself. Each is a pure function of records. It judges nothing: verdicts stand in the records. All texts in a record are a host's or somebody's behind
// it, so they are shown and never obeyed.
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
	maxText = 600  // what was found, an error, an event's message
	maxLong = 4000 // a hypothesis
)

func name(s string) string { return telemetry.Clean(s, maxName) }
func text(s string) string { return telemetry.Clean(strings.TrimSpace(s), maxText) }

// prose is a text of several lines as one.
func prose(s string) string { return telemetry.Clean(strings.Join(strings.Fields(s), " "), maxLong) }

// state is what became of an experiment, in a word, a mark that tells it without colour, and the class of its colour.
type state struct{ Word, Mark, Class string }

var (
	held     = state{"held", "✓", "good"}
	broken   = state{"broken", "✗", "bad"}
	aborted  = state{"aborted", "■", "bad"}
	missed   = state{"not injected", "!", "odd"}
	unclear  = state{"unclear", "?", "odd"}
	unjudged = state{"not judged", "–", "none"}
)

// runItself is the verdict on the run itself, whose failure has words of its own where it was ended early or nothing was injected.
const runItself = "E1"

// stateOf is the gravest that is true.
func stateOf(r *record.Record) state {
	is := func(what string) bool {
		return slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool { return v.Is == what })
	}
	switch {
	case slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool { return v.Is == record.Fail && v.ID != runItself }):
		return broken
	case r.Aborted != "":
		return aborted
	case len(r.Strikes) > 0 && !slices.ContainsFunc(r.Strikes, func(s record.Strike) bool { return s.Error == "" && (s.Hits > 0 || s.Wrong != "") }):
		return missed
	case is(record.Fail):
		return broken
	case is(record.Unclear):
		return unclear
	case is(record.Pass):
		return held
	}
	return unjudged
}

// verdictState is how one verdict is marked.
func verdictState(is string) state {
	switch is {
	case record.Pass:
		return state{is, held.Mark, held.Class}
	case record.Fail:
		return state{is, broken.Mark, broken.Class}
	case record.Unclear:
		return unclear
	case record.Unjudged:
		return unjudged
	}
	return state{telemetry.Clean(is, maxWord), unjudged.Mark, unjudged.Class}
}

// having are the ids of the verdicts that say so.
func having(r *record.Record, what string) (ids []string) {
	for _, v := range r.Verdicts {
		if v.Is == what {
			ids = append(ids, name(v.ID))
		}
	}
	return ids
}

// A run takes so many seconds. What a record says beyond that is not drawn.
const (
	shortest = 0.001
	longest  = 7 * 24 * 3600
)

// second is a time of a record that can be drawn.
func second(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return min(max(v, 0), longest)
}

// spanOf is how long a run took, in seconds.
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
