package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"mcpd/bench/record"
	"mcpd/internal/chart"
)

// heading is the heading of the pages.
const heading = "What mcpd costs, and how soon it is back"

// reading explains the tables to a new reader.
const reading = `## How to read this

Everything was measured in rounds, and whatever is compared was measured in turn within each round, so that what else the machine did favours neither side.

In a table of comparisons, *is* says how many times the other's value ours is: 1 is the same, 2 twice as much, 0.5 half. It is the geometric mean over
the rounds. Where it has a unit it is by how much ours is more, or a count of ours alone, the median over the rounds. The 95 % interval says how far either can be trusted. A
*gate* is a limit that must hold: a run fails when the whole interval lies beyond it. A *goal* is where we want to be.

In a table of figures each value is the median of the rounds, and behind it are the lowest and the highest round. *p50*, *p99* and *p99.9* are
the times within which 50, 99 and 99.9 % of all were done; the last column has them for the samples of all rounds together.
`

// Markdown writes a record as tables: the machine, gates and goals, shortfalls, and every scenario.
func Markdown(w io.Writer, r record.Record) error {
	var b strings.Builder
	b.WriteString("# " + heading + "\n\n")
	for _, line := range remarks(r) {
		b.WriteString("> " + line + "\n\n")
	}
	t := tallyOf(r)
	fmt.Fprintf(&b, "%s; %d of %d goals are reached.\n\n", t.says(), t.Reached, t.Goals)
	facts := factsOf(r)
	table(&b, []string{"", ""}, len(facts), func(i int) []string {
		return []string{facts[i].Name, facts[i].Is}
	})
	b.WriteString("\n## Where it falls short\n\n")
	short := shortfalls(r)
	if len(short) == 0 {
		b.WriteString("Nowhere: every gate holds and every goal is reached.\n\n")
	}
	for _, s := range short {
		b.WriteString(s.Says + ":\n\n")
		list(&b, s.Lines)
	}
	b.WriteString(reading)
	chapters := chaptersOf(r)
	if len(chapters) > 1 {
		b.WriteString("\n## What was measured\n\n")
		for _, c := range chapters {
			line := fmt.Sprintf("- [%s](#%s)", escape(c.Title), anchor(c.Title))
			if c.Took != "" {
				line += ", in " + c.Took
			}
			b.WriteString(line + "\n")
		}
	}
	for _, c := range chapters {
		chapterIn(&b, c)
	}
	_, err := io.WriteString(w, strings.ReplaceAll(b.String(), chart.Apart, " "))
	return err
}

// chapterIn writes one scenario. If there are comparisons, the figures are folded.
func chapterIn(b *strings.Builder, c chapter) {
	fmt.Fprintf(b, "\n## %s\n\n`%s`: %s\n\n", escape(c.Title), c.Name, escape(c.What))
	list(b, c.Missing)
	table(b, []string{"case", "compared", "is", "95 % interval", "gate", "", "goal", ""}, len(c.Rows),
		func(i int) []string {
			r := c.Rows[i]
			return []string{
				r.Case, r.Name, r.Ratio, r.Interval, r.Gate,
				strings.TrimSpace(r.Verdict.Mark + " " + r.Verdict.Word), r.Goal,
				strings.TrimSpace(r.Reached.Mark + " " + r.Reached.Word),
			}
		})
	folded := len(c.Rows) > 0 && len(c.Figures) > 0
	if folded {
		fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n",
			things(len(c.Figures), "figure", "figures"))
	}
	table(b, []string{"case", "of", "quantity", "median", "lowest to highest round", "rounds",
		"p50, p99, p99.9 and maximum of all samples"}, len(c.Figures), func(i int) []string {
		f := c.Figures[i]
		return []string{f.Case, f.Subject, f.Quantity, f.Median, f.Spread, fmt.Sprint(f.Rounds), f.Tail}
	})
	if folded {
		b.WriteString("\n</details>\n")
	}
}

// list writes a list of lines, followed by a blank line.
func list(b *strings.Builder, lines []string) {
	for _, line := range lines {
		b.WriteString("- " + escape(line) + "\n")
	}
	if len(lines) > 0 {
		b.WriteString("\n")
	}
}

// anchor returns the link target of a heading, by the rule of Markdown viewers.
func anchor(title string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case unicode.IsLetter(c), unicode.IsDigit(c), c == '-', c == '_':
			return unicode.ToLower(c)
		}
		return -1
	}, title)
}

func things(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
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
