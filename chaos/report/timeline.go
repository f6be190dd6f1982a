package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"mcpd/chaos/record"
	"mcpd/internal/chart"
)

// maxColumns bounds the columns of a curve. In a longer run each column shows the worst of several
// seconds.
const maxColumns = 240

// maxLanes bounds the lanes of a timeline. Each lane shows faults of one kind, or one probe.
const maxLanes = 6

// timeline is a run from left to right.
type timeline struct {
	Phases   []mark // where they begin, with their names
	Widths   []float64
	Faults   []lane
	Restarts lane
	Panels   []panel
	Probes   []lane
	Axis     []mark
	Each     int    // the seconds of one column
	Shades   string // the phase of the fault
	Bands    string // the faults, drawn behind the curves
}

// lane is a row of named spans.
type lane struct {
	Name  string
	Spans []span
	Ticks string // the beginning of each span, also of joined ones
	Note  string
}

// panel shows the calls of one role over time.
type panel struct {
	Role, Who   string
	Class       string
	OK, Failed  string // areas, calls a second
	Rates       []mark
	Spread      string // area from p50 to p99
	P50, P99    string
	Latencies   []mark
	Lines       string // at the marks of the latencies
	Description string
}

// axis maps seconds to a drawing.
type axis struct{ end float64 }

func (a axis) x(second float64) float64 { return second / a.end * width }

// timelineOf draws a run. It returns nil if there is no time to show.
func timelineOf(r *record.Record) *timeline {
	a := axis{spanOf(r)}
	if a.end <= 0 {
		return nil
	}
	t := &timeline{
		Each: max(1, int(math.Ceil(a.end/maxColumns))), Faults: faultLanes(r, a),
		Restarts: restartLane(r, a), Probes: probeLanes(r, a),
	}
	var shades, bands chart.Path
	for i, p := range r.Phases {
		from, to := a.x(second(p.From)), a.x(second(p.To))
		if to <= from || i >= 2*maxLanes {
			continue
		}
		t.Phases = append(t.Phases, mark{At: chart.Percent(from), Text: name(p.Name)})
		t.Widths = append(t.Widths, chart.Percent(to-from))
		if p.Name == record.Fault {
			shades.Rect(from, 0, to-from, tall)
		}
	}
	for _, s := range strikeSpans(r, a, "") {
		bands.Rect(s.From, 0, s.To-s.From, tall)
	}
	t.Shades, t.Bands = shades.String(), bands.String()
	step := chart.RoundStep(a.end, 12)
	for i := 0; float64(i)*step <= a.end*0.97; i++ {
		v := float64(i) * step
		t.Axis = append(t.Axis, mark{
			At: chart.Percent(a.x(v)), Text: strconv.FormatFloat(v, 'g', -1, 64) + apart + "s",
			Minor: i%2 == 1,
		})
	}
	t.Panels = panelsOf(r, a, t.Each)
	return t
}

// strikeSpans returns the faults of a kind as spans. An empty kind means all faults.
func strikeSpans(r *record.Record, a axis, kind string) []span {
	var spans []span
	for _, s := range r.Strikes {
		if s.Error != "" || kind != "" && s.Kind != kind {
			continue
		}
		from, to := second(s.From), second(s.To)
		spans = append(spans, span{From: a.x(from), To: a.x(max(from, to)), Count: 1,
			Text: fmt.Sprintf("%s at %s, %s to %s, %s", name(s.Kind), name(s.Target), seconds(from),
				seconds(to), countNoun(s.Hits, "hit", "hits"))})
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.From, b.From) })
	return named(join(spans), "faults, the first: ")
}

// strikeTicks draws the beginnings of the faults of a kind. An empty kind means all faults.
func strikeTicks(r *record.Record, a axis, kind string) string {
	var at []float64
	for _, s := range r.Strikes {
		if s.Error == "" && (kind == "" || s.Kind == kind) {
			at = append(at, min(snapped(a.x(second(s.From))), width-grain))
		}
	}
	slices.Sort(at)
	var ticks chart.Path
	for _, x := range slices.Compact(at) {
		ticks.Rect(x, 14, grain, 72)
	}
	return ticks.String()
}

// named adds the number of joined spans to the text of each span that stands for several.
func named(spans []span, label string) []span {
	for i, s := range spans {
		if s.Count > 1 {
			spans[i].Text = chart.Count(s.Count) + " " + label + s.Text
		}
	}
	return spans
}

func faultLanes(r *record.Record, a axis) (lanes []lane) {
	var kinds []string
	for _, s := range r.Strikes {
		if s.Error == "" && !slices.Contains(kinds, s.Kind) && len(kinds) <= maxLanes {
			kinds = append(kinds, s.Kind)
		}
	}
	if len(kinds) > maxLanes {
		return []lane{
			{Name: "faults", Note: "of many kinds", Spans: strikeSpans(r, a, ""),
				Ticks: strikeTicks(r, a, "")},
		}
	}
	for _, kind := range kinds {
		lanes = append(lanes, lane{
			Name: name(kind), Spans: strikeSpans(r, a, kind), Ticks: strikeTicks(r, a, kind),
		})
	}
	return lanes
}

// restartLane shows the restarts that events report. There may have been more.
func restartLane(r *record.Record, a axis) lane {
	var spans []span
	for _, e := range r.Events {
		if e.Name == record.Restarted && e.At >= 0 {
			at := second(e.At)
			spans = append(spans, span{
				From: a.x(at), To: a.x(at), Count: 1, Text: seconds(at) + ": " + name(e.Path),
			})
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.From, b.From) })
	l := lane{
		Name: "restarts", Note: chart.Count(r.Restarts()),
		Spans: named(join(spans), "restarts, the first: "),
	}
	return l
}

// probeLanes shows when a probe got a wrong answer or none.
func probeLanes(r *record.Record, a axis) (lanes []lane) {
	for _, p := range r.Probes[:min(len(r.Probes), maxLanes)] {
		var spans []span
		answers := slices.SortedStableFunc(slices.Values(p.Answers), func(a, b record.Answer) int {
			return cmp.Compare(second(a.At), second(b.At))
		})
		for i, is := range answers {
			if is.OK {
				continue
			}
			from, to := second(is.At), a.end
			if i+1 < len(answers) {
				to = second(answers[i+1].At)
			}
			if last := len(spans) - 1; last >= 0 && !answers[i-1].OK {
				spans[last].To = a.x(to)
				spans[last].Count++
				continue
			}
			spans = append(spans, span{
				From: a.x(from), To: a.x(to), Count: 1,
				Text: fmt.Sprintf("from %s: %s", seconds(from), text(is.Text)),
			})
		}
		lanes = append(lanes, lane{Name: name(p.Name), Spans: named(join(spans), "answers, the first ")})
	}
	return lanes
}
