// Package report shows the measurements of runs of the bench: as one page of headlines with a plot,
// as text on a terminal, as tables of everything in Markdown, and as one self-contained HTML page.
// Each output is a pure function of records. The package judges nothing: the records contain the
// verdicts.
package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"mcpd/bench/record"
	"mcpd/internal/chart"
	"mcpd/internal/load"
	"mcpd/telemetry"
)

// Bounds of one text, in bytes before escaping: a name, and the description of a scenario.
const (
	maxName = 200
	maxText = 4000
)

func name(s string) string { return telemetry.Clean(s, maxName) }
func text(s string) string { return telemetry.Clean(strings.TrimSpace(s), maxText) }

// state is a verdict: a word, a mark that works without colour, and the class of its colour.
type state struct{ Word, Mark, Class string }

var states = map[load.Verdict]state{
	load.Pass:    {"holds", "✓", "good"},
	load.Fail:    {"fails", "✗", "bad"},
	load.Unclear: {"unclear", "?", "odd"},
	"":           {"", "", "none"},
}

// goals are the words for goals. A goal that is not reached is no failure.
var goals = map[load.Verdict]state{
	load.Pass:    {"reached", "✓", "good"},
	load.Fail:    {"not yet", "○", "none"},
	load.Unclear: {"unclear", "?", "none"},
	"":           {"", "", "none"},
}

// row is a comparison in the form in which it is shown.
type row struct {
	Scenario, Case, Name, Ratio, Interval, Gate, Goal string
	Verdict, Reached                                  state
	Forest                                            *forest
}

// quantityOf formats a number of a comparison.
func quantityOf(c record.Comparison, v float64) string {
	if c.Unit == "" {
		return ratio(v)
	}
	return quantity(v, c.Unit)
}

func rowOf(c record.Comparison) row {
	show := func(v float64) string { return quantityOf(c, v) }
	limit := func(v float64) string {
		switch {
		case v == 0:
			return ""
		case c.LowerBound:
			return "≥ " + show(v)
		}
		return "≤ " + show(v)
	}
	return row{
		Scenario: name(c.Scenario), Case: name(c.Case), Name: name(c.Name), Ratio: show(c.Ratio),
		Interval: span(show(c.Low), show(c.High)),
		Gate:     limit(c.Gate), Goal: limit(c.Goal), Verdict: states[c.Verdict],
		Reached: goals[c.Reached], Forest: forestOf(c),
	}
}

// figure is a measurement in the form in which it is shown.
type figure struct {
	Case, Subject, Quantity, Median, Spread, Tail string
	Rounds                                        int
}

func figureOf(m record.Measurement) figure {
	sorted := slices.DeleteFunc(slices.Clone(m.Rounds), func(v float64) bool {
		return !chart.Finite(v)
	})
	slices.Sort(sorted)
	f := figure{
		Case: name(m.Case), Subject: name(m.Subject), Quantity: name(m.Quantity), Median: chart.Nothing,
		Spread: chart.Nothing, Rounds: len(sorted),
	}
	if n := len(sorted); n > 0 {
		f.Median = quantity((sorted[(n-1)/2]+sorted[n/2])/2, m.Unit)
		f.Spread = span(quantity(sorted[0], m.Unit), quantity(sorted[n-1], m.Unit))
	}
	if h := histogramOf(m); h != nil {
		f.Tail = fmt.Sprintf("%s, %s, %s, %s", nanos(h.ValueAtQuantile(50)), nanos(h.ValueAtQuantile(99)),
			nanos(h.ValueAtQuantile(99.9)), nanos(h.Max()))
	}
	return f
}

// times are the units of time, in nanoseconds.
var times = map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}

func nanos(v int64) string { return quantity(float64(v), "ns") }

// quantity formats a number with its unit, or with a unit of the same kind that makes it shorter.
func quantity(v float64, unit string) string {
	if of, ok := times[unit]; ok && v != 0 && chart.Finite(v) {
		switch a := math.Abs(v * of); {
		case a < 1e3:
			v, unit = v*of, "ns"
		case a < 1e6:
			v, unit = v*of/1e3, "µs"
		case a < 1e9:
			v, unit = v*of/1e6, "ms"
		default:
			v, unit = v*of/1e9, "s"
		}
	}
	if unit == "KiB" && math.Abs(v) >= 1024 {
		v, unit = v/1024, "MiB"
	}
	return strings.TrimSpace(chart.ThreeDigits(v) + chart.Apart + name(unit))
}

// cut splits a quantity into its number and its unit.
func cut(s string) (number, unit string) {
	number, unit, _ = strings.Cut(s, chart.Apart)
	return number, unit
}

