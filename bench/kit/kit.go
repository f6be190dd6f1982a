// Package kit has the parts of which the scenarios of the bench are made: the scenario, the run to
// which it adds its measurements, and processes in which parts of a scenario run. It knows no
// scenario.
package kit

import (
	"context"
	"errors"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"mcpd/bench/record"
	"mcpd/internal/load"
)

// Scenario is one subject of measurement. It can have several cases and reference subjects for
// comparison.
type Scenario struct {
	Name  string // used to select it: a-z, 0-9 and -
	Title string
	// In whole sentences, Description describes the time or amount that is measured, from when to
	// when, and the reference subjects.
	Description string
	// Measure takes the measurements. An error says why the scenario could not be measured; it does
	// not end other scenarios.
	Measure func(ctx context.Context, r *Run) error
}

// Run is one run of the bench, to which scenarios add. It is used by one goroutine.
type Run struct {
	// Short asks for the smallest number of samples with which gates can be judged.
	Short bool
	Seed  uint64
	// Say is called with a line about what is being measured.
	Say func(format string, args ...any)
	// Record is the record so far.
	Record record.Record
}

// ByForm returns the first value in a full run and the second in a short run.
func ByForm[T any](r *Run, inFull, inShort T) T {
	if r.Short {
		return inShort
	}
	return inFull
}

// Add adds a measurement.
func (r *Run) Add(m record.Measurement) { r.Record.Measurements = append(r.Record.Measurements, m) }

// Miss records that something was not measured, and why.
func (r *Run) Miss(scenario, subject, reason string, args ...any) {
	r.Record.Missing = append(r.Record.Missing, record.Missing{
		Scenario: scenario, Subject: subject, Reason: fmt.Sprintf(reason, args...),
	})
}

// Limits are the limits of a ratio: the gate, which it must meet, and the goal, which it should
// meet. 0 is no limit.
//
// A limit applies to a ratio, or to a difference, of two quantities that were measured in turn,
// because a time means nothing without another time from the same machine. The one exception is
// Count: the numbers of objects and bytes depend on the program and not on the machine, so that
// they are judged by themselves.
type Limits struct {
	Gate, Goal float64
	LowerBound bool // the limits are lower bounds; otherwise they are upper bounds
}

// Compare adds the ratio of a measurement to another measurement of the same quantity, whose rounds
// were taken in turn with its own.
func (r *Run) Compare(name string, subject, baseline record.Measurement, l Limits) error {
	e, err := load.Ratio(baseline.Rounds, subject.Rounds)
	if err != nil {
		return fmt.Errorf("%s, %s: %s: %w", subject.Scenario, subject.Case, name, err)
	}
	r.compared(name, "", subject, baseline, e, l, func(s, b float64) float64 { return s / b })
	return nil
}

// Beyond is like Compare, but for the difference of the measurements.
func (r *Run) Beyond(name string, subject, baseline record.Measurement, l Limits) error {
	e, err := load.Difference(baseline.Rounds, subject.Rounds, r.Seed)
	if err != nil {
		return fmt.Errorf("%s, %s: %s: %w", subject.Scenario, subject.Case, name, err)
	}
	r.compared(name, subject.Unit, subject, baseline, e, l, func(s, b float64) float64 {
		return s - b
	})
	return nil
}

// Bound is like Compare, but with a constant as the baseline, such as a promised value.
func (r *Run) Bound(name string, subject record.Measurement, bound float64, l Limits) error {
	baseline := record.Measurement{Rounds: make([]float64, len(subject.Rounds))}
	for i := range baseline.Rounds {
		baseline.Rounds[i] = bound
	}
	return r.Compare(name, subject, baseline, l)
}

// Count is like Compare, but for a number of things, such as objects on the heap. The number is
// judged by itself: its limits are numbers of the same things.
func (r *Run) Count(name string, subject record.Measurement, l Limits) error {
	return r.Beyond(name, subject, record.Measurement{Rounds: make([]float64, len(subject.Rounds))}, l)
}

func (r *Run) compared(name, unit string, subject, baseline record.Measurement, e load.Estimate,
	l Limits, of func(s, b float64) float64) {
	c := record.Comparison{
		Scenario: subject.Scenario, Case: subject.Case, Name: name, Unit: unit, Estimate: e, Gate: l.Gate,
		Goal: l.Goal, LowerBound: l.LowerBound,
	}
	for i, s := range subject.Rounds {
		c.Rounds = append(c.Rounds, of(s, baseline.Rounds[i]))
	}
	c.Verdict, c.Reached = judge(e, l.Gate, l.LowerBound), judge(e, l.Goal, l.LowerBound)
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

// Encode encodes a histogram in the form that records use.
func Encode(h *hdrhistogram.Histogram) (string, error) {
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return string(text), err
}

// Decode decodes a histogram of a record.
func Decode(text string) (*hdrhistogram.Histogram, error) {
	if text == "" {
		return nil, errors.New("there is no histogram")
	}
	return hdrhistogram.Decode([]byte(text))
}
