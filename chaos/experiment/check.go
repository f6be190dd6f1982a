package experiment

import (
	"fmt"
	"strconv"
	"strings"

	"mcpd/chaos/faults"
	"mcpd/gateway/config/document"
	"mcpd/gateway/config/units"
	"mcpd/telemetry"
)

// check reports mistakes that involve more than one key.
func (r *reader) check(e *Experiment) {
	for _, name := range []string{"name", "title", "hypothesis"} {
		if r.lacks("", name) {
			r.Report(r.position(""), "an experiment without "+name,
				"nobody could tell what it shows", "add it")
		}
	}
	if e.Load.TargetRate == 0 {
		e.Load.TargetRate = e.Load.Rate
	}
	if len(e.Faults) > maxFaults {
		r.Report(r.position("faults"), fmt.Sprintf("%d faults", len(e.Faults)),
			fmt.Sprintf("at most %d are taken", maxFaults), "make several experiments")
	}
	if len(e.Probes) > maxProbes {
		r.Report(r.position("probes"), fmt.Sprintf("%d probes", len(e.Probes)),
			fmt.Sprintf("at most %d are asked", maxProbes), "leave some out")
	}
	for i := range e.Faults {
		r.fault(e, fmt.Sprintf("faults[%d]", i), &e.Faults[i])
	}
	named := map[string]bool{}
	for i, p := range e.Probes {
		at := fmt.Sprintf("probes[%d]", i)
		r.probe(at, p)
		if named[p.Name] && p.Name != "" {
			r.Report(r.position(at+".name"), fmt.Sprintf("a second probe %q", document.Printable(p.Name)),
				"the report tells probes apart by their names", "rename one")
		}
		named[p.Name] = true
	}
}

func (r *reader) fault(e *Experiment, at string, f *Fault) {
	k, known := faults.Find(r.kinds, f.Kind)
	switch {
	case f.Kind == "":
		if r.lacks(at, "do") {
			r.Report(r.position(at), at+" has no do", "it says which kind of fault",
				"add it; `mcpd chaos list` shows the kinds")
		}
		return
	case !known:
		r.Report(r.position(at+".do"), fmt.Sprintf("%s.do is %q", at, document.Printable(f.Kind)),
			"there is no such kind of fault",
			document.DidYouMean(f.Kind, kindNames(r.kinds), "`mcpd chaos list` shows the kinds"))
		return
	}
	e.Contends = e.Contends || k.Contends
	f.Aim = k.Aim
	r.aim(at, k, f)
	r.parameters(at+".with", k, f)
	if f.After >= e.Phases.Fault {
		r.Report(r.position(at+".after"), fmt.Sprintf("%s.after is %s", at, units.FormatSpan(f.After)),
			"the phase is over by then: it has "+units.FormatSpan(e.Phases.Fault), "have it strike earlier")
	}
	if f.Times > 1 && f.Every == 0 {
		r.Report(r.position(at+".times"), fmt.Sprintf("%s.times is %d", at, f.Times),
			"nothing says when it strikes again", "add every")
	}
	if f.Every > 0 && f.Times == 0 && (e.Phases.Fault-f.After)/f.Every >= maxStrikes {
		r.Report(r.position(at+".every"), fmt.Sprintf("%s.every is %s", at, units.FormatSpan(f.Every)),
			fmt.Sprintf("the phase has room for more than %d strikes", maxStrikes),
			"have it strike more rarely, or say times")
	}
}

// aims says, for each aim, which keys of a selector it takes besides tenant.
var aims = map[faults.Aim]struct {
	label               string
	tenant, server, row bool
}{
	faults.AtHost:    {"the host as a whole", false, false, false},
	faults.AtTenant:  {"a tenant", true, false, false},
	faults.AtServer:  {"a server", true, true, false},
	faults.AtProgram: {"a server that is a program", true, true, false},
	faults.AtRow:     {"a row", true, false, true},
}

