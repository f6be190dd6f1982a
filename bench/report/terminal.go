package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"mcpd/bench/record"
	"mcpd/internal/chart"
)

// screen is the largest number of lines of one kind on a terminal. A run of few scenarios has
// fewer; a run of all has hundreds.
const screen = 40

// Terminal writes a record for a user who has waited for the run. It shows the comparisons and, if
// they are few, every figure; then the gates that are outstanding or cannot be judged, and missing
// measurements. For a run of everything it shows the headlines. The caller reports the failures.
func Terminal(w io.Writer, r record.Record) error {
	var b strings.Builder
	for _, line := range remarks(r) {
		b.WriteString(line + "\n\n")
	}
	if len(r.Comparisons) <= screen {
		var rows [][]string
		for _, c := range r.Comparisons {
			row := rowOf(c)
			rows = append(rows, []string{
				row.Scenario, row.Case, row.Name, row.Ratio, row.Interval, row.Gate, verdictOf(c), row.Goal,
				row.Reached.Word,
			})
		}
		columns(&b, []string{"scenario", "case", "compared", "is", "95 % interval", "gate", "",
			"goal", ""}, rows)
	} else {
		var rows [][]string
		for _, h := range Headlines {
			if _, ok := h.in(r); ok {
				rows = append(rows, append([]string{h.Scenario, h.Says}, h.cells(r)...))
			}
		}
		columns(&b, []string{"scenario", "what it means", "mcpd", "beside it", "times that", "gate", ""},
			rows)
	}
	if len(r.Measurements) <= screen {
		var rows [][]string
		for _, m := range r.Measurements {
			f := figureOf(m)
			rows = append(rows, []string{
				name(m.Scenario), f.Case, f.Subject, f.Quantity, f.Median, f.Spread,
			})
		}
		columns(&b, []string{"scenario", "case", "of", "quantity", "median", "lowest to highest round"},
			rows)
	}
	t := tallyOf(r)
	fmt.Fprintf(&b, "%s; %d of %d goals are reached.\n", t.says(), t.Reached, t.Goals)
	for _, s := range shortfalls(r) {
		if slices.Contains([]string{failed, notReached, goalUnclear}, s.Says) {
			continue
		}
		b.WriteString("\n" + s.Says + ":\n")
		for i, line := range s.Lines {
			if i == screen {
				fmt.Fprintf(&b, "  and %d more\n", len(s.Lines)-screen)
				break
			}
			b.WriteString("  " + line + "\n")
		}
	}
	_, err := io.WriteString(w, strings.ReplaceAll(b.String(), chart.Apart, " "))
	return err
}

// columns writes a table for a screen, followed by a blank line.
func columns(b *strings.Builder, head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // it writes to memory
	b.WriteString("\n")
}
