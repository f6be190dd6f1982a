// Package record defines the result of a run of the bench as one value: the measurements with their
// rounds, the machine, and the comparisons. A run writes and judges it, and reports show it. The
// package knows no scenario by name.
package record

import (
	"fmt"
	"math"
	"strings"
	"time"

	"mcpd/internal/chart"
	"mcpd/internal/load"
)

// Format is the number of this format. A reader refuses any other format.
const Format = 1

// Record is the record of one run.
type Record struct {
	Format  int       `json:"format"`
	Machine Machine   `json:"machine"`
	Begun   time.Time `json:"begun"`
	Seconds float64   `json:"seconds"`
	Seed    uint64    `json:"seed"`
	// OtherLoad is how many cores other processes kept busy during the run, on average; 0 where the
	// system does not report it.
	OtherLoad float64 `json:"others,omitzero"`
	// Short says that the run was too short for absolute figures: only its gates count.
	Short bool `json:"short"`
	// Scenarios are the scenarios that were run, in their order.
	Scenarios    []Scenario    `json:"scenarios"`
	Measurements []Measurement `json:"measurements"`
	Comparisons  []Comparison  `json:"comparisons"`
	// Missing are the scenarios, or subjects of them, that could not be measured, with the reason.
	Missing []Missing `json:"missing"`
}

// Scenario describes a scenario.
type Scenario struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	What  string `json:"what"`
	// Seconds is how long the scenario took.
	Seconds float64 `json:"seconds,omitzero"`
}

// Machine describes the machine of the run.
type Machine struct {
	Version string  `json:"version"` // of mcpd
	Go      string  `json:"go"`
	CPU     string  `json:"cpu"`
	Cores   int     `json:"cores"`
	Memory  float64 `json:"memory"` // bytes
	System  string  `json:"system"`
	Erlang  string  `json:"erlang,omitzero"` // release of OTP and its runtime, if installed
	Load    float64 `json:"load"`            // load average of the last minute when the run began
}

// Subjects that several scenarios have. Other subjects have names of their own.
const (
	Mcpd = "mcpd"
	OTP  = "OTP"
)

// Measurement is one quantity of one subject in one case of a scenario, measured once in every
// round.
type Measurement struct {
	Scenario string `json:"scenario"` // as "restart"
	Case     string `json:"case"`     // as "1,000 siblings, paced, reports off"
	Subject  string `json:"subject"`  // as "mcpd", "OTP", "direct"
	Quantity string `json:"quantity"` // as "p50", "CPU per call", "throughput"
	Unit     string `json:"unit"`     // as "µs", "calls/s", "KiB"
	// Rounds has a value of each round, in the order in which they were taken. Rounds of subjects that
	// are compared were taken in turn.
	Rounds []float64 `json:"rounds"`
	// Histogram has all samples of all rounds, in nanoseconds, in HdrHistogram's compressed form
	// (base64). It is empty if there are none.
	Histogram string `json:"histogram,omitzero"`
	// Calls counts the calls that were made and checked for the measurement.
	Calls *load.Counts `json:"calls,omitzero"`
}

// Comparison is a ratio of two measurements, their difference, or a count by itself, with its
// limits.
type Comparison struct {
	Scenario string `json:"scenario"`
	Case     string `json:"case"`
	Name     string `json:"name"` // as "p50 of OTP's"
	// Unit is the unit of a difference or a count; empty for a ratio.
	Unit string `json:"unit,omitzero"`
	load.Estimate
	// Rounds are the ratio, or the difference, of each pair.
	Rounds []float64 `json:"rounds"`
	// Gate is the limit that must hold: a run fails if the whole interval is beyond it. Goal is the
	// limit that should hold. 0 is none.
	Gate float64 `json:"gate,omitzero"`
	Goal float64 `json:"goal,omitzero"`
	// LowerBound says that the limits are lower bounds.
	LowerBound bool `json:"least,omitzero"`
	// Verdict is the verdict of the gate, Reached that of the goal. They are empty without the limit.
	Verdict load.Verdict `json:"verdict,omitzero"`
	Reached load.Verdict `json:"reached,omitzero"`
	// Outstanding is the reason why an outstanding gate, which does not hold or cannot be judged, does
	// not fail the run yet; otherwise it is empty. Had is the earlier ratio of an outstanding gate. A
	// gate that is worse than the interval of that ratio is no longer excused, and fails.
	Outstanding  string  `json:"owed,omitzero"`
	EarlierRatio float64 `json:"had,omitzero"`
}

