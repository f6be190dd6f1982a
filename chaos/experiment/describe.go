package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcpd/chaos/faults"
	"mcpd/gateway/config/units"
)

// Describe describes an experiment in sentences, with a paragraph for each part.
func (e Experiment) Describe(kinds []faults.Kind) string {
	var b strings.Builder
	part := func(title string, lines ...string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n  %s\n", title, strings.Join(lines, "\n  "))
		}
	}
	fmt.Fprintf(&b, "%s: %s\n", e.Name, e.Title)
	part("Hypothesis", wrap(e.Hypothesis, 98)...)
	part("Load", e.load()...)
	part("Faults", e.faults(kinds)...)
	part("Probes", e.probes()...)
	part("Expected, beside the invariants that every experiment has", e.expected()...)
	part("It heals everything and ends early when", e.guards()...)
	part("Needs", e.Needs(kinds)...)
	part("Catalogue", e.catalogue()...)
	return b.String()
}

func (e Experiment) load() []string {
	l := e.Load
	rate := fmt.Sprintf("Every tenant gets %d calls of %s a second", l.Rate, l.Tool)
	if l.TargetRate != l.Rate {
		rate += fmt.Sprintf(", the target %d", l.TargetRate)
	}
	return []string{
		rate + fmt.Sprintf(", on %s: the target and up to %s.", count(l.Sessions, "session", "sessions"),
			count(l.Bystanders, "bystander", "bystanders")),
		fmt.Sprintf("Calls are put for %s before the faults, %s with them and %s after them; one "+
			"without an outcome in %s is lost.",
			units.FormatSpan(e.Phases.Baseline), units.FormatSpan(e.Phases.Fault),
			units.FormatSpan(e.Phases.Heal), units.FormatSpan(l.Timeout)),
		fmt.Sprintf("Of a hundred calls %d have an effect, which %s counts; beside them %s a second %s "+
			"told of progress by %s.",
			l.Effects, l.Counter, count(l.Streams, "call", "calls"), isOrAre(l.Streams), l.Stepper),
	}
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func (e Experiment) faults(kinds []faults.Kind) (lines []string) {
	for _, f := range e.Faults {
		k, _ := faults.Find(kinds, f.Kind)
		lines = append(lines, fmt.Sprintf("%s: %s.", k.Name, k.Description),
			"  "+f.where()+", "+f.when()+".")
		if with := k.FormatParams(f.Params); len(with) > 0 {
			lines = append(lines, "  With "+strings.Join(with, ", ")+".")
		}
	}
	return lines
}

// where describes the target of a fault.
func (f Fault) where() string {
	who := f.At.Tenant
	switch who {
	case Target:
		who = "the target"
	case Bystander:
		who = "a bystander"
	default:
		who = "tenant " + who
	}
	label := who
	switch f.Aim {
	case faults.AtHost:
		label = "the host"
	case faults.AtServer, faults.AtProgram:
		switch f.At.Server {
		case "":
			label = "a server of " + who
		case loadServer:
			label = "the server of " + who + " that is called"
		default:
			label = "server " + f.At.Server + " of " + who
		}
	case faults.AtRow:
		if label = "row " + f.At.Row; !absolute(f.At.Row) {
			label += " of " + who
		}
		if strings.Contains(f.At.Row, "*") {
			label += ", drawn"
		}
	}
	if f.At.Percent > 0 {
		label += fmt.Sprintf(", %g of a hundred times", f.At.Percent)
	}
	return "At " + label
}

// when says when a fault strikes and for how long.
func (f Fault) when() string {
	text := "once, after " + units.FormatSpan(f.After)
	if f.Every > 0 {
		text = fmt.Sprintf("after %s and then every %s", units.FormatSpan(f.After),
			units.FormatSpan(f.Every))
	}
	if f.Times > 1 {
		text += fmt.Sprintf(", %d times", f.Times)
	}
	switch {
	case f.For > 0:
		return text + ", for " + units.FormatSpan(f.For)
	case f.Every > 0:
		return text + ", each until the next"
	}
	return text + ", until the faults end"
}

func (e Experiment) probes() (lines []string) {
	for _, p := range e.Probes {
		line := p.Name + ": " + p.Ask
		if label := p.Row + p.Metric; label != "" {
			line += " " + label
		}
		if p.Want != "" {
			line += ", wants " + p.Want
		}
		lines = append(lines, line)
	}
	return lines
}

func (e Experiment) expected() (lines []string) {
	x := e.Expect
	if len(x.MayRestart) == 0 {
		lines = append(lines, "No row restarts.")
	} else {
		lines = append(lines, "No row restarts but "+strings.Join(x.MayRestart, ", ")+".")
	}
	for _, pattern := range slices.Sorted(maps.Keys(x.Restarts)) {
		lines = append(lines, fmt.Sprintf("Restarts of %s: %s.", pattern, x.Restarts[pattern]))
	}
	if x.TargetErrors != AnyErrors {
		lines = append(lines, fmt.Sprintf("At most %s of the target fail.",
			count(x.TargetErrors, "call", "calls")))
	}
	if x.Recovery > 0 {
		lines = append(lines, fmt.Sprintf("The target is as before %s after the last fault.",
			units.FormatSpan(x.Recovery)))
	}
	if e.Contends {
		lines = append(
			lines, "Bystanders may be slower than otherwise: the faults take what they need too.",
		)
	}
	for _, name := range slices.Sorted(maps.Keys(x.Figures)) {
		q, _ := QuantityOf(name) // the name was checked by Parse
		line := strings.TrimSpace(fmt.Sprintf("%s is at most %g %s", name, x.Figures[name].Goal, q.Unit))
		if because := x.Figures[name].Because; because != "" {
			line += ", because " + strings.TrimSuffix(because, ".")
		}
		lines = append(lines, line+".")
	}
	return lines
}

// String returns the restarts in the form in which Describe shows them.
func (r Restarts) String() string {
	switch {
	case r.Hits:
		return "as many as hits"
	case r.Low == r.High:
		return fmt.Sprint(r.Low)
	}
	return fmt.Sprintf("%d to %d", r.Low, r.High)
}

func (e Experiment) guards() (lines []string) {
	a := e.AbortIf
	if a.BystanderErrors > 0 {
		lines = append(lines, count(a.BystanderErrors, "call of bystanders has",
			"calls of bystanders have")+" failed,")
	}
	if a.HostDown > 0 {
		lines = append(lines, "the host has answered nobody for "+units.FormatSpan(a.HostDown)+",")
	}
	if a.Resident > 0 {
		lines = append(lines, "the host has "+units.FormatSize(a.Resident)+" of memory,")
	}
	if len(lines) > 0 {
		last := &lines[len(lines)-1]
		*last = strings.TrimSuffix(*last, ",") + "."
	}
	return lines
}

// needs describes the needs of faults in sentences.
var needs = []struct {
	need       faults.Need
	word, text string
}{
	{faults.NeedFaultPoints, "faults",
		"The host runs with --chaos, and we have its token of that scope."},
	{faults.NeedSameMachine, "machine",
		"The host is on this machine and runs as our user, or we are root."},
	{faults.NeedOwnHost, "own", "The host is started by us: it is killed, and started again."},
}

// DescribeKind describes a kind of fault.
func DescribeKind(k faults.Kind) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s.\n\nIt is aimed at %s", k.Name, k.Description, aims[k.Aim].label)
	if k.Partial {
		b.WriteString(", and can strike some of a hundred times")
	}
	b.WriteString(".\n")
	if k.Fatal {
		b.WriteString("Each hit ends an incarnation of a row.\n")
	}
	if k.Contends {
		b.WriteString("It takes what bystanders need too.\n")
	}
	for _, line := range sentences(k.Needs) {
		b.WriteString(line + "\n")
	}
	if len(k.Params) > 0 {
		b.WriteString("\nParameters\n")
	}
	for _, p := range k.Params {
		fmt.Fprintf(&b, "  %s: %s (%s", p.Name, p.Description, p.Want())
		if p.Default != "" {
			fmt.Fprintf(&b, "; %s when it is not said", p.Default)
		}
		b.WriteString(")\n")
	}
	b.WriteString("\nCatalogue\n")
	for _, id := range k.CatalogueIDs {
		row, _ := faults.InCatalogue(id)
		fmt.Fprintf(&b, "  %s %s\n", row.ID, row.Description)
	}
	return b.String()
}

// Needs returns the requirements of the experiment, in sentences.
func (e Experiment) Needs(kinds []faults.Kind) []string {
	var all faults.Need
	for _, f := range e.Faults {
		k, _ := faults.Find(kinds, f.Kind)
		all |= k.Needs
	}
	return sentences(all)
}

func sentences(all faults.Need) (lines []string) {
	for _, n := range needs {
		if all&n.need != 0 {
			lines = append(lines, n.text)
		}
	}
	return lines
}

func (e Experiment) catalogue() (lines []string) {
	for _, id := range e.CatalogueIDs {
		row, _ := faults.InCatalogue(id)
		lines = append(lines, row.ID+" "+row.Description)
	}
	return lines
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// wrap breaks a text into lines.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
