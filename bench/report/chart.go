package report

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/internal/chart"
)

// curveChart has one curve for each subject over two axes.
type curveChart struct {
	Kind, Title, Note string
	Lines             []curve
	X, Y              []tick
	Grid              string // the grid lines
}

// curve is the curve of one subject.
type curve struct {
	Subject, Class string
	Path           string
	Dots           []dot
}

type dot struct{ X, Y float64 } // in percent of the width and the height

// tick is a label at a position of an axis, in percent.
type tick struct {
	At   float64
	Text string
}

// maxCharts bounds the charts of one kind in a scenario.
const maxCharts = 24

// chartsOf draws the charts of a scenario's measurements: the distributions of latencies, the
// growth of latencies and rates with a number in the name of the case, and latency over throughput.
func chartsOf(list []record.Measurement) (charts []curveChart) {
	for _, draws := range []func([]record.Measurement) []curveChart{distributions, growths,
		tradeoffs} {
		some := draws(list)
		charts = append(charts, some[:min(len(some), maxCharts)]...)
	}
	return charts
}

// classes returns the colour class of each subject. The class of mcpd is fixed; the other subjects
// get classes in the order in which they come.
func classes(list []record.Measurement) map[string]string {
	of, n := map[string]string{}, 0
	for _, m := range list {
		switch _, ok := of[m.Subject]; {
		case ok:
		case m.Subject == record.Mcpd:
			of[m.Subject] = "own"
		default:
			n++
			of[m.Subject] = "c" + strconv.Itoa(min(n, 4))
		}
	}
	return of
}

func histogramOf(m record.Measurement) *hdrhistogram.Histogram {
	h, err := kit.Decode(m.Histogram)
	if err != nil || h.TotalCount() == 0 {
		return nil
	}
	return h
}

// number matches a number of things in the name of a case.
var number = regexp.MustCompile(`(^|[ ,])(\d[\d,]*(?:\.\d+)?) (MiB|KiB|B|[a-z]+)`)