// Missing is something that was not measured.
type Missing struct {
	Scenario string `json:"scenario"`
	Subject  string `json:"subject,omitzero"`
	Reason   string `json:"reason"`
	// Broken says that the measurement was possible here, so that the run has failed. Otherwise this
	// machine lacks something.
	Broken bool `json:"broken,omitzero"`
}

// idle is the share of the cores that other processes may keep busy on a machine that counts as
// idle.
const idle = 0.05

// Busy reports whether other processes kept the machine busy: during the run or, if that is
// unknown, when the run began.
func (r *Record) Busy() bool {
	if r.OtherLoad > 0 {
		return r.OtherLoad > idle*float64(r.Machine.Cores)
	}
	return r.Machine.Load > float64(r.Machine.Cores)/2
}

// number formats a number with three digits. It uses no exponent for more digits before the point.
func number(v float64) string {
	if math.Abs(v) < 999.5 {
		return fmt.Sprintf("%.3g", v)
	}
	return chart.ThreeDigits(v)
}

// beyond describes how far a gate is from holding.
func (c *Comparison) beyond() string {
	limit := "at most"
	if c.LowerBound {
		limit = "at least"
	}
	text := strings.TrimSpace(fmt.Sprintf("%s (%s to %s), must be %s %s %s", number(c.Ratio),
		number(c.Low), number(c.High), limit, number(c.Gate), c.Unit))
	if c.EarlierRatio != 0 && c.Verdict == load.Fail {
		text += fmt.Sprintf(
			", and has become worse than the %s that it is owed at, or its interval is too wide to tell",
			number(c.EarlierRatio),
		)
	}
	if c.EarlierRatio != 0 && c.Verdict == load.Unclear {
		text += fmt.Sprintf(", and is owed at %s", number(c.EarlierRatio))
	}
	if c.Verdict == load.Unclear {
		text += ": its interval is too wide to judge it"
	}
	return text
}

// fails reports whether a run fails on the gate: if the gate does not hold, and in a full run also
// if it cannot be judged, because a gate that is never judged guards nothing.
func (c *Comparison) fails(short bool) bool {
	return c.Outstanding == "" && (c.Verdict == load.Fail || c.Verdict == load.Unclear && !short)
}

// Failures returns a line for each failure of the run: gates that do not hold or, in a full run,
// cannot be judged, scenarios that broke, and calls whose answers were lost, duplicated or those of
// other calls. Errors of a server are judged by the scenario, since some are correct.
func (r *Record) Failures() (list []string) {
	for _, c := range r.Comparisons {
		if c.fails(r.Short) {
			list = append(list, fmt.Sprintf("%s: %s, %s: %s", c.Scenario, c.Case, c.Name, c.beyond()))
		}
	}
	for _, m := range r.Measurements {
		if c := m.Calls; c != nil && c.Lost+c.Crosstalk+c.Duplicate > 0 {
			list = append(
				list,
				fmt.Sprintf("%s: %s, %s: of %d calls %d lost, %d answered with another's, %d twice", m.Scenario,
					m.Case, m.Subject, c.Sent, c.Lost, c.Crosstalk, c.Duplicate),
			)
		}
	}
	for _, m := range r.Missing {
		if m.Broken {
			list = append(list, m.Scenario+": "+m.Reason)
		}
	}
	return list
}
