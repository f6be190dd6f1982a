// Package record defines the record of an experiment on a running host as one value: the load, the
// injected faults, the outcome of every call, and the resources of the host before and after. A run
// writes it, pure functions judge it, and reports show it. The package itself makes no judgement
// and knows neither hosts nor faults.
package record

import "time"

// Format is the number of this format. A reader refuses any other format.
const Format = 1

// Record is the record of one experiment. Times are seconds since Begun.
type Record struct {
	Format     int        `json:"format"`
	Experiment Experiment `json:"experiment"`
	Host       Host       `json:"host"`
	Begun      time.Time  `json:"begun"`
	Seed       uint64     `json:"seed"` // of all random choices
	Phases     []Phase    `json:"phases"`
	// Aborted is why the run ended early or is incomplete, such as the guard that tripped with the
	// value that it saw; empty if neither is so.
	Aborted  string    `json:"aborted,omitzero"`
	Groups   []Group   `json:"groups"`
	Strikes  []Strike  `json:"strikes"`
	Rows     []Row     `json:"rows"`
	Events   []Event   `json:"events"`
	Probes   []Probe   `json:"probes"`
	Holdings []Holding `json:"holds"`
	Effects  *Effects  `json:"effects,omitzero"` // nil when no tool counted
	Figures  []Figure  `json:"figures"`
	// Verdicts are added when the record is judged.
	Verdicts []Verdict `json:"verdicts"`
}

// Experiment is the part of the experiment that the record needs.
type Experiment struct {
	Name       string   `json:"name"`
	Title      string   `json:"title"`
	Hypothesis string   `json:"hypothesis"`
	Catalogue  []string `json:"catalogue"` // rows of the fault catalogue, as "F05"
	// Contends says that the fault takes cores, memory or descriptors that bystanders need too.
	Contends bool `json:"contends"`
	// Short says that the phases are too short for a verdict on latencies and recovery.
	Short bool `json:"short"`
	// MayRestart are patterns of the paths that may restart. No other path may.
	MayRestart []string `json:"blast"`
	// Restarts are the least and the greatest number of restarts that there must be, by pattern of
	// paths.
	Restarts map[string][2]int `json:"restarts"`
	// Recovery is how soon after the end of the last fault the target must be steady, in seconds; 0
	// expects nothing.
	Recovery float64 `json:"recovery"`
	// TargetErrors is how many calls of the target may fail; -1 is any number.
	TargetErrors int64 `json:"target_errors"`
}

// Host describes the host and its machine.
type Host struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	System  string `json:"system"`
}

// The phases, in their order.
const (
	Baseline = "baseline"
	Fault    = "fault"
	Heal     = "heal"
)

