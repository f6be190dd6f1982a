package report

import (
	"fmt"
	"math"
	"strconv"

	"mcpd/chaos/record"
	"mcpd/internal/chart"
)

// column summarizes some seconds of a role's calls. The rates are means; the latencies are those of
// the worst second of the worst tenant.
type column struct{ ok, failed, p50, p99 float64 }

// columnsOf sums the seconds of all tenants of a role.
func columnsOf(r *record.Record, role string, end float64, each int) []column {
	list := make([]column, int(math.Ceil(end/float64(each))))
	for _, g := range r.Groups {
		if g.Role != role {
			continue
		}
		for _, s := range g.Seconds {
			i := s.At / each
			if s.At < 0 || i >= len(list) {
				continue
			}
			c := &list[i]
			c.ok += float64(s.OK) / float64(each)
			c.failed += float64(s.Failed) / float64(each)
			if chart.Finite(s.P50) && chart.Finite(s.P99) {
				c.p50, c.p99 = max(c.p50, s.P50), max(c.p99, s.P99, s.P50)
			}
		}
	}
	return list
}

// panelsOf draws both roles on the same scale of latencies.
func panelsOf(r *record.Record, a axis, each int) (panels []panel) {
	type of struct {
		role, class string
		columns     []column
	}
	roles := []of{{role: record.Target, class: "target"}, {role: record.Bystander, class: "other"}}
	var values []float64
	for i := range roles {
		roles[i].columns = columnsOf(r, roles[i].role, a.end, each)
		for _, c := range roles[i].columns {
			values = append(values, c.p50, c.p99)
		}
	}
	low, high := chart.Decades(values...)
	for _, role := range roles {
		t := tallyOf(r, role.role)
		if len(t.Tenants) == 0 {
			continue
		}
		p := panel{Role: role.role, Who: joinNames(t.Tenants), Class: role.class}
		if len(t.Tenants) > 1 {
			p.Role += "s"
			p.Description = "latencies of the worst of " + chart.Count(len(t.Tenants))
		}
		p.rates(role.columns, a, each)
		p.latencies(role.columns, a, each, low, high)
		panels = append(panels, p)
	}
	return panels
}

// rates draws the calls a second: successful calls, with failed calls stacked on top.
func (p *panel) rates(columns []column, a axis, each int) {
	top := 0.0
	for _, c := range columns {
		top = max(top, c.ok+c.failed)
	}
	if top == 0 {
		return
	}
	full := top * 1.08
	y := func(v float64) float64 { return tall - v/full*tall }
	var ok, bad []step
	for i, c := range columns {
		x, end := a.x(float64(i*each)), min(a.x(float64((i+1)*each)), width)
		if c.ok > 0 {
			ok = append(ok, step{x, end, tall, y(c.ok)})
		}
		if c.failed > 0 { // at least a line thick, so that one call in ten thousand is visible
			bad = append(bad, step{x, end, max(y(c.ok), 4), max(min(y(c.ok+c.failed), y(c.ok)-4), 0)})
		}
	}
	p.OK, p.Failed = area(ok), area(bad)
	p.Rates = []mark{
		{At: chart.Percent(y(top) * 10), Text: chart.ThreeDigits(top) + "/s"}, {At: 100, Text: "0/s"},
	}
}

// latencies draws p50 and p99 on a logarithmic scale.
func (p *panel) latencies(columns []column, a axis, each, low, high int) {
	y := func(ms float64) float64 {
		share := (math.Log10(ms) - float64(low)) / float64(high-low)
		return tall - min(max(share, 0), 1)*tall
	}
	var p50, p99 []step
	for i, c := range columns {
		if c.p50 > 0 {
			x, end := a.x(float64(i*each)), min(a.x(float64((i+1)*each)), width)
			p50 = append(p50, step{x, end, tall, y(c.p50)})
			p99 = append(p99, step{x, end, y(c.p50), y(c.p99)})
		}
	}
	p.Spread, p.P50, p.P99 = area(p99), line(p50), line(p99)
	var lines chart.Path
	for d := low; d <= high; d++ {
		at := y(math.Pow(10, float64(d)))
		p.Latencies = append(p.Latencies, mark{At: chart.Percent(at * 10), Text: decade(d)})
		if d > low && d < high {
			lines.To('M', 0, at)
			lines.To('H', width)
		}
	}
	p.Lines = lines.String()
}

// decade formats a power of ten in milliseconds.
func decade(d int) string {
	switch {
	case d < 0:
		return fmt.Sprintf("%s µs", strconv.Itoa(int(math.Pow(10, float64(d+3)))))
	case d < 3:
		return strconv.Itoa(int(math.Pow(10, float64(d)))) + " ms"
	}
	return strconv.Itoa(int(math.Pow(10, float64(d-3)))) + " s"
}

// spark is a small curve in a table cell. It shows the p99 of a role and its failed calls.
type spark struct{ Line, Failed, Shade string }

// sparkColumns bounds the columns of a spark.
const sparkColumns = 60

func sparkOf(r *record.Record, role string) (s spark) {
	a := axis{spanOf(r)}
	if a.end <= 0 {
		return s
	}
	each := max(1, int(math.Ceil(a.end/sparkColumns)))
	columns := columnsOf(r, role, a.end, each)
	var values []float64
	for _, c := range columns {
		values = append(values, c.p99)
	}
	p := panel{}
	low, high := chart.Decades(values...)
	p.latencies(columns, a, each, low, high)
	var bad, shade chart.Path
	for i, c := range columns {
		if c.failed > 0 {
			bad.Rect(a.x(float64(i*each)), tall-14, max(a.x(float64(each)), grain), 14)
		}
	}
	for _, phase := range r.Phases[:min(len(r.Phases), 2*maxLanes)] {
		if phase.Name == record.Fault {
			from := a.x(second(phase.From))
			shade.Rect(from, 0, max(a.x(second(phase.To))-from, 0), tall)
		}
	}
	return spark{Line: p.P99, Failed: bad.String(), Shade: shade.String()}
}
