// Package experiment is one experiment as people write it, a page of YAML: what is broken and when, which load there is meanwhile, what is
// expected, and when to give up. It reads such a page strictly, with every mistake at its place, and draws from it, a host's tree and a seed the
// one schedule that they stand for. It breaks nothing, and knows neither hosts nor clocks.
package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"mcpd/chaos/faults"
	"mcpd/gateway/config/units"
)

// Experiment is one, defaults filled in.
type Experiment struct {
	Name       string
	Title      string
	Hypothesis string
	Catalogue  []string // rows of the fault catalogue, as "F05"
	// Contends says that bystanders need what the faults take. It is set too when a kind of fault says so.
	Contends bool
	Load     Load
	Phases   Phases
	Faults   []Fault
	Probes   []Probe
	Expect   Expect
	AbortIf  AbortIf
}

// Load is what clients do all the while.
type Load struct {
	Rate       int // calls a second of each tenant, open loop
	TargetRate int // the same of the target
	Sessions   int // of each tenant
	Timeout    time.Duration
	Tool       string // takes a text and gives it back
	Argument   string // in which it takes it
	Bystanders int    // tenants beside the target, at most: of those that there are
	Counter    string // the tool that calls with an effect call, and that counts their effects
	Effects    int    // of a hundred calls so many have one
	Stepper    string // the tool that calls call whose progress is told
	Streams    int    // such calls a second of each tenant
}

// Phases are how long each part is.
type Phases struct{ Baseline, Fault, Heal time.Duration }

// Fault is one line of what is to be broken.
type Fault struct {
	Do    string // a kind of fault
	Aim   faults.Aim
	At    Selector
	After time.Duration // since the phase began
	Every time.Duration // again; 0 when it strikes once
	Times int           // strikes; 0 is as often as the phase has room for
	For   time.Duration // each strike lasts, if not the phase is over before
	With  faults.Values
}

// The roles that a selector can name instead of a tenant.
const (
	Target    = "target"
	Bystander = "bystander"
)

// Selector says what a fault is aimed at. Where it leaves a choice, each strike draws.
type Selector struct {
	Tenant string // Target, Bystander, or a tenant's name
	Server string // one of the tenant's; empty is any of them
	// Row is a pattern of paths below the tenant's row, or of whole ones when it begins with "mcpd".
	Row     string
	Percent float64 // of those that it meets; 0 is all
}

// Probe is a question that is asked once a second.
type Probe struct {
	Name   string
	Ask    string // readyz, livez, tree, metric
	Row    string // of tree: a pattern of paths, with {target} in it
	Metric string // of metric: its name, with labels if it has any
	Want   string // the answer that is right: a text, or <=, <, >=, > and a number; empty when only the answers are of interest
}

// The questions.
const (
	AskReady  = "readyz" // the status that it answers
	AskLive   = "livez"  // the same
	AskTree   = "tree"   // the state of a row, or its status where it has no state
	AskMetric = "metric" // the sum over all labels that are not named
)

// AnyErrors says that all calls of the target may fail.
const AnyErrors = -1

// Expect is what has to be so when it is over, beside the invariants.
type Expect struct {
	// Blast are the patterns of paths that may restart, with {target} in them.
	Blast []string
	// Restarts are the restarts there must be, by pattern of paths.
	Restarts map[string]Restarts
	// TargetErrors are the calls of the target that may fail, or AnyErrors.
	TargetErrors int
	// Recovery is how soon after the last fault the target has to be steady; 0 is no expectation.
	Recovery time.Duration
	Figures  map[string]Figure
}

// Restarts is a number of restarts: from Low to High, or as many as hits of faults.
type Restarts struct {
	Hits      bool
	Low, High int
}

// Figure is what a quantity may be at most.
type Figure struct {
	Goal    float64
	Because string // why it is another than the catalogue's
}

// AbortIf ends the run early, with everything healed. Zeroes never do.
type AbortIf struct {
	BystanderErrors int           // calls of bystanders that failed
	HostDown        time.Duration // the host answers nobody for so long
	Resident        int64         // bytes of the host
}

// The phases of a run that is only to show that everything works.
const (
	shortBaseline = 5 * time.Second
	shortFault    = 5 * time.Second
	shortHeal     = 10 * time.Second
)

// Short returns the experiment with phases that are too short for a verdict on latencies and recovery.
func (e Experiment) Short() Experiment {
	e.Phases = Phases{min(e.Phases.Baseline, shortBaseline), min(e.Phases.Fault, shortFault), min(e.Phases.Heal, shortHeal)}
	return e
}

// Room says why an experiment that has faults would break nothing: its short form may be over before the first of them.
func (e Experiment) Room() error {
	if len(e.Faults) == 0 {
		return nil
	}
	first := slices.MinFunc(e.Faults, func(a, b Fault) int { return cmp.Compare(a.After, b.After) }).After
	if first < e.Phases.Fault {
		return nil
	}
	return fmt.Errorf("%s: nothing would be broken: its first fault strikes after %s, and --short leaves %s for faults: run it in full",
		e.Name, units.FormatSpan(first), units.FormatSpan(e.Phases.Fault))
}