// span formats a range of quantities. The unit is written once if both have the same.
func span(low, high string) string {
	if low == high {
		return low
	}
	number, unit := cut(low)
	if _, other := cut(high); unit == other {
		low = number
	}
	return low + " to " + high
}

// ratio formats a number without a unit, and without an exponent if it is small.
func ratio(v float64) string {
	if a := math.Abs(v); a > 0 && a < 1e-4 {
		return strconv.FormatFloat(v, 'f', 1-int(math.Floor(math.Log10(a))), 64)
	}
	return chart.ThreeDigits(v)
}

// chapter is one scenario of one record.
type chapter struct {
	ID, Name, Title, What string
	Took                  string // empty if it is unknown
	Rows                  []row
	Figures               []figure
	Charts                []curveChart
	Missing               []string
}

func chaptersOf(r record.Record) (list []chapter) {
	for _, s := range r.Scenarios {
		c := chapter{
			ID: "s-" + name(s.Name), Name: name(s.Name), Title: text(s.Title), What: text(s.What),
		}
		if s.Seconds > 0 {
			c.Took = quantity(s.Seconds, "s")
		}
		var own []record.Measurement
		for _, m := range r.Measurements {
			if m.Scenario == s.Name {
				own = append(own, m)
				c.Figures = append(c.Figures, figureOf(m))
			}
		}
		for _, one := range r.Comparisons {
			if one.Scenario == s.Name {
				c.Rows = append(c.Rows, rowOf(one))
			}
		}
		for _, m := range r.Missing {
			if m.Scenario == s.Name {
				c.Missing = append(c.Missing, missing(m))
			}
		}
		c.Charts = chartsOf(own)
		list = append(list, c)
	}
	return list
}

func missing(m record.Missing) string {
	label := name(m.Subject)
	if label == "" {
		label = name(m.Scenario)
	}
	if m.Broken {
		return label + " broke: " + text(m.Reason)
	}
	return label + " was not measured: " + text(m.Reason)
}

// tally counts verdicts. An outstanding gate counts only as Owed.
type tally struct{ Hold, Fail, Owed, Unclear, Reached, Goals int }

func tallyOf(r record.Record) (t tally) {
	for _, c := range r.Comparisons {
		switch {
		case c.Outstanding != "":
			t.Owed++
		case c.Verdict == load.Pass:
			t.Hold++
		case c.Verdict == load.Fail:
			t.Fail++
		case c.Verdict == load.Unclear:
			t.Unclear++
		}
		if c.Reached != "" {
			t.Goals++
		}
		if c.Reached == load.Pass {
			t.Reached++
		}
	}
	return t
}

// says describes the numbers of gates in a sentence.
func (t tally) says() string {
	text := fmt.Sprintf("%s, %d fail, %d cannot be judged", things(t.Hold, "gate holds", "gates hold"),
		t.Fail, t.Unclear)
	if t.Owed > 0 {
		text += ", " + things(t.Owed, "is owed", "are owed")
	}
	return text
}

// remarks returns the caveats that a reader has to know before the figures.
func remarks(r record.Record) (list []string) {
	if r.Short {
		list = append(list, "From a short run: its ratios count, its absolute figures do not.")
	}
	if r.Busy() {
		list = append(
			list,
			"The machine was busy with other things: ratios say something, absolute times and maxima "+
				"little.",
		)
	}
	return list
}

// fact is a line about the machine or the run.
type fact struct{ Name, Is string }

func factsOf(r record.Record) (list []fact) {
	m := r.Machine
	form := "in full"
	if r.Short {
		form = "short"
	}
	others := ""
	if r.OtherLoad > 0 {
		others = fmt.Sprintf("%s of %d cores, on average", chart.ThreeDigits(r.OtherLoad), m.Cores)
	}
	for _, f := range []fact{
		{"form", form},
		{"begun", r.Begun.UTC().Format("2006-01-02 15:04 UTC") + ", took " + quantity(r.Seconds, "s")},
		{"mcpd", m.Version + ", " + m.Go},
		{"processor", fmt.Sprintf("%s, %d cores", m.CPU, m.Cores)},
		{"memory", chart.ThreeDigits(m.Memory/(1<<30)) + chart.Apart + "GiB"},
		{"system", m.System},
		{"Erlang", m.Erlang},
		{"load when it began", chart.ThreeDigits(m.Load)},
		{"kept busy by other processes meanwhile", others},
		{"calls made and checked", chart.Count(int64(calls(r)))},
		{"seed", fmt.Sprint(r.Seed)},
	} {
		if f.Is != "" {
			list = append(list, fact{f.Name, text(strings.ReplaceAll(f.Is, chart.Apart, " "))})
		}
	}
	return list
}
