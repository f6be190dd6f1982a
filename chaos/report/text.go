package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"mcpd/chaos/record"
	"mcpd/internal/chart"
)

// Text writes records as tables for a terminal. If there are several experiments, it adds a
// comparison of them that shows the effects on bystanders.
func Text(w io.Writer, list []record.Record) error {
	var b bytes.Buffer
	summaries := make([]summary, len(list))
	for i := range list {
		summaries[i] = summarize(&list[i])
		writeExperiment(&b, &list[i], summaries[i])
	}
	if len(list) > 1 {
		writeRun(&b, list, summaries)
	}
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte(apart), []byte(plain)))
	return err
}

// cells writes the rows of one table.
type cells struct{ *tabwriter.Writer }

func table(w io.Writer, heads ...string) cells {
	c := cells{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	c.row(heads...)
	return c
}

func (c cells) row(values ...string) { fmt.Fprintf(c, "  %s\n", strings.Join(values, "\t")) }

func (c cells) end() {
	_ = c.Flush() // it writes to memory
}

func writeExperiment(b *bytes.Buffer, r *record.Record, s summary) {
	fmt.Fprintf(b, "%s %s%s · %s · %s\n", s.State.Mark, strings.ToUpper(s.State.Word),
		without(s.Untested), name(r.Experiment.Name), text(r.Experiment.Title))
	writeWrapped(b, s.Sentence)
	for _, strike := range r.Strikes {
		if trouble := troubleOf(strike); trouble != "" {
			writeWrapped(b, trouble)
		}
	}
	if len(r.Verdicts) > 0 {
		b.WriteByte('\n')
		t := table(b, "INVARIANT", "VERDICT", "FOUND")
		for _, v := range r.Verdicts {
			is := verdictState(v.Result)
			t.row(name(v.ID)+"  "+text(v.Text), is.Mark+" "+is.Word, text(v.Found))
		}
		t.end()
	}
	if len(r.Groups) > 0 {
		b.WriteByte('\n')
		t := table(b, "TENANT", "PHASE", "CALLS", "FAILED", "LOST", "CROSSED", "TWICE", "P50", "P99",
			"P99.9", "MAX")
		for _, line := range callLines(r) {
			c := line.Calls
			t.row(line.Tenant, line.Phase, chart.Count(c.Sent), chart.Count(c.Failed), chart.Count(c.Lost),
				chart.Count(c.Crossed), chart.Count(c.Duplicate), millis(c.P50), millis(c.P99), millis(c.P999),
				millis(c.Max))
		}
		t.end()
		for _, said := range []string{effects(r.Effects), order(r.Groups)} {
			if said != "" {
				writeWrapped(b, said)
			}
		}
	}
	if len(r.Figures) > 0 {
		b.WriteByte('\n')
		t := table(b, "FIGURE", "MEDIAN", "LARGEST", "SAMPLES", "GOAL")
		for _, f := range r.Figures {
			line := figureOf(f)
			t.row(line.Name, line.Median, line.Largest, line.Samples,
				strings.TrimSpace(line.Goal+" "+line.Because))
		}
		t.end()
	}
	b.WriteByte('\n')
}

// without names the figures that could not be judged, to be shown beside a verdict.
func without(untested []string) string {
	if len(untested) == 0 {
		return ""
	}
	return " without " + joinNames(untested)
}

// callLine is the calls of one tenant in one phase.
type callLine struct {
	Tenant, Role, Phase string
	First               bool // the first line of its tenant
	Calls               record.Calls
}

// maxTenants bounds the tenants that are shown individually. The others are summed.
const maxTenants = 8

func callLines(r *record.Record) (lines []callLine) {
	phases := []string{record.Baseline, record.Fault, record.Heal}
	var others [3]record.Calls
	for i, g := range r.Groups {
		for j, p := range phases {
			c, ok := g.Phases[p]
			if i >= maxTenants {
				add(&others[j], c)
				continue
			}
			if ok {
				lines = append(lines, callLine{Tenant: name(g.Tenant), Role: name(g.Role), Phase: p, Calls: c})
			}
		}
	}
	if rest := len(r.Groups) - maxTenants; rest > 0 {
		for j, p := range phases {
			lines = append(lines, callLine{
				Tenant: countNoun(rest, "other", "others"), Role: "quantiles of the worst", Phase: p,
				Calls: others[j],
			})
		}
	}
	for i := range lines {
		lines[i].First = i == 0 || lines[i-1].Tenant != lines[i].Tenant
	}
	return lines
}

// writeRun compares experiments. Calls and failures are those of the whole run; latencies are those
// during the fault.
func writeRun(b *bytes.Buffer, list []record.Record, summaries []summary) {
	t := table(b, "EXPERIMENT", "VERDICT", "HITS", "RESTARTS", "TARGET FAILED", "BYSTANDER CALLS",
		"FAILED", "P50", "P99", "P99.9", "P99 BEFORE")
	for i, s := range summaries {
		o := s.Others
		t.row(name(list[i].Experiment.Name),
			strings.TrimSpace(s.State.Mark+" "+s.State.Word+" "+strings.Join(s.Broken, " ")+
				without(s.Untested)), chart.Count(s.Hits), chart.Count(s.Restarts),
			chart.Count(s.Target.Failed),
			chart.Count(o.Calls), chart.Count(o.Failed), millis(o.During.P50), millis(o.During.P99),
			millis(o.During.P999), millis(o.Before.P99))
	}
	t.end()
	fmt.Fprintf(b, "\n%s\n", overall(summaries))
}

// wide is the width of lines of prose, in characters.
const wide = 116

func writeWrapped(b *bytes.Buffer, s string) {
	at := 0
	for _, word := range strings.Fields(s) {
		length := len([]rune(word))
		switch {
		case at == 0:
			b.WriteString("  ")
		case at+1+length > wide:
			b.WriteString("\n  ")
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += length
	}
	b.WriteByte('\n')
}
