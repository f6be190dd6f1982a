package report

import (
	"fmt"
	"io"
	"strings"

	"mcpd/bench/record"
	"mcpd/internal/draw"
)

// Markdown writes a record as tables: the machine, gates and goals, where it falls short, and every scenario.
func Markdown(w io.Writer, r record.Record) error {
	var b strings.Builder
	b.WriteString("# What mcpd costs, and how soon it is back\n\n")
	if r.Short {
		b.WriteString("> From a short run: what counts are its ratios. It says little about absolute times, and nothing about this machine at rest.\n\n")
	}
	t := tallyOf(r)
	fmt.Fprintf(&b, "%s, %d fail, %d are unclear; %d of %d goals are reached. A gate fails only when the whole 95 %% interval lies beyond it.\n\n", things(t.Hold, "gate holds", "gates hold"), t.Fail, t.Unclear, t.Reached, t.Goals)
	table(&b, []string{"", ""}, len(factsOf(r)), func(i int) []string { f := factsOf(r)[i]; return []string{f.Name, f.Is} })
	short := shortcomings(r)
	b.WriteString("\n## Where it falls short\n\n")
	if len(short) == 0 {
		b.WriteString("Nowhere: every gate holds and every goal is reached.\n")
	}
	for _, line := range short {
		b.WriteString("- " + escape(line) + "\n")
	}
	for _, c := range chaptersOf(r) {
		fmt.Fprintf(&b, "\n## %s\n\n`%s`: %s\n\n", escape(c.Title), c.Name, escape(c.What))
		for _, m := range c.Missing {
			b.WriteString("- " + escape(m) + "\n")
		}
		if len(c.Missing) > 0 {
			b.WriteString("\n")
		}
		table(&b, []string{"case", "compared", "is", "95 % interval", "gate", "", "goal", ""}, len(c.Rows), func(i int) []string {
			r := c.Rows[i]
			return []string{r.Case, r.Name, r.Ratio, r.Interval, r.Gate, strings.TrimSpace(r.Verdict.Mark + " " + r.Verdict.Word), r.Goal, strings.TrimSpace(r.Reached.Mark + " " + r.Reached.Word)}
		})
		if len(c.Rows) > 0 {
			b.WriteString("\n")
		}
		table(&b, []string{"case", "of", "quantity", "median", "rounds", "n", "p50, p99, p99.9, max of all"}, len(c.Figures), func(i int) []string {
			f := c.Figures[i]
			return []string{f.Case, f.Subject, f.Quantity, f.Median, f.Spread, fmt.Sprint(f.Rounds), f.Tail}
		})
	}
	_, err := io.WriteString(w, strings.ReplaceAll(b.String(), draw.Apart, " "))
	return err
}

func things(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// shortcomings are what broke, gates that do not hold, goals that are not reached, and what was not measured, in this order.
func shortcomings(r record.Record) (list []string) {
	list = r.Failures()
	for i := range list {
		list[i] = text(list[i])
	}
	for _, c := range r.Comparisons {
		row := rowOf(c)
		if c.Owed != "" {
			list = append(list, fmt.Sprintf("%s, %s, %s: %s (%s), beyond its gate of %s: %s", row.Scenario, row.Case, row.Name, row.Ratio, row.Interval, row.Gate, text(c.Owed)))
		}
		if row.Verdict.Class == "odd" {
			list = append(list, fmt.Sprintf("%s, %s, %s: %s (%s), which cannot be told from its gate of %s", row.Scenario, row.Case, row.Name, row.Ratio, row.Interval, row.Gate))
		}
		if row.Verdict.Class != "bad" && row.Reached.Word != "" && row.Reached.Class != "good" {
			list = append(list, fmt.Sprintf("%s, %s, %s: %s (%s), of a goal of %s", row.Scenario, row.Case, row.Name, row.Ratio, row.Interval, row.Goal))
		}
	}
	for _, m := range r.Missing {
		if !m.Broken {
			list = append(list, name(m.Scenario)+": "+missing(m))
		}
	}
	return list
}

func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(s)
}

func table(b *strings.Builder, head []string, rows int, row func(int) []string) {
	if rows == 0 {
		return
	}
	line := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + escape(c) + " ")
		}
		b.WriteString("|\n")
	}
	line(head)
	line(strings.Split(strings.Repeat("---,", len(head)-1)+"---", ","))
	for i := range rows {
		line(row(i))
	}
}
