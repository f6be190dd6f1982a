// Package record is what a run of the bench measured, as one value: what was timed, on which machine, how often, and how it compares. It is
// written by the run, judged while it is written, and shown by the report. It knows no scenario by its name.
package record

import (
	"fmt"
	"math"
	"strings"
	"time"

	"mcpd/internal/draw"
	"mcpd/internal/load"
)

// Format is the number of this form. A reader refuses one that it does not know.
const Format = 1

// Record is one run's.
type Record struct {
	Format  int       `json:"format"`
	Machine Machine   `json:"machine"`
	Begun   time.Time `json:"begun"`
	Seconds float64   `json:"seconds"`
	Seed    uint64    `json:"seed"`
	// Others is how many cores other processes kept busy meanwhile, on average; 0 where the system does not say.
	Others float64 `json:"others,omitzero"`
	// Short says that the run was too short for absolute figures: only its gates count.
	Short bool `json:"short"`
	// Scenarios are those that were run, in their order.
	Scenarios    []Scenario    `json:"scenarios"`
	Measurements []Measurement `json:"measurements"`
	Comparisons  []Comparison  `json:"comparisons"`
	// Missing are the scenarios, or subjects of them, that could not be measured, with the reason.
	Missing []Missing `json:"missing"`
}

// Scenario says what was measured.
type Scenario struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	What  string `json:"what"`
	// Seconds is how long that took.
	Seconds float64 `json:"seconds,omitzero"`
}

// Machine is where it was measured.
type Machine struct {
	Version string  `json:"version"` // of mcpd
	Go      string  `json:"go"`
	CPU     string  `json:"cpu"`
	Cores   int     `json:"cores"`
	Memory  float64 `json:"memory"` // bytes
	System  string  `json:"system"`
	Erlang  string  `json:"erlang,omitzero"` // release of OTP and its runtime, where there is one
	Load    float64 `json:"load"`            // average of the last minute when the run began
}

// Subjects that several scenarios have. Whatever is measured beside mcpd has a name of its own.
const (
	Mcpd = "mcpd"
	OTP  = "OTP"
)

// Measurement is one quantity of one subject in one case of a scenario, taken once in every round.
type Measurement struct {
	Scenario string `json:"scenario"` // as "restart"
	Case     string `json:"case"`     // as "1,000 siblings, paced, reports off"
	Subject  string `json:"subject"`  // as "mcpd", "OTP", "direct"
	Quantity string `json:"quantity"` // as "p50", "CPU per call", "throughput"
	Unit     string `json:"unit"`     // as "µs", "calls/s", "KiB"
	// Rounds has a value of each round, in the order in which they were taken. Rounds of subjects that are compared were taken in turn.
	Rounds []float64 `json:"rounds"`
	// Histogram are all samples of all rounds, in nanoseconds, in HdrHistogram's compressed form (base64); empty where there are none.
	Histogram string `json:"histogram,omitzero"`
	// Calls are those that were made and checked for it.
	Calls *load.Counts `json:"calls,omitzero"`
}

// Comparison is a ratio of two measurements, their difference, or a count by itself, with what it
// must and what it should be.
type Comparison struct {
	Scenario string `json:"scenario"`
	Case     string `json:"case"`
	Name     string `json:"name"` // as "p50 of OTP's"
	// Unit is that of a difference or a count; empty for a ratio.
	Unit string `json:"unit,omitzero"`
	load.Estimate
	// Rounds are the ratio, or the difference, of each pair.
	Rounds []float64 `json:"rounds"`
	// Gate is the limit that a run fails on when the whole interval lies beyond it, Goal where the project wants to be; 0 is none.
	Gate float64 `json:"gate,omitzero"`
	Goal float64 `json:"goal,omitzero"`
	// Least says that the limits are lower ones.
	Least bool `json:"least,omitzero"`
	// Verdict is of the gate, Reached of the goal; empty where there is none.
	Verdict load.Verdict `json:"verdict,omitzero"`
	Reached load.Verdict `json:"reached,omitzero"`
	// Owed is why a gate that does not hold, or that cannot be judged, fails no run yet; empty otherwise. Had is the ratio that such
	// a gate had; beyond the interval of that it is not owed any more, and fails.
	Owed string  `json:"owed,omitzero"`
	Had  float64 `json:"had,omitzero"`
}

// Missing is something that was not measured.
type Missing struct {
	Scenario string `json:"scenario"`
	Subject  string `json:"subject,omitzero"`
	Reason   string `json:"reason"`
	// Broken says that it could have been measured here, so that the run has failed; otherwise something is not there that others have.
	Broken bool `json:"broken,omitzero"`
}

// idle is the share of the cores that other processes may keep busy on a machine that does nothing else.
const idle = 0.05

// Busy reports whether the machine did something else too: while it was measured, or, where that is not known, when the run began.
func (r *Record) Busy() bool {
	if r.Others > 0 {
		return r.Others > idle*float64(r.Machine.Cores)
	}
	return r.Machine.Load > float64(r.Machine.Cores)/2
}

// number has three digits, and no exponent where there are more before the point.
func number(v float64) string {
	if math.Abs(v) < 999.5 {
		return fmt.Sprintf("%.3g", v)
	}
	return draw.Three(v)
}

// beyond says how far a gate does not hold.
func (c *Comparison) beyond() string {
	limit := "at most"
	if c.Least {
		limit = "at least"
	}
	text := strings.TrimSpace(fmt.Sprintf("%s (%s to %s), must be %s %s %s", number(c.Ratio), number(c.Low), number(c.High), limit, number(c.Gate), c.Unit))
	if c.Had != 0 && c.Verdict == load.Fail {
		text += fmt.Sprintf(", and has become worse than the %s that it is owed at, or its interval is too wide to tell", number(c.Had))
	}
	if c.Had != 0 && c.Verdict == load.Unclear {
		text += fmt.Sprintf(", and is owed at %s", number(c.Had))
	}
	if c.Verdict == load.Unclear {
		text += ": its interval is too wide to judge it"
	}
	return text
}

// fails reports whether a run fails on a gate: on one that does not hold, and in a full run also on one that cannot be judged,
// because a gate that never is judged guards nothing.
func (c *Comparison) fails(short bool) bool {
	return c.Owed == "" && (c.Verdict == load.Fail || c.Verdict == load.Unclear && !short)
}

// Failures says in a line each what the run fails on: gates that do not hold or, in a full run, cannot be judged, scenarios that broke, calls whose answers were lost, doubled or
// somebody else's. A server's errors are for the scenario to judge: some are right.
func (r *Record) Failures() (list []string) {
	for _, c := range r.Comparisons {
		if c.fails(r.Short) {
			list = append(list, fmt.Sprintf("%s: %s, %s: %s", c.Scenario, c.Case, c.Name, c.beyond()))
		}
	}
	for _, m := range r.Measurements {
		if c := m.Calls; c != nil && c.Lost+c.Crosstalk+c.Duplicate > 0 {
			list = append(list, fmt.Sprintf("%s: %s, %s: of %d calls %d lost, %d answered with another's, %d twice", m.Scenario, m.Case, m.Subject, c.Sent, c.Lost, c.Crosstalk, c.Duplicate))
		}
	}
	for _, m := range r.Missing {
		if m.Broken {
			list = append(list, m.Scenario+": "+m.Reason)
		}
	}
	return list
}
