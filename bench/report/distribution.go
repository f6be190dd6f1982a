package report

import (
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"mcpd/bench/record"
	"mcpd/internal/chart"
)

// nines are the ticks of a distribution's upper end: each step leaves a tenth of the rest.
var nines = []tick{{0, "0"}, {0, "90 %"}, {0, "99 %"}, {0, "99.9 %"}, {0, "99.99 %"}}

// distributions draws the latencies of the subjects of each case.
func distributions(list []record.Measurement) (charts []curveChart) {
	colours, at := classes(list), map[string]int{}
	groups := [][]record.Measurement{}
	for _, m := range list {
		if m.Histogram == "" {
			continue
		}
		i, ok := at[m.Case]
		if !ok {
			i, at[m.Case] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], m)
	}
	for _, group := range groups {
		var values []float64
		var shown []record.Measurement
		var hists []*hdrhistogram.Histogram
		for _, m := range group {
			if h := histogramOf(m); h != nil && !slices.ContainsFunc(shown, func(o record.Measurement) bool {
				return o.Subject == m.Subject
			}) {
				shown, hists = append(shown, m), append(hists, h)
				values = append(values, float64(max(h.Min(), 1)), float64(h.ValueAtQuantile(99.99)))
			}
		}
		if len(shown) == 0 {
			continue
		}
		c := curveChart{Kind: "latencies", Title: name(group[0].Case)}
		x := axisOf(values)
		for i, m := range shown {
			c.Lines = append(c.Lines, curve{
				Subject: name(m.Subject), Class: colours[m.Subject], Path: distribution(hists[i], x),
			})
		}
		c.X = across(x.ticks(func(v float64) string { return quantity(v, "ns") }))
		for i, n := range nines {
			c.Y = append(c.Y, tick{100 - float64(i)*100/float64(len(nines)-1), n.Text})
		}
		c.Grid = grid(c.X, c.Y)
		charts = append(charts, c)
	}
	return charts
}

// points is the number of points of a distribution's line.
const points = 120

func distribution(h *hdrhistogram.Histogram, x axis) string {
	var p chart.Path
	most := float64(len(nines) - 1)
	for i := range points + 1 {
		left := math.Pow(10, -most*float64(i)/points) // the share that is slower
		if left*float64(h.TotalCount()) < 1 {         // less than one sample
			break
		}
		command := byte('L')
		if i == 0 {
			command = 'M'
		}
		p.To(command, x.at(float64(h.ValueAtQuantile(100*(1-left))))*chart.Width,
			chart.Tall-float64(i)/points*chart.Tall)
	}
	return p.String()
}
