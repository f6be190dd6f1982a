package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"

	"mcpd/bench/record"
)

//go:embed plot.svg
var plotText string

var plotTemplate = template.Must(template.New("plot").Parse(plotText))

// Positions in the plot, in its own units.
const (
	plotLeft  = 270.0 // right end of the labels
	plotWide  = 450.0 // width of the axis
	plotStep  = 26.0  // height of a row
	plotAbove = 34.0  // space above the first row
)

// plot is the data of the template.
type plot struct {
	Tall, Bottom, Limit float64
	Ticks               []mark
	Rows                []strip
}

type mark struct {
	X    float64
	Text string
}

// strip is the interval of a headline, as a multiple of its gate.
type strip struct {
	Label, Class, Is string
	Y, Low, Wide, At float64
	Goal             float64 // 0 is none
}

// Plot draws the headlines that have a limit, each as a multiple of its limit with its 95 %
// interval. For a lower limit the ratio is inverted, so that values to the left of the line always
// meet the limit.
func Plot(w io.Writer, r record.Record) error {
	var values []float64
	type one struct {
		Headline
		record.Comparison
		limit float64
	}
	var list []one
	for _, h := range Headlines {
		c, ok := h.in(r)
		o := one{h, c, cmp.Or(c.Gate, c.Goal)}
		if !ok || o.limit == 0 || c.Low <= 0 {
			continue
		}
		list = append(list, o)
		for _, v := range []float64{c.Low, c.High, cmp.Or(c.Goal, o.limit), o.limit} {
			values = append(values, share(v, o.limit, c.LowerBound))
		}
	}
	x := axisOf(values)
	place := func(v float64) float64 { return tenth(plotLeft + x.at(v)*plotWide) }
	p := plot{Limit: place(1), Bottom: plotAbove + plotStep*float64(len(list))}
	p.Tall = p.Bottom + 40
	for _, t := range across(x.ticks(ratio)) {
		p.Ticks = append(p.Ticks, mark{tenth(plotLeft + t.At/100*plotWide), t.Text})
	}
	for i, o := range list {
		c := o.Comparison
		at := func(v float64) float64 { return place(share(v, o.limit, c.LowerBound)) }
		low, high := at(c.Low), at(c.High)
		s := strip{
			Label: o.Label, Class: states[c.Verdict].Class, Y: plotAbove + plotStep*float64(i) + plotStep/2,
			At: at(c.Ratio), Is: verdictOf(c),
		}
		s.Low, s.Wide = min(low, high), max(tenth(math.Abs(high-low)), 2)
		if c.Outstanding != "" {
			s.Class = "odd"
		}
		if c.Goal != 0 {
			s.Goal = at(c.Goal)
		}
		p.Rows = append(p.Rows, s)
	}
	var b bytes.Buffer
	if err := plotTemplate.Execute(&b, p); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// tenth rounds a position to a tenth.
func tenth(v float64) float64 { return math.Round(v*10) / 10 }

// share returns the value as a multiple of its limit, or the inverse for a lower limit.
func share(v, limit float64, least bool) float64 {
	if least {
		return limit / v
	}
	return v / limit
}
