package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"mcpd/bench/record"
	"mcpd/internal/chart"
	"mcpd/internal/load"
)

// Names of the files of the last full run in docs.
const (
	SummaryFile = "benchmarks.md"
	FullFile    = "benchmarks.full.md"
	PlotFile    = "benchmarks.svg"
	RecordFile  = "benchmarks.json"
)

// none is shown if a headline has no value.
const none = "–"

// Summary writes a record as the one page that people read first: the headlines, their plot, and
// the shortfalls with their reasons. FullFile has everything else.
func Summary(w io.Writer, r record.Record) error {
	var b strings.Builder
	fmt.Fprintf(
		&b, "<!-- Written by go test ./bench/report -update, from %s. Do not edit. -->\n\n# %s\n\n",
		RecordFile, heading,
	)
	for _, line := range remarks(r) {
		b.WriteString("> " + line + "\n\n")
	}
	t := tallyOf(r)
	fmt.Fprintf(&b, "Measured by one run on %s: %s, %d cores, %s. %s.\n\n",
		r.Begun.UTC().Format("2 January 2006"), escape(name(r.Machine.CPU)), r.Machine.Cores,
		escape(name(r.Machine.Go)), t.says())
	fmt.Fprintf(&b, "[%s](%s) has every scenario with all of its figures, [%s](%s) is the record "+
		"itself.\n`make bench-full` measures all of it again.\n\n",
		FullFile, FullFile, RecordFile, RecordFile)
	headlineTable(&b, r)
	fmt.Fprintf(&b, "\n![Each headline beside its gate](%s)\n\n", PlotFile)
	b.WriteString(`Each figure is the geometric mean of its rounds with its 95 % interval. *Times that* compares the two,
which were measured in turn within each round: 1 is the same, 0.5 half. A *gate* is a limit. It *holds* or
*fails* when the whole interval lies on one side of it, and is *unclear* otherwise. A gate that is *owed*
does not hold yet, or lies too near its limit to tell, for the reason below; it fails a run when it has
become worse.

## What falls short

`)
	lacks := lacking(r)
	if len(lacks) == 0 {
		b.WriteString("Nothing: every gate holds and every goal is reached.\n")
	}
	for i, s := range lacks {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(s.Says + "\n")
		if len(s.Lines) > 0 {
			b.WriteString("\n- " + strings.Join(s.Lines, "\n- ") + "\n")
		}
	}
	_, err := io.WriteString(w, strings.ReplaceAll(b.String(), chart.Apart, " "))
	return err
}

