// Package record is what an experiment on a running host saw, as one value: what was asked, what was injected, what every caller got, and what
// the host held before and after. It is written by the run, judged by pure functions, and shown by the report. It holds no judgement of its own
// and knows neither hosts nor faults.
package record

import "time"

// Format is the number of this form. A reader refuses one that it does not know.
const Format = 1

// Record is one experiment's. Times are seconds since Begun.
type Record struct {
	Format     int        `json:"format"`
	Experiment Experiment `json:"experiment"`
	Host       Host       `json:"host"`
	Begun      time.Time  `json:"begun"`
	Seed       uint64     `json:"seed"` // of everything that was drawn
	Phases     []Phase    `json:"phases"`
	// Aborted is the guard that ended the run early, with what it saw; empty when none did.
	Aborted string    `json:"aborted,omitzero"`
	Groups  []Group   `json:"groups"`
	Strikes []Strike  `json:"strikes"`
	Rows    []Row     `json:"rows"`
	Events  []Event   `json:"events"`
	Probes  []Probe   `json:"probes"`
	Holds   []Holding `json:"holds"`
	Effects *Effects  `json:"effects,omitzero"` // nil when no tool counted
	Figures []Figure  `json:"figures"`
	// Verdicts are added when the record is judged.
	Verdicts []Verdict `json:"verdicts"`
}

// Experiment is as much of the experiment as its record has to say.
type Experiment struct {
	Name       string   `json:"name"`
	Title      string   `json:"title"`
	Hypothesis string   `json:"hypothesis"`
	Catalogue  []string `json:"catalogue"` // rows of the fault catalogue, as "F05"
	// Contends says that the fault takes what bystanders need too: cores, memory, descriptors.
	Contends bool `json:"contends"`
	// Short says that the phases are too short for a verdict on latencies and recovery.
	Short bool `json:"short"`
	// Blast are the patterns of paths that may restart: all others must not.
	Blast []string `json:"blast"`
	// Restarts are, by pattern of paths, how many restarts there must be: at least and at most.
	Restarts map[string][2]int `json:"restarts"`
	// Recovery is how soon after the last fault ended the target must be steady, in seconds; 0 is no expectation.
	Recovery float64 `json:"recovery"`
	// TargetErrors is how many calls of the target may fail at most; -1 is any number.
	TargetErrors int64 `json:"target_errors"`
}

// Host is what was broken and on what machine.
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
	// Errors are the texts of errors with their numbers.
	Errors map[string]uint64 `json:"errors"`
	// Slips are calls whose outcome was wrong in itself: too late, twice, or somebody else's.
	Slips []Slip `json:"slips"`
	// Order is what became of the calls that were told of their progress; nil when there were none to be.
	Order *Order `json:"order,omitzero"`
	// Blocks are parts of the baseline and of the fault, each with calls enough for its P999.
	Blocks []Block `json:"blocks,omitzero"`
}

// Order is the account of calls whose progress was told on a stream, most of which the client left and came back to. They are beside those of
// Phases. Calls = OK + Failed + Lost + Crossed.
type Order struct {
	Calls    uint64 `json:"calls"`
	OK       uint64 `json:"ok"`
	Failed   uint64 `json:"failed"`
	Lost     uint64 `json:"lost"`
	Crossed  uint64 `json:"crossed"`
	Events   uint64 `json:"events"`           // messages on streams, without those that came again
	Resumed  uint64 `json:"resumed"`          // times that a client came back to a stream and was given the rest
	Refused  uint64 `json:"refused"`          // times that it was not
	Replayed uint64 `json:"replayed"`         // messages that came again, as they had to
	Slips    uint64 `json:"slips"`            // messages that were out of their order
	Error    string `json:"error,omitzero"`   // the last of those that failed
	Unheard  string `json:"unheard,omitzero"` // why no call could be told of its progress
}

// Block is a part of a phase.
type Block struct {
	Phase string  `json:"phase"`
	At    float64 `json:"at"` // since the phase began, in seconds
	Calls uint64  `json:"calls"`
	P999  float64 `json:"p99_9"` // in milliseconds
}

