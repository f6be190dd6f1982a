// Package experiment defines experiments. An experiment is a page of YAML that says what is broken
// and when, under which load, what is expected, and when to give up. The package parses such a page
// strictly and reports each mistake with its position. From an experiment, a host's tree and a seed
// it derives one reproducible schedule of faults. It breaks nothing, and knows neither hosts nor
// clocks.
package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"mcpd/chaos/faults"
	"mcpd/gateway/config/units"
)

// Experiment is one experiment, with defaults filled in.
type Experiment struct {
	Name         string
	Title        string
	Hypothesis   string
	CatalogueIDs []string // rows of the fault catalogue, as "F05"
	// Contends says that the faults take resources that bystanders need. It is also set if a kind of
	// fault says so.
	Contends bool
	Load     Load
	Phases   Phases
	Faults   []Fault
	Probes   []Probe
	Expect   Expect
	AbortIf  AbortIf
}

// Load is the load of the clients during the whole run.
type Load struct {
	Rate       int // calls a second of each tenant, open loop
	TargetRate int // the same of the target
	Sessions   int // of each tenant
	Timeout    time.Duration
	Tool       string // takes a text and returns the same text
	Argument   string // the name of that text's argument
	Bystanders int    // maximum number of tenants besides the target; there may be fewer
	// Counter is the tool that calls with an effect call. It counts their effects.
	Counter string
	Effects int    // percentage of calls with an effect
	Stepper string // the tool of calls with progress notifications
	Streams int    // calls of Stepper, a second of each tenant
}

// Phases are the lengths of the phases.
type Phases struct{ Baseline, Fault, Heal time.Duration }

// Fault is one line of the list of faults.
type Fault struct {
	Kind   string // a kind of fault
	Aim    faults.Aim
	At     Selector
	After  time.Duration // since the phase began
	Every  time.Duration // interval between strikes; 0 strikes once
	Times  int           // number of strikes; 0 is as many as fit into the phase
	For    time.Duration // length of each strike, cut off by the end of the phase
	Params faults.Values
}

// The roles that a selector can name instead of a tenant.
const (
	Target    = "target"
	Bystander = "bystander"
)

// Selector says what a fault is aimed at. Where it leaves a choice, each strike chooses at random.
type Selector struct {
	Tenant string // Target, Bystander, or a tenant's name
	Server string // a server of the tenant; empty is any server
	// Row is a pattern of paths below the tenant's row, or of whole paths if it begins with "mcpd".
	Row     string
	Percent float64 // percentage of matches that are struck; 0 is all
}

// Probe is a question that is asked once a second.
type Probe struct {
	Name   string
	Ask    string // readyz, livez, tree or metric
	Row    string // for tree: a pattern of paths, which may contain {target}
	Metric string // for metric: its name, with labels if it has any
	// Want is the right answer: a text, or <=, <, >=, > and a number. If it is empty, answers are only
	// recorded.
	Want string
}

// The questions of probes.
const (
	AskReady  = "readyz" // the status of /readyz
	AskLive   = "livez"  // the status of /livez
	AskTree   = "tree"   // the state of a row, or its status if it has no state
	AskMetric = "metric" // the sum over all labels that are not named
)

// AnyErrors says that any number of calls of the target may fail.
const AnyErrors = -1

// Expect is what the experiment expects at the end, besides the invariants.
type Expect struct {
	// MayRestart are patterns of the paths that may restart. They may contain {target}.
	MayRestart []string
	// Restarts are the required numbers of restarts, by pattern of paths.
	Restarts map[string]Restarts
	// TargetErrors is how many calls of the target may fail, or AnyErrors.
	TargetErrors int
	// Recovery is how soon after the last fault the target has to be steady; 0 expects nothing.
	Recovery time.Duration
	Figures  map[string]Figure
}

// Restarts is a number of restarts: from Low to High, or the number of hits of faults.
type Restarts struct {
	Hits      bool
	Low, High int
}

// Figure is the largest expected value of a quantity.
type Figure struct {
	Goal    float64
	Because string // why the goal differs from the catalogue's
}

// AbortIf ends the run early and heals all faults. A zero field never does.
type AbortIf struct {
	BystanderErrors int           // failed calls of bystanders
	HostDown        time.Duration // how long the host has answered nobody
	Resident        int64         // bytes of the host
}

// The phases of a run that only shows that everything works.
const (
	shortBaseline = 5 * time.Second
	shortFault    = 5 * time.Second
	shortHeal     = 10 * time.Second
)

// Short returns the experiment with phases that are too short for a verdict on latencies and
// recovery.
func (e Experiment) Short() Experiment {
	e.Phases = Phases{
		min(e.Phases.Baseline, shortBaseline), min(e.Phases.Fault, shortFault),
		min(e.Phases.Heal, shortHeal),
	}
	return e
}

// CheckFaultsFit returns an error if no fault would strike within the phase of faults, as may
// happen in the short form. An experiment without faults is no error.
func (e Experiment) CheckFaultsFit() error {
	if len(e.Faults) == 0 {
		return nil
	}
	first := slices.MinFunc(e.Faults, func(a, b Fault) int {
		return cmp.Compare(a.After, b.After)
	}).After
	if first < e.Phases.Fault {
		return nil
	}
	return fmt.Errorf("%s: nothing would be broken: its first fault strikes after %s, and --short "+
		"leaves %s for faults: run it in full",
		e.Name, units.FormatSpan(first), units.FormatSpan(e.Phases.Fault))
}