// Phase is a part of the run's time.
type Phase struct {
	Name string  `json:"name"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// Roles of tenants.
const (
	Target    = "target"
	Bystander = "bystander"
)

// Group is the load on one tenant.
type Group struct {
	Tenant string  `json:"tenant"`
	Role   string  `json:"role"`
	Rate   float64 `json:"rate"` // calls a second, open loop
	// Phases are the calls by the phase in which they were due.
	Phases map[string]Calls `json:"phases"`
	// Seconds are the calls by the second in which they were due.
	Seconds []Second `json:"seconds"`
	// Errors counts the errors by their texts.
	Errors map[string]uint64 `json:"errors"`
	// Violations are calls with an outcome that is wrong in itself: lost, received twice, that of
	// another call, or out of order.
	Violations []Violation `json:"slips"`
	// Order summarizes the calls with progress notifications; nil when there were none.
	Streams *StreamCalls `json:"order,omitzero"`
	// Blocks are parts of the baseline and of the fault, each with enough calls for its P999.
	Blocks []Block `json:"blocks,omitzero"`
}

// StreamCalls summarizes the calls whose progress was sent on a stream. The client left most of
// these streams and resumed them. These calls are not in Phases. Calls = OK + Failed + Lost +
// Crossed.
type StreamCalls struct {
	Calls   uint64 `json:"calls"`
	OK      uint64 `json:"ok"`
	Failed  uint64 `json:"failed"`
	Lost    uint64 `json:"lost"`
	Crossed uint64 `json:"crossed"`
	Events  uint64 `json:"events"` // messages on streams, without repetitions
	// times that a client resumed a stream and got the rest
	Resumed     uint64 `json:"resumed"`
	Refused     uint64 `json:"refused"`          // times that resuming was refused
	Replayed    uint64 `json:"replayed"`         // messages that were replayed, as required
	Slips       uint64 `json:"slips"`            // messages that were out of order
	Error       string `json:"error,omitzero"`   // the last error of a failed call
	Unavailable string `json:"unheard,omitzero"` // why no call could have progress notifications
}

// Block is a part of a phase.
type Block struct {
	Phase string  `json:"phase"`
	At    float64 `json:"at"` // since the phase began, in seconds
	Calls uint64  `json:"calls"`
	P999  float64 `json:"p99_9"` // in milliseconds
}

// Calls counts calls by outcome. Sent = OK + Failed + Lost + Crossed.
type Calls struct {
	Sent      uint64 `json:"sent"`
	OK        uint64 `json:"ok"`
	Failed    uint64 `json:"failed"`  // an error came within the time limit
	Refused   uint64 `json:"refused"` // of Failed: the host refused to begin (429, 503, overloaded)
	Lost      uint64 `json:"lost"`    // no outcome within deadline + 250 ms
	Crossed   uint64 `json:"crossed"` // the answer was that of another call
	Duplicate uint64 `json:"duplicate"`
	// P50 to Max are the latencies of the calls that were OK, in milliseconds from the time when they
	// were due.
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
	// Histogram are the buckets of the latencies, in ascending order. A bucket counts the calls above
	// the limit of the bucket before it, up to its own limit.
	Histogram []Bucket `json:"histogram"`
}

// Bucket is a bar of a histogram.
type Bucket struct {
	To    float64 `json:"to"` // milliseconds
	Calls uint64  `json:"calls"`
}

// Second is one second of a group.
type Second struct {
	At     int     `json:"at"`
	Sent   uint64  `json:"sent"`
	OK     uint64  `json:"ok"`
	Failed uint64  `json:"failed"` // including lost and crossed calls
	P50    float64 `json:"p50"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
}

// Violation is one call that violates an invariant.
type Violation struct {
	At   float64 `json:"at"`
	Kind string  `json:"kind"` // lost, duplicate, crossed, order
	Text string  `json:"text"`
}

// Strike is one fault from its injection to its end.
type Strike struct {
	ID     string  `json:"id"`
	Kind   string  `json:"kind"`   // as "actor.panic"
	Target string  `json:"target"` // in words: a path, a server, a process
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	// Hits is how often it struck.
	Hits int `json:"hits"`
	// Fatal says that each hit ends an incarnation, so that it must have cost one restart.
	Fatal bool `json:"fatal"`
	// Quiet says that the host need not log an event about it.
	Quiet bool `json:"quiet,omitzero"`
	// Silent says that nothing reported the fault to the host, which had to detect it.
	Silent bool   `json:"silent,omitzero"`
	Error  string `json:"error,omitzero"` // why it could not be injected
	// Wrong is what went wrong after the injection: the fault could not be healed, or the host did
	// something it must never do.
	Wrong string `json:"wrong,omitzero"`
}

// Row is one row of the supervision tree.
type Row struct {
	Path     string `json:"path"`
	Type     string `json:"type"` // worker or supervisor
	Restarts int    `json:"restarts"`
	// Incarnations is the number of additional incarnations: restarts of the row alone, and restarts
	// together with rows above it.
	Incarnations int    `json:"incarnations,omitzero"`
	Before       string `json:"before"` // its status in the baseline; empty when the row did not exist
	After        string `json:"after"`  // its status after healing
}

