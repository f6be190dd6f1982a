// Package record is what a run of the bench measured, as one value: what was timed, on which machine, how often, and how it compares. It is
// written by the run, judged while it is written, and shown by the report. It knows no scenario by its name.
package record

import (
	"time"

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
	// Short says that the run was too short for absolute figures: only its gates count.
	Short        bool          `json:"short"`
	Measurements []Measurement `json:"measurements"`
	Comparisons  []Comparison  `json:"comparisons"`
	// Missing are the scenarios, or subjects of them, that could not be measured, with the reason.
	Missing []Missing `json:"missing"`
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

// Comparison is a ratio of two measurements, with what it must and what it should be.
type Comparison struct {
	Scenario string `json:"scenario"`
	Case     string `json:"case"`
	Name     string `json:"name"` // as "p50 of OTP's"
	load.Estimate
	// Gate is the limit that a run fails on when the whole interval lies beyond it, Goal where the project wants to be; 0 is none.
	Gate float64 `json:"gate,omitzero"`
	Goal float64 `json:"goal,omitzero"`
	// Least says that the limits are lower ones.
	Least bool `json:"least,omitzero"`
	// Verdict is of the gate, Reached of the goal; empty where there is none.
	Verdict load.Verdict `json:"verdict,omitzero"`
	Reached load.Verdict `json:"reached,omitzero"`
}

// Missing is something that was not measured.
type Missing struct {
	Scenario string `json:"scenario"`
	Subject  string `json:"subject,omitzero"`
	Reason   string `json:"reason"`
}
