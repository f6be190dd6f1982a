package report

import (
	"fmt"
	"slices"

	"mcpd/bench/record"
	"mcpd/internal/load"
)

// shortfall is one way in which a run falls short, with the places.
type shortfall struct {
	Says  string
	Lines []string
}

// Shortfalls that are not shown on a terminal: failures are reported separately, and the tables
// show the goals that are not reached.
const (
	failed      = "What the run fails on"
	notReached  = "Goals that are not reached"
	goalUnclear = "Goals that this run cannot judge, for the interval reaches over them"
)

// shortfalls returns, in this order: the failures of the run, gates that do not hold or cannot be
// judged, goals that are not reached, and measurements that are missing.
func shortfalls(r record.Record) []shortfall {
	fails := shortfall{Says: failed, Lines: r.Failures()}
	for i := range fails.Lines {
		fails.Lines[i] = text(fails.Lines[i])
	}
	outstanding := shortfall{Says: "Gates that do not hold yet, and why"}
	open := shortfall{Says: "Gates that this run cannot judge, for the interval reaches over them"}
	goals := shortfall{Says: notReached}
	near := shortfall{Says: goalUnclear}
	for _, c := range r.Comparisons {
		row := rowOf(c)
		line := func(limit string) string {
			return fmt.Sprintf("%s, %s, %s: %s (%s), %s", row.Scenario, row.Case, row.Name, row.Ratio,
				row.Interval, limit)
		}
		switch {
		case c.Outstanding != "":
			had := ""
			if c.EarlierRatio != 0 {
				had = " (it had " + ratio(c.EarlierRatio) + ")"
			}
			outstanding.Lines = append(outstanding.Lines,
				line("must be "+row.Gate)+had+": "+text(c.Outstanding))
		case c.Verdict == load.Unclear && r.Short: // a full run fails on it
			open.Lines = append(open.Lines, line("must be "+row.Gate))
		}
		switch {
		case c.Verdict == load.Fail: // a missed gate implies a missed goal
		case c.Reached == load.Fail:
			goals.Lines = append(goals.Lines, line("should be "+row.Goal))
		case c.Reached == load.Unclear:
			near.Lines = append(near.Lines, line("should be "+row.Goal))
		}
	}
	missed := shortfall{Says: "What was not measured"}
	for _, m := range r.Missing {
		if !m.Broken {
			missed.Lines = append(missed.Lines, name(m.Scenario)+": "+missing(m))
		}
	}
	return slices.DeleteFunc([]shortfall{fails, outstanding, open, goals, near, missed},
		func(s shortfall) bool {
			return len(s.Lines) == 0
		})
}