// Event is one of the host's events.
type Event struct {
	At      float64 `json:"at"`
	Level   string  `json:"level"`
	Name    string  `json:"name"`
	Path    string  `json:"path,omitzero"`
	Tenant  string  `json:"tenant,omitzero"`
	Server  string  `json:"server,omitzero"`
	Message string  `json:"message"`
	// Fields are the event's own fields, as documented in docs/telemetry.gen.md.
	Fields map[string]string `json:"fields,omitzero"`
}

// Probe is one question that was asked repeatedly, with its answers.
type Probe struct {
	Name    string   `json:"name"`
	Answers []Answer `json:"answers"`
}

// Answer is the answer to a probe at a time.
type Answer struct {
	At   float64 `json:"at"`
	OK   bool    `json:"ok"`
	Text string  `json:"is"`
}

// LegacySessions is the name of the holding of sessions that survive the end of their host:
// sessions with a handshake. A peer of the modern era has no session to return to.
const LegacySessions = "lasting sessions"

// Holding is a resource that the host holds, measured before the fault and at the end.
type Holding struct {
	// Name is, for example, goroutines, descriptors, children, sessions, in flight, rows of session,
	// or timers of catalog.
	Name string `json:"name"`
	// Family is the common name of holdings that differ in a label, as "rows" of "rows of session". It
	// is empty for a holding without a family.
	Family string  `json:"family,omitzero"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// Named is the part of After that has a name and a bound of its own, such as abandoned goroutines.
	// NamedBefore is that part of Before.
	Named       float64 `json:"named"`
	NamedBefore float64 `json:"named_before,omitzero"`
	// More says what there is more of, if that is known.
	More  string  `json:"more,omitzero"`
	Peak  float64 `json:"peak"`
	Limit float64 `json:"limit"` // of Peak; 0 is none
	// Unmeasured says that the host could not be measured at the end, so that After is missing.
	Unmeasured bool `json:"unmeasured,omitzero"`
	// Exact says that the unnamed part must not grow at all.
	Exact bool `json:"exact"`
	// Share and Kept limit the growth: After may exceed Before by the larger of Before times Share,
	// and Kept. Zeroes are not judged.
	Share float64 `json:"share,omitzero"`
	Kept  float64 `json:"kept,omitzero"`
}

// Leaked reports whether the unnamed part has grown by more than Share and Kept allow.
func (h Holding) Leaked() bool { return h.Share > 0 && h.Surplus() > max(h.Before*h.Share, h.Kept) }

// Surplus returns the growth of the unnamed part.
func (h Holding) Surplus() float64 { return (h.After - h.Named) - (h.Before - h.NamedBefore) }

// Effects compares the effects that the counting tools had with those that they were asked for,
// summed over all tenants.
type Effects struct {
	Asked    uint64 `json:"asked"`    // calls that asked for an effect
	Answered uint64 `json:"answered"` // calls whose answer confirmed the effect
	Done     uint64 `json:"done"`     // effects
	Doubled  uint64 `json:"doubled"`  // effects beyond the first of a call
	// Twice are some of the calls that had more than one effect, each as "tenant: nonce".
	Twice []string `json:"twice,omitzero"`
	// Uncounted says why the tools of some tenants gave no count; empty when all did.
	Uncounted string `json:"uncounted,omitzero"`
}

// Figure is one measured quantity with its goal.
type Figure struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit"`
	Samples []float64 `json:"samples"`
	Goal    float64   `json:"goal"` // the largest allowed value; 0 is none
	// Reason says why the goal differs from the catalogue's.
	Reason string `json:"because,omitzero"`
	// DuringFault says that the figure can be measured only while a fault lasts.
	DuringFault bool `json:"meanwhile,omitzero"`
}

// The results of a verdict.
const (
	Pass     = "pass"
	Fail     = "fail"
	Unclear  = "unclear"    // the confidence interval contains the limit
	Unjudged = "not judged" // Found says why
)

// Verdict is the judgement on one invariant.
type Verdict struct {
	ID     string `json:"id"`   // I1 to I13, or E1 to E4
	Text   string `json:"text"` // the invariant
	Result string `json:"is"`   // pass, fail, unclear, not judged
	Found  string `json:"found"`
}
