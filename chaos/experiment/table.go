package experiment

import (
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Bounds of an experiment.
const (
	maxPhase   = 24 * time.Hour // the longest soak takes eight hours
	maxFaults  = 64             // lines; use several experiments for more
	maxProbes  = 32
	maxStrikes = 100_000 // of one line: one every millisecond of a minute, and some more
)

// keys are all keys of an experiment, in the order in which they are best written.
var keys = []key[Experiment]{
	{"name", like("name: a-z, 0-9 and -", `[a-z][a-z0-9-]{0,63}`, "write it like hang-request-manager",
		func(e *Experiment) *string {
			return &e.Name
		}), "",
		"by which it is run; a file of the library is named after it"},
	{"title", line(1, 80, func(e *Experiment) *string { return &e.Title }), "",
		"what happens, in a line"},
	{"hypothesis", line(1, 2000, func(e *Experiment) *string { return &e.Hypothesis }), "",
		"what is believed to be so meanwhile and afterwards, in sentences"},
	{"catalogue", texts("rows of the fault catalogue", addCatalogue), "",
		"which faults of the catalogue it is for"},
	{"contends", boolean(func(e *Experiment) *bool { return &e.Contends }), "false",
		"the faults take cores, memory or descriptors that bystanders need, so that their latencies " +
			"may grow more; true without saying so where a kind of fault does"},
	{"load", section(loadKeys, func(e *Experiment) *Load { return &e.Load }), "",
		"what clients do from the beginning to the end, on the same schedule in every phase"},
	{"phases", section(phaseKeys, func(e *Experiment) *Phases { return &e.Phases }), "",
		"how long each part is"},
	{"faults", list(faultKeys, func(e *Experiment) *[]Fault { return &e.Faults }), "",
		"what is broken, a line for each; without one nothing is, to compare with"},
	{"probes", list(probeKeys, func(e *Experiment) *[]Probe { return &e.Probes }), "",
		"questions that are asked once a second, whose answers are part of the report"},
	{"expect", section(expectKeys, func(e *Experiment) *Expect { return &e.Expect }), "",
		"what has to be so, beside the invariants that every experiment has"},
	{"abort_if", section(abortKeys, func(e *Experiment) *AbortIf { return &e.AbortIf }), "",
		"when everything is healed and the run ends early"},
}

var loadKeys = []key[Load]{
	{"rate", number(1, 100_000, func(l *Load) *int { return &l.Rate }), "280",
		"calls a second of each tenant, whatever became of the calls before"},
	{"target_rate", number(1, 100_000, func(l *Load) *int { return &l.TargetRate }), "",
		"the same of the target, where it is another"},
	{"sessions", number(1, 10_000, func(l *Load) *int { return &l.Sessions }), "4",
		"sessions of each tenant, among which the calls are dealt out"},
	{"timeout", span(100*time.Millisecond, 20*time.Minute, func(l *Load) *time.Duration {
		return &l.Timeout
	}), "10s",
		"when a call without an outcome is lost; one that is told of its progress, so long after the " +
			"last step"},
	{"tool", line(1, 128, func(l *Load) *string { return &l.Tool }), "demo__echo",
		"what is called: it has to give back the text that it is given, as the last word of what it " +
			"says"},
	{"argument", line(1, 128, func(l *Load) *string { return &l.Argument }), "message",
		"in which it is given the text"},
	{"effects", number(0, 100, func(l *Load) *int { return &l.Effects }), "10",
		"of a hundred calls so many have an effect, so that one that is carried out twice is found out"},
	{"counter", line(1, 128, func(l *Load) *string { return &l.Counter }), "demo__count",
		"what they call instead: as the tool count of `mcpd chaos server` it has to keep each effect, " +
			"and tell of all of them; without it nothing is said of that"},
	{"streams", number(0, 100, func(l *Load) *int { return &l.Streams }), "2",
		"calls a second of each tenant, at most, that are told of their progress on a stream, which " +
			"its client leaves now and then to come back to; they are not timed"},
	{"stepper", line(1, 128, func(l *Load) *string { return &l.Stepper }), "demo__steps",
		"what they call: as the tool steps of `mcpd chaos server` it has to tell of each of its steps; " +
			"without it nothing is said of their order"},
	{"bystanders", number(0, 1000, func(l *Load) *int { return &l.Bystanders }), "2",
		"tenants beside the target, at most"},
}

var phaseKeys = []key[Phases]{
	{"baseline", span(time.Second, maxPhase, func(p *Phases) *time.Duration {
		return &p.Baseline
	}), "60s",
		"before anything is broken"},
	{"fault", span(time.Second, maxPhase, func(p *Phases) *time.Duration { return &p.Fault }), "60s",
		"in which faults strike; they are healed at its end"},
	{"heal", span(time.Second, maxPhase, func(p *Phases) *time.Duration { return &p.Heal }), "60s",
		"in which all has to become as it was"},
}

var faultKeys = []key[Fault]{
	{"do", line(1, 64, func(f *Fault) *string { return &f.Kind }), "",
		"the kind of fault, of those below"},
	{"at", section(selectorKeys, func(f *Fault) *Selector { return &f.At }), "",
		"what it is aimed at; what is left open is drawn anew for each strike"},
	{"after", span(0, maxPhase, func(f *Fault) *time.Duration { return &f.After }), "0s",
		"when it strikes first, from the beginning of the phase"},
	{"every", span(time.Millisecond, maxPhase, func(f *Fault) *time.Duration { return &f.Every }), "",
		"when it strikes again; without it, it strikes once"},
	{"times", number(1, maxStrikes, func(f *Fault) *int { return &f.Times }), "",
		"how often it strikes; without it, as often as the phase has room for"},
	{"for", span(time.Millisecond, maxPhase, func(f *Fault) *time.Duration { return &f.For }), "",
		"how long a strike lasts; without it, until the next one or the end of the phase"},
	{"with", kind[Fault]{want: "parameters of the kind", read: readWith}, "",
		"the kind's own parameters"},
}

// readWith keeps the parameters until the kind is known.
func readWith(r *reader, _ *Fault, path string, y ast.Node) { r.with[path], _ = r.Pairs(y, path) }

var selectorKeys = []key[Selector]{
	{"tenant", like("tenant: target, bystander or a name", `[a-z0-9-]{1,63}`,
		"write target, bystander or the name of a tenant", func(s *Selector) *string {
			return &s.Tenant
		}), Target,
		"whom it hits: a role, or a tenant by its name"},
	{"server", like("name of a server", `[a-z0-9][a-z0-9-]{0,31}|\{load\}`,
		"write it as in the configuration", func(s *Selector) *string {
			return &s.Server
		}), "",
		"which of the tenant's servers, \"{load}\" being the one of load.tool; without it any"},
	{"row", kind[Selector]{want: "pattern of paths", set: setRow}, "",
		"which row of the tree, below the tenant's or, when it begins with mcpd, below none; * stands " +
			"for any name. A fault strikes at the row's next message: an idle row, such as a catalog that " +
			"nobody asks, is never struck; only some of the core are given something to do"},
	{"percent", share(func(s *Selector) *float64 { return &s.Percent }), "",
		"how many of a hundred that it meets are struck; without it all"},
}

var probeKeys = []key[Probe]{
	{"name", line(1, 64, func(p *Probe) *string { return &p.Name }), "",
		"what it is called in the report"},
	{"ask", oneOf(func(p *Probe) *string { return &p.Ask }, AskReady, AskLive, AskTree, AskMetric), "",
		"the status of an endpoint, the state of a row (its status where it has no state), or the " +
			"value of a metric"},
	{"row", kind[Probe]{want: "pattern of paths", set: func(p *Probe, text string) *mistake {
		p.Row = text
		return badPattern(text)
	}}, "",
		"of tree: which"},
	{"metric", like("name of a metric", `[a-z][a-z0-9_]*(\{[a-z0-9_=",./*-]*\})?`,
		"write it as /metrics has it", func(p *Probe) *string {
			return &p.Metric
		}), "",
		"of metric: which; over all labels that are not named"},
	{"want", line(1, 64, func(p *Probe) *string { return &p.Want }), "",
		"the answer that is right: a text, or <=, <, >= or > and a number; without it any is"},
}

var expectKeys = []key[Expect]{
	{"blast", texts("patterns of paths", addBlast), "",
		"the rows that may restart; no other may"},
	{"restarts", kind[Expect]{want: "pattern of paths: number, low..high or hits", read: readRestarts},
		"",
		"how often those of a pattern have restarted at the end, all together; hits is as often as " +
			"faults have struck them"},
	{"target_errors", kind[Expect]{want: "number | any", form: loose, set: setErrors}, "any",
		"calls of the target that may fail"},
	{"recovery", span(0, time.Hour, func(x *Expect) *time.Duration { return &x.Recovery }), "",
		"how soon after the last fault the target has to be as before"},
	{"figures", kind[Expect]{want: "name: goal", read: readFigures, below: func(prefix string) []Row {
		return rows(prefix+".*.", figureKeys)
	}}, "",
		"quantities that the run measures, by the names below"},
}

var figureKeys = []key[Figure]{
	{"goal", quantity(func(f *Figure) *float64 { return &f.Goal }), "",
		"what 99 of 100 samples may be at most, in the figure's unit"},
	{"because", line(1, 500, func(f *Figure) *string { return &f.Because }), "",
		"why that is another goal than the catalogue's"},
}

var abortKeys = []key[AbortIf]{
	{"bystander_errors", number(0, 1_000_000, func(a *AbortIf) *int {
		return &a.BystanderErrors
	}), "100",
		"calls of bystanders that have failed; 0 is never"},
	{"host_down", span(0, maxPhase, func(a *AbortIf) *time.Duration { return &a.HostDown }), "10s",
		"the host has answered nobody for so long; 0s is never"},
	{"resident", size(0, 1<<44, func(a *AbortIf) *int64 { return &a.Resident }), "4GiB",
		"memory of the host; 0B is never"},
}

// Row is one key in the documentation.
type Row struct{ Path, Want, Default, Doc string }

// Keys returns all keys, each after the key that it is below.
func Keys() []Row { return rows("", keys) }

func rows[T any](prefix string, keys []key[T]) (list []Row) {
	for _, k := range keys {
		list = append(list, Row{prefix + k.name, k.kind.want, k.def, k.doc})
		if k.kind.below != nil {
			list = append(list, k.kind.below(prefix+k.name)...)
		}
	}
	return list
}