func headlineTable(b *strings.Builder, r record.Record) {
	titles := map[string]string{}
	for _, s := range r.Scenarios {
		titles[s.Name] = s.Title
	}
	line := func(cells ...string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line("what it means", "mcpd", "beside it", "times that", "gate", "")
	line("---", "---", "---", "---", "---", "---")
	for _, h := range Headlines {
		source := "`" + h.Scenario + "`"
		if title, ok := titles[h.Scenario]; ok {
			source = fmt.Sprintf("[%s](%s#%s)", source, FullFile, anchor(title))
		}
		cells := h.cells(r)
		for i := range cells {
			cells[i] = escape(cells[i])
		}
		line(append([]string{escape(h.Says) + " " + source}, cells...)...)
	}
}

// cells returns a headline's figures, their ratio, its gate and its verdict.
func (h Headline) cells(r record.Record) []string {
	c, ok := h.in(r)
	if !ok {
		return []string{none, none, none, none, "not measured by this run"}
	}
	ours, beside := none, none
	if m, ok := h.measured(r, h.Of); ok {
		ours = figured(m)
	}
	if m, ok := h.measured(r, h.Beside); ok {
		beside = h.Beside.Shown + ": " + figured(m)
	}
	row := rowOf(c)
	is, gate, verdict := within(row.Ratio, quantityOf(c, c.Low),
		quantityOf(c, c.High)), row.Gate, verdictOf(c)
	switch {
	case c.Name == h.Of.Quantity: // a count, which is judged by itself
		is = none
	case c.Unit != "":
		is = "more by " + is
	}
	if gate == "" {
		gate, verdict = none, none
	}
	return []string{ours, beside, is, gate, verdict}
}

// verdictOf returns the verdict of a gate with its mark. An outstanding gate has the word "owed".
func verdictOf(c record.Comparison) string {
	s := states[c.Verdict]
	if c.Outstanding != "" {
		s = state{Word: "owed", Mark: "○"}
	}
	return strings.TrimSpace(s.Mark + " " + s.Word)
}

// lacking describes the shortfalls in sentences: gates that fail, outstanding gates with their
// reasons, and gates that cannot be judged, then goals and missing measurements.
func lacking(r record.Record) (list []shortfall) {
	var fails, outstanding, unclear []group
	for _, c := range r.Comparisons {
		switch {
		case c.Outstanding != "":
			outstanding = gather(outstanding, c, text(c.Outstanding))
		case c.Verdict == load.Fail:
			fails = gather(fails, c, "")
		case c.Verdict == load.Unclear:
			unclear = gather(unclear, c, "")
		}
	}
	add := func(text string, lines []string) {
		if len(lines) > 0 {
			list = append(list, shortfall{text, lines})
		}
	}
	add("Gates that fail:", lines(fails))
	add("Gates that are owed:", lines(outstanding))
	of := map[string]int{}
	var order []string
	for _, g := range unclear {
		if of[g.scenario] == 0 {
			order = append(order, g.scenario)
		}
		of[g.scenario] += len(g.cases)
	}
	if len(order) > 0 {
		for i, s := range order {
			order[i] = fmt.Sprintf("%d of `%s`", of[s], escape(name(s)))
		}
		text := "This run cannot judge some gates, because their intervals reach over the limit: " +
			strings.Join(order, ", ") + "."
		if !r.Short {
			text += " A full run fails on them, since a gate that is never judged guards nothing."
		}
		list = append(list, shortfall{Says: text})
	}
	t := tallyOf(r)
	if open := t.Goals - t.Reached; open > 0 {
		list = append(list, shortfall{Says: fmt.Sprintf("Goals are where we want to be: %d of %d are "+
			"not reached, or cannot be judged. [%s](%s#where-it-falls-short) lists them.",
			open, t.Goals, FullFile, FullFile)})
	}
	var missed []string
	for _, m := range r.Missing {
		missed = append(missed, "`"+escape(name(m.Scenario))+"`: "+escape(missing(m)))
	}
	add("What was not measured:", missed)
	return list
}

// group is a set of comparisons with one name, whose cases are shown in one line.
type group struct {
	scenario, name, gate, reason string
	cases                        []string
}

func gather(list []group, c record.Comparison, reason string) []group {
	row := rowOf(c)
	i := slices.IndexFunc(list, func(g group) bool {
		return g.scenario == c.Scenario && g.name == row.Name && g.gate == row.Gate && g.reason == reason
	})
	if i < 0 {
		i, list = len(list), append(list, group{
			scenario: c.Scenario, name: row.Name, gate: row.Gate, reason: reason,
		})
	}
	list[i].cases = append(list[i].cases,
		within(row.Ratio, quantityOf(c, c.Low), quantityOf(c, c.High))+" with *"+escape(row.Case)+"*")
	return list
}

// lines returns a line for each group, which includes the reason.
func lines(list []group) (out []string) {
	for _, g := range list {
		line := fmt.Sprintf("`%s`: *%s* must be %s. It is %s.", escape(name(g.scenario)), escape(g.name),
			g.gate, strings.Join(g.cases, ", "))
		if g.reason != "" {
			line += " The reason: " + escape(g.reason) + "."
		}
		out = append(out, line)
	}
	return out
}
