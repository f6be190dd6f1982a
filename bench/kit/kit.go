// Package kit is what the scenarios of the bench are made of: a scenario, the run that it adds its measurements to, and processes in which a
// part of it runs. It knows no scenario.
package kit

import (
	"context"
	"errors"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"mcpd/bench/record"
	"mcpd/internal/load"
)

// Scenario is one thing that is measured, in some cases, beside others where that says something.
type Scenario struct {
	Name  string // by which it is run: a-z, 0-9 and -
	Title string
	// What says in sentences what is timed, from when to when, and beside what.
	What string
	// Measure takes its measurements. An error says that the scenario could not be measured, and why; it ends no other.
	Measure func(ctx context.Context, r *Run) error
}

// Run is one run of the bench, to which scenarios add. It is used by one goroutine.
type Run struct {
	// Short asks for as few samples as gates can be judged by.
	Short bool
	Seed  uint64
	// Say is told in a line what is being measured.
	Say func(format string, args ...any)
	// Record is what there is so far.
	Record record.Record
}

// Either is the first value in full and the second in a short run.
func Either[T any](r *Run, inFull, inShort T) T {
	if r.Short {
		return inShort
	}
	return inFull
}

// Add adds a measurement.
func (r *Run) Add(m record.Measurement) { r.Record.Measurements = append(r.Record.Measurements, m) }

// Miss says that something was not measured, and why.
func (r *Run) Miss(scenario, subject, reason string, args ...any) {
	r.Record.Missing = append(r.Record.Missing, record.Missing{Scenario: scenario, Subject: subject, Reason: fmt.Sprintf(reason, args...)})
}

// Limits are what a ratio must be and where it should be. 0 is none.
//
// A limit is that of a ratio, or of a difference, between two that were measured in turn, since a
// time says nothing without another from the same machine. The one exception is Count: how many
// objects and bytes something takes depends on the program and not on the machine, so it is judged
// by itself.
type Limits struct {
	Gate, Goal float64
	Least      bool // the ratio must not be below them; otherwise not above
}

// Compare adds the ratio of a measurement to another of the same quantity, whose rounds were taken in turn with its own.
func (r *Run) Compare(name string, subject, baseline record.Measurement, l Limits) error {
	e, err := load.Ratio(baseline.Rounds, subject.Rounds)
	if err != nil {
		return fmt.Errorf("%s, %s: %s: %w", subject.Scenario, subject.Case, name, err)
	}
	r.compared(name, "", subject, baseline, e, l, func(s, b float64) float64 { return s / b })
	return nil
}

// Beyond is Compare for by how much a measurement exceeds the other.
func (r *Run) Beyond(name string, subject, baseline record.Measurement, l Limits) error {
	e, err := load.Difference(baseline.Rounds, subject.Rounds, r.Seed)
	if err != nil {
		return fmt.Errorf("%s, %s: %s: %w", subject.Scenario, subject.Case, name, err)
	}
	r.compared(name, subject.Unit, subject, baseline, e, l, func(s, b float64) float64 { return s - b })
	return nil
}

// Bound is Compare with a constant, which is no measurement: what somebody has promised.
func (r *Run) Bound(name string, subject record.Measurement, bound float64, l Limits) error {
	baseline := record.Measurement{Rounds: make([]float64, len(subject.Rounds))}
	for i := range baseline.Rounds {
		baseline.Rounds[i] = bound
	}
	return r.Compare(name, subject, baseline, l)
}

// Count is Compare for a number of things, such as objects on the heap, which is judged by
// itself: its limits are numbers of the same things.
func (r *Run) Count(name string, subject record.Measurement, l Limits) error {
	return r.Beyond(name, subject, record.Measurement{Rounds: make([]float64, len(subject.Rounds))}, l)
}

func (r *Run) compared(name, unit string, subject, baseline record.Measurement, e load.Estimate, l Limits, of func(s, b float64) float64) {
	c := record.Comparison{Scenario: subject.Scenario, Case: subject.Case, Name: name, Unit: unit, Estimate: e, Gate: l.Gate, Goal: l.Goal, Least: l.Least}
	for i, s := range subject.Rounds {
		c.Rounds = append(c.Rounds, of(s, baseline.Rounds[i]))
	}
	c.Verdict, c.Reached = judge(e, l.Gate, l.Least), judge(e, l.Goal, l.Least)
	r.Record.Comparisons = append(r.Record.Comparisons, c)
}

func judge(e load.Estimate, limit float64, least bool) load.Verdict {
	switch {
	case limit == 0:
		return ""
	case least:
		return load.Gate(e, load.AtLeast(limit))
	}
	return load.Gate(e, load.AtMost(limit))
}

// Encode writes a histogram as records have it.
func Encode(h *hdrhistogram.Histogram) (string, error) {
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return string(text), err
}

// Decode reads one.
func Decode(text string) (*hdrhistogram.Histogram, error) {
	if text == "" {
		return nil, errors.New("there is no histogram")
	}
	return hdrhistogram.Decode([]byte(text))
}