// Calls is what became of calls. Sent = OK + Failed + Lost + Crossed.
type Calls struct {
	Sent      uint64 `json:"sent"`
	OK        uint64 `json:"ok"`
	Failed    uint64 `json:"failed"`  // an error came, within the time
	Refused   uint64 `json:"refused"` // of Failed: the host refused to begin (429, 503, overloaded)
	Lost      uint64 `json:"lost"`    // no outcome within deadline + 250 ms
	Crossed   uint64 `json:"crossed"` // the answer was another call's
	Duplicate uint64 `json:"duplicate"`
	// Latencies of the calls that were OK, in milliseconds from when they were due.
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
	// Histogram are the latencies' buckets, finest first: calls up to so many milliseconds and above the bucket before.
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
	Failed uint64  `json:"failed"` // with lost and crossed ones
	P50    float64 `json:"p50"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
}

// Slip is one call that must not be.
type Slip struct {
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
	// Quiet says that the host need not tell of it.
	Quiet bool `json:"quiet,omitzero"`
	// Silent says that the host had to find it out.
	Silent bool   `json:"silent,omitzero"`
	Error  string `json:"error,omitzero"` // why it could not be injected
	// Wrong is what went wrong after it was injected: it could not be healed, or the host did what it must not.
	Wrong string `json:"wrong,omitzero"`
}

// Row is one row of the supervision tree.
type Row struct {
	Path     string `json:"path"`
	Type     string `json:"type"` // worker or supervisor
	Restarts int    `json:"restarts"`
	// Incarnations are how many more of it there were: restarts, and those together with the rows above it.
	Incarnations int    `json:"incarnations,omitzero"`
	Before       string `json:"before"` // its status in the baseline; empty when it was not there
	After        string `json:"after"`  // and after healing
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
	// Fields are what is particular to it, as docs/telemetry.gen.md has them.
	Fields map[string]string `json:"fields,omitzero"`
}

// Probe is one question that was asked again and again, and its answers.
type Probe struct {
	Name    string   `json:"name"`
	Answers []Answer `json:"answers"`
}

// Answer is what a probe was told at a time.
type Answer struct {
	At float64 `json:"at"`
	OK bool    `json:"ok"`
	Is string  `json:"is"`
}

// Lasting names the sessions that outlive a host which is killed: those with a handshake. A peer of the later era has nothing that it could come
// back to.
const Lasting = "lasting sessions"

// Holding is a thing that the host holds, before the fault and at last after it.
type Holding struct {
	Name string `json:"name"` // goroutines, descriptors, children, sessions, in flight, rows of session, timers of catalog
	// Family is what holdings have in common that differ in a label, as "rows" of "rows of session"; empty for one alone.
	Family string  `json:"family,omitzero"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// Named are those of After that have a name and a bound, such as abandoned goroutines, and NamedBefore those of Before.
	Named       float64 `json:"named"`
	NamedBefore float64 `json:"named_before,omitzero"`
	// More says of what there are more, where that is known.
	More  string  `json:"more,omitzero"`
	Peak  float64 `json:"peak"`
	Limit float64 `json:"limit"` // of Peak; 0 is none
	// Unmeasured says that the host did not tell afterwards, so that there is no After.
	Unmeasured bool `json:"unmeasured,omitzero"`
	// Exact says that of those without a name there must not be more afterwards.
	Exact bool `json:"exact"`
	// Share is the part of Before by which After may be more, and Kept by how much at least; zeroes are not judged.
	Share float64 `json:"share,omitzero"`
	Kept  float64 `json:"kept,omitzero"`
}

// Grown reports whether After is more than it may be by Share and Kept, apart from what has a name.
func (h Holding) Grown() bool { return h.Share > 0 && h.Surplus() > max(h.Before*h.Share, h.Kept) }

// Surplus is how many more without a name there are afterwards.
func (h Holding) Surplus() float64 { return (h.After - h.Named) - (h.Before - h.NamedBefore) }

// Effects is what counting tools did against what they were asked, of all tenants together.
type Effects struct {
	Asked    uint64 `json:"asked"`    // calls that were to have an effect
	Answered uint64 `json:"answered"` // those that were told that they had it
	Done     uint64 `json:"done"`     // effects
	Doubled  uint64 `json:"doubled"`  // effects beyond the first of one call
	// Twice are some of the calls that had more than one, each as "tenant: nonce".
	Twice []string `json:"twice,omitzero"`
	// Uncounted says why the tools of some tenants have not told; empty when all have.
	Uncounted string `json:"uncounted,omitzero"`
}

// Figure is one measured quantity with its target.
type Figure struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit"`
	Samples []float64 `json:"samples"`
	Goal    float64   `json:"goal"` // at most; 0 is none
	// Because says why the goal is another than the catalogue's.
	Because string `json:"because,omitzero"`
	// Meanwhile says that it shows only as long as a fault lasts.
	Meanwhile bool `json:"meanwhile,omitzero"`
}

// What a verdict says.
const (
	Pass     = "pass"
	Fail     = "fail"
	Unclear  = "unclear"    // the interval holds the limit
	Unjudged = "not judged" // Text says why
)

// Verdict is one invariant, judged.
type Verdict struct {
	ID    string `json:"id"`   // I1 to I13
	Text  string `json:"text"` // what must be so
	Is    string `json:"is"`   // pass, fail, unclear, not judged
	Found string `json:"found"`
}
