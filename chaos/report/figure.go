package report

import (
	"mcpd/chaos/record"
	"mcpd/internal/chart"
)

// figureLine is a figure in the form in which it is shown.
type figureLine struct {
	Name, Median, Largest, Samples, Goal, Because string
	Strip                                         strip
}

// strip shows the samples of a figure as ticks on a line that begins at 0, and marks the goal.
type strip struct {
	Ticks string
	Goal  float64 // in percent of the width; 0 is none
}

func figureOf(f record.Figure) figureLine {
	list := sorted(f.Samples)
	l := figureLine{
		Name: name(f.Name), Median: nothing, Largest: nothing, Samples: chart.Count(len(list)),
		Because: text(f.Reason),
	}
	end := 0.0
	if len(list) > 0 {
		end = list[len(list)-1]
		l.Median, l.Largest = quantity(median(list), f.Unit), quantity(end, f.Unit)
	}
	if chart.Finite(f.Goal) && f.Goal > 0 {
		l.Goal = "at most " + quantity(f.Goal, f.Unit)
		end = max(end, f.Goal)
	}
	if end <= 0 {
		return l
	}
	at := func(v float64) float64 { return max(v, 0) / end * 0.94 * width }
	if l.Goal != "" {
		l.Strip.Goal = chart.Percent(at(f.Goal))
	}
	var ticks chart.Path
	last := -1.0
	for _, v := range list {
		if x := snapped(at(v)); x != last {
			ticks.Rect(x, 0, 3, tall)
			last = x
		}
	}
	l.Strip.Ticks = ticks.String()
	return l
}
