package report

import (
	"math"

	"mcpd/chaos/record"
	"mcpd/internal/chart"
)

// histograms shows the latencies of a role before, during and after the fault, on one scale.
type histograms struct {
	Who, Class string
	Rows       []histogram
	Axis       []mark
}

// histogram shows the latencies of one phase. Both axes are logarithmic, so that one call in ten
// thousand is visible.
type histogram struct {
	Phase, Bars, Quantiles string
	P50, P99               float64 // positions in percent; 0 is none
	Calls                  uint64
}

// perDecade is the number of bars between two powers of ten. It equals the number of buckets that
// runs write, so that no bar between two others stays empty.
const perDecade = 10

// histogramsOf draws the histograms of both roles.
func histogramsOf(r *record.Record) (list []histograms) {
	var values []float64
	for _, g := range r.Groups {
		for _, c := range g.Phases {
			for _, b := range c.Histogram {
				if b.Calls > 0 {
					values = append(values, b.To)
				}
			}
		}
	}
	if len(values) == 0 {
		return nil
	}
	low, high := chart.Decades(values...)
	for _, role := range []struct{ role, class string }{{record.Target, "target"},
		{record.Bystander, "other"}} {
		t := tallyOf(r, role.role)
		if len(t.Tenants) == 0 {
			continue
		}
		h := histograms{Who: joinNames(t.Tenants), Class: role.class}
		for d := low; d <= high; d++ {
			h.Axis = append(h.Axis, mark{
				At: chart.Percent(float64(d-low) / float64(high-low) * width), Text: decade(d),
				Minor: high-low > 4 && (d-low)%2 == 1,
			})
		}
		for _, p := range []struct {
			name, text string
			of         record.Calls
		}{{record.Baseline, "before", t.Before}, {record.Fault, "during", t.During},
			{record.Heal, "after", t.Healing}} {
			h.Rows = append(h.Rows, histogramOf(r, role.role, p.name, p.text, p.of, low, high))
		}
		list = append(list, h)
	}
	return list
}

func histogramOf(r *record.Record, role, phase, text string, of record.Calls,
	low, high int) histogram {
	bins := make([]uint64, (high-low)*perDecade)
	place := func(ms float64) float64 { // 0 to 1
		if !(ms > 0) {
			return 0
		}
		return min(max((math.Log10(ms)-float64(low))/float64(high-low), 0), 1)
	}
	h := histogram{
		Phase: text, Calls: of.OK,
		Quantiles: "p50 " + millis(of.P50) + " · p99 " + millis(of.P99) + " · p99.9 " + millis(of.P999),
	}
	most := uint64(0)
	for _, g := range r.Groups {
		if g.Role != role {
			continue
		}
		for _, b := range g.Phases[phase].Histogram {
			const edge = 1e-3 // in bars: the written ends of buckets are rounded
			bin := &bins[max(int(math.Ceil(place(b.To)*float64(len(bins))-edge))-1, 0)]
			*bin += b.Calls
			most = max(most, *bin)
		}
	}
	if most == 0 {
		return h
	}
	var bars chart.Path
	each := width / float64(len(bins))
	for i, n := range bins {
		if n > 0 {
			y := math.Log(1+float64(n)) / math.Log(1+float64(most)) * tall
			bars.Rect(float64(i)*each, tall-y, each*0.86, y)
		}
	}
	h.Bars, h.P50, h.P99 = bars.String(), chart.Percent(place(of.P50)*width),
		chart.Percent(place(of.P99)*width)
	return h
}