func (r *reader) aim(at string, k faults.Kind, f *Fault) {
	aim := aims[k.Aim]
	for _, part := range []struct {
		key   string
		takes bool
	}{{"tenant", aim.tenant}, {"server", aim.server}, {"row", aim.row}} {
		if where := at + ".at." + part.key; !part.takes && r.has(where) {
			r.Report(r.position(where), where+" is there",
				fmt.Sprintf("%s is aimed at %s", k.Name, aim.label),
				"leave it out")
		}
	}
	if where := at + ".at.percent"; !k.Partial && r.has(where) {
		r.Report(r.position(where), where+" is there", k.Name+" strikes once, not some of many",
			"leave it out")
	}
	switch {
	case !aim.tenant:
		f.At.Tenant = ""
	case f.At.Tenant == "":
		f.At.Tenant = Target // the file gives no selector
	}
	switch {
	case !aim.row:
	case f.At.Row == "" && (r.broken[at] || !r.lacks(at+".at", "row")):
	case f.At.Row == "":
		r.Report(r.position(at+".at"), at+".at has no row", k.Name+" is aimed at one",
			"add it; `mcpd tree` shows the rows")
	case absolute(f.At.Row):
		if f.At.Tenant = ""; r.has(at + ".at.tenant") {
			r.Report(r.position(at+".at.tenant"), at+".at.tenant is there", "row is a whole path",
				"write the row without mcpd/tenants/ and the tenant, or leave tenant out")
		}
	}
}

// parameters reads the parameters, which depend on the kind.
func (r *reader) parameters(at string, k faults.Kind, f *Fault) {
	f.Params = k.Defaults()
	names := make([]string, len(k.Params))
	for i, p := range k.Params {
		names[i] = p.Name
	}
	for _, pair := range r.with[at] {
		p, ok := k.Param(pair.Name.Text)
		if !ok {
			r.unknown(k.Name, pair.Name, names)
			continue
		}
		where := join(at, p.Name)
		r.where[where] = document.At(pair.Value)
		r.text(where, pair.Value, forms[p.Type], func(text string) *mistake {
			v, ok := p.Parse(text)
			if !ok && p.Words != nil {
				return notAWord(text, p.Words)
			}
			if !ok {
				return &mistake{"it is none in its range", "write a " + p.Want()}
			}
			f.Params[p.Name] = v
			return nil
		})
	}
}

// forms says how each type of parameter is written.
var forms = map[faults.Type]form{
	faults.Duration: loose, faults.Number: plain, faults.Size: loose, faults.Text: quoted,
}

func (r *reader) probe(at string, p Probe) {
	for _, key := range []string{"name", "ask"} {
		if r.lacks(at, key) {
			r.Report(r.position(at), at+" has no "+key, "it is a question with a name", "add it")
		}
	}
	for ask, key := range map[string]string{AskTree: "row", AskMetric: "metric"} {
		switch there := r.has(join(at, key)); {
		case p.Ask == ask && r.lacks(at, key):
			r.Report(r.position(at), at+" has no "+key, fmt.Sprintf("%s asks for one", ask), "add it")
		case p.Ask != ask && there && p.Ask != "":
			r.Report(r.position(join(at, key)), fmt.Sprintf("%s.%s is there", at, key),
				fmt.Sprintf("%s does not ask for one", p.Ask), "leave it out")
		}
	}
	if name, _, _ := strings.Cut(p.Metric, "{"); name != "" && !telemetry.KnownMetric(name) {
		r.Report(r.position(at+".metric"),
			fmt.Sprintf("%s.metric is %q", at, document.Printable(p.Metric)),
			"no host has such a metric",
			document.DidYouMean(name, telemetry.MetricNames(),
				"/metrics of a host has those that there are, docs/telemetry.gen.md explains them"))
	}
	if _, bound, is := Bound(p.Want); is {
		if _, err := strconv.ParseFloat(bound, 64); err != nil {
			r.Report(r.position(at+".want"), fmt.Sprintf("%s.want is %q", at, document.Printable(p.Want)),
				"what is behind it is no number", "write it like <= 10")
		}
	}
}

// Bound splits the answer that a probe wants into a comparison and a number. It returns false for a
// text, which must be equal to the answer.
func Bound(want string) (comparison, number string, ok bool) {
	for _, c := range []string{"<=", ">=", "<", ">"} {
		if rest, has := strings.CutPrefix(want, c); has {
			return c, strings.TrimSpace(rest), true
		}
	}
	return "", "", false
}

func kindNames(kinds []faults.Kind) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return names
}
