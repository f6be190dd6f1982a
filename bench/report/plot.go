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

// Places in the plot, in its own units.
const (
	plotLeft  = 270.0 // right of the labels
	plotWide  = 450.0 // of the axis
	plotStep  = 26.0  // of one row
	plotAbove = 34.0  // over the first row
)

// plot is what the template draws.
type plot struct {
	Tall, Bottom, Limit float64
	Ticks               []mark
	Rows                []strip
}

type mark struct {
	X    float64
	Text string
}

// strip is a headline's interval, as how many times its gate it is.
type strip struct {
	Label, Class, Is string
	Y, Low, Wide, At float64
	Goal             float64 // 0 is none
}

// Plot draws the headlines that have a limit: how many times its limit each is, with its 95 %
// interval. A limit from below is turned round, so that what lies left of the line holds
// everywhere.
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
			values = append(values, share(v, o.limit, c.Least))
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
		at := func(v float64) float64 { return place(share(v, o.limit, c.Least)) }
		low, high := at(c.Low), at(c.High)
		s := strip{Label: o.Label, Class: states[c.Verdict].Class, Y: plotAbove + plotStep*float64(i) + plotStep/2, At: at(c.Ratio), Is: verdictOf(c)}
		s.Low, s.Wide = min(low, high), max(tenth(math.Abs(high-low)), 2)
		if c.Owed != "" {
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

// tenth is a place, rounded to a tenth.
func tenth(v float64) float64 { return math.Round(v*10) / 10 }

// share is how many times its limit a value is; of a lower limit, how many times the value that is.
func share(v, limit float64, least bool) float64 {
	if least {
		return limit / v
	}
	return v / limit
}