// sizes are the factors of the units after numbers.
var sizes = map[string]float64{"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20}

// growing finds the numbers in the name of a case. It returns each with the rest of the name and
// the word for the things that are counted.
func growing(name string) (list []growth) {
	for _, m := range number.FindAllStringSubmatchIndex(name, -1) {
		v, err := strconv.ParseFloat(strings.ReplaceAll(name[m[4]:m[5]], ",", ""), 64)
		if err != nil {
			continue
		}
		word := name[m[6]:m[7]]
		if by, ok := sizes[word]; ok {
			v, word = v*by, "B"
		}
		word = strings.TrimSuffix(word, "s")
		rest := strings.Trim(strings.TrimSpace(name[:m[4]]+name[m[7]:]), ", ")
		list = append(list, growth{v, rest + "\x00" + word, rest, word})
	}
	return list
}

type growth struct {
	at              float64
	key, rest, word string
}

// growths draws quantities over a number in the name of their case.
func growths(list []record.Measurement) (charts []curveChart) {
	type point struct{ x, y float64 }
	type family struct {
		growth
		quantity, unit string
		subjects       []string
		points         map[string][]point
	}
	colours := classes(list)
	var families []*family
	index := map[string]*family{}
	for _, m := range list {
		y := middle(m.Rounds)
		if !chart.Finite(y) {
			continue
		}
		for _, g := range growing(m.Case) {
			key := g.key + "\x00" + m.Quantity + "\x00" + m.Unit
			f := index[key]
			if f == nil {
				f = &family{growth: g, quantity: m.Quantity, unit: m.Unit, points: map[string][]point{}}
				index[key], families = f, append(families, f)
			}
			if !slices.Contains(f.subjects, m.Subject) {
				f.subjects = append(f.subjects, m.Subject)
			}
			f.points[m.Subject] = append(f.points[m.Subject], point{g.at, y})
		}
	}
	for _, f := range families {
		var xs, ys []float64
		distinct := map[float64]bool{}
		for _, list := range f.points {
			for _, p := range list {
				distinct[p.x] = true
				xs, ys = append(xs, max(p.x, 0.5)), append(ys, p.y) // 0 things are drawn left of one
			}
		}
		if len(distinct) < 2 || !slices.ContainsFunc(ys, func(y float64) bool { return y > 0 }) {
			continue
		}
		c := curveChart{Kind: "growth", Title: name(f.quantity), Note: name(f.rest)}
		x, y := axisOf(xs), axisOf(ys)
		for _, subject := range f.subjects {
			line := curve{Subject: name(subject), Class: colours[subject]}
			points := f.points[subject]
			slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
			var p chart.Path
			for i, at := range points {
				command := byte('L')
				if i == 0 {
					command = 'M'
				}
				px, py := x.at(max(at.x, 0.5)), 1-y.at(at.y)
				p.To(command, px*chart.Width, py*chart.Tall)
				line.Dots = append(line.Dots, dot{
					chart.Percent(px * chart.Width), chart.Percent(py * chart.Width),
				})
			}
			line.Path = p.String()
			c.Lines = append(c.Lines, line)
		}
		for _, v := range sortedKeys(distinct) {
			c.X = append(c.X, tick{chart.Percent(x.at(max(v, 0.5)) * chart.Width), amount(v, f.word)})
		}
		c.X, c.Y = across(c.X), upwards(y.ticks(func(v float64) string { return quantity(v, f.unit) }))
		c.Grid = grid(c.X, c.Y)
		charts = append(charts, c)
	}
	return charts
}

// amount formats a number of things on an axis.
func amount(v float64, word string) string {
	switch {
	case word != "B":
		if v == 1 {
			return "1 " + word
		}
		return chart.Count(int64(v))
	case v >= 1<<20:
		return chart.ThreeDigits(v/(1<<20)) + " MiB"
	case v >= 1<<10:
		return chart.ThreeDigits(v/(1<<10)) + " KiB"
	}
	return chart.ThreeDigits(v) + " B"
}

func sortedKeys(set map[float64]bool) (list []float64) {
	for v := range set {
		list = append(list, v)
	}
	slices.Sort(list)
	return list
}

func middle(rounds []float64) float64 {
	sorted := slices.Sorted(slices.Values(rounds))
	if len(sorted) == 0 {
		return math.NaN()
	}
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// tradeoffs draws latencies over throughput, with a dot for each case of a subject that has both.
func tradeoffs(list []record.Measurement) (charts []curveChart) {
	type point struct{ x, y float64 }
	colours := classes(list)
	for _, quantile := range []string{"p50", "p99"} {
		var subjects []string
		of, xs, ys := map[string][]point{}, []float64{}, []float64{}
		unit := ""
		for _, rate := range list {
			if rate.Unit != "calls/s" {
				continue
			}
			for _, m := range list {
				if m.Case != rate.Case || m.Subject != rate.Subject || m.Quantity != quantile ||
					times[m.Unit] == 0 {
					continue
				}
				p := point{middle(rate.Rounds), middle(m.Rounds)}
				if !chart.Finite(p.x) || !chart.Finite(p.y) {
					continue
				}
				if !slices.Contains(subjects, m.Subject) {
					subjects = append(subjects, m.Subject)
				}
				of[m.Subject], unit = append(of[m.Subject], p), m.Unit
				xs, ys = append(xs, p.x), append(ys, p.y)
			}
		}
		if len(xs) == 0 {
			continue
		}
		c := curveChart{
			Kind: "throughput", Title: quantile + " over throughput",
			Note: "a dot for each case, from few calls to many",
		}
		x, y := axisOf(xs), axisOf(ys)
		for _, subject := range subjects {
			line := curve{Subject: name(subject), Class: colours[subject]}
			var p chart.Path
			for i, at := range of[subject] {
				command := byte('L')
				if i == 0 {
					command = 'M'
				}
				px, py := x.at(at.x), 1-y.at(at.y)
				p.To(command, px*chart.Width, py*chart.Tall)
				line.Dots = append(line.Dots, dot{
					chart.Percent(px * chart.Width), chart.Percent(py * chart.Width),
				})
			}
			line.Path = p.String()
			c.Lines = append(c.Lines, line)
		}
		c.X, c.Y = across(x.ticks(func(v float64) string {
			return quantity(v, "/s")
		})), upwards(y.ticks(func(v float64) string { return quantity(v, unit) }))
		c.Grid = grid(c.X, c.Y)
		charts = append(charts, c)
	}
	return charts
}
