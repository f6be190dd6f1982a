package experiment

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"mcpd/chaos/faults"
	"mcpd/gateway/config/units"
)

// Plan shows a schedule with a line for each strike. Times are counted from the beginning of the
// run.
func (e Experiment) Plan(roles Roles, strikes []Strike, seed uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, seed %d\n", e.Name, seed)
	fmt.Fprintf(&b, "target %s", roles.Target)
	if n := len(roles.Bystanders); n > 0 {
		fmt.Fprintf(&b, ", bystander%s %s", plural(n), strings.Join(roles.Bystanders, ", "))
	}
	b.WriteByte('\n')
	begin, end := e.Phases.Baseline, e.Phases.Baseline+e.Phases.Fault
	fmt.Fprintf(&b, "faults from %s to %s, the end at %s\n", units.FormatSpan(begin),
		units.FormatSpan(end), units.FormatSpan(end+e.Phases.Heal))
	if len(strikes) == 0 {
		return b.String() + "\nnothing is broken\n"
	}
	b.WriteByte('\n')
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "at\tfor\tfault\thits\twith")
	for _, s := range strikes {
		k, _ := faults.Find(faults.Kinds, s.Kind)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", when(begin+s.At), when(s.For), s.Kind, s.hits(),
			strings.Join(k.FormatParams(s.With), " "))
	}
	_ = w.Flush() // it writes to memory
	if hidden := e.Unmeasurable(); len(hidden) > 0 {
		b.WriteString("\n" + strings.Join(hidden, "\n") + "\n")
	}
	return b.String()
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// when formats a time in seconds with milliseconds, so that the times in a column are aligned.
func when(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

// hits describes the target of the strike.
func (s Strike) hits() string {
	label := "the host"
	switch {
	case s.RowUndecided:
		label = "one of " + s.Row + " that is there when the faults begin"
	case s.Row != "":
		label = s.Row
	case s.Server != "":
		if label = "server " + s.Server + " of " + s.Tenant; s.AnyServer {
			label += ", or another that runs"
		}
	case s.Tenant != "":
		label = "tenant " + s.Tenant
	}
	if s.Percent > 0 {
		label += fmt.Sprintf(", %g %%", s.Percent)
	}
	return label
}
