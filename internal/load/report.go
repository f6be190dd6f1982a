package load

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Report is the output of a benchmark or a chaos run: its runs, and the results derived from them.
type Report struct {
	Title       string       `json:"title"`
	Runs        []Summary    `json:"runs"`
	Figures     []Figure     `json:"figures"`
	Comparisons []Comparison `json:"comparisons"`
}

// Summary has the figures of one run. Latencies are in milliseconds.
type Summary struct {
	Name    string  `json:"name"`
	Loop    string  `json:"loop"` // "open" or "closed"
	Workers int     `json:"workers"`
	Rate    float64 `json:"rate"` // requested, in calls a second; 0 in a closed loop
	RPS     float64 `json:"rps"`  // reached: OK calls a second
	P50     float64 `json:"p50_ms"`
	P90     float64 `json:"p90_ms"`
	P99     float64 `json:"p99_ms"`
	P999    float64 `json:"p99_9_ms"`
	Max     float64 `json:"max_ms"`
	Late    float64 `json:"late_ms"` // see Result
	Waited  uint64  `json:"waited"`  // see Result
	Seconds float64 `json:"seconds"`
	Counts
}

// Comparison is one estimate and, if it has a limit, the verdict of the gate.
type Comparison struct {
	Name string `json:"name"`
	Estimate
	Limit   string  `json:"limit,omitzero"`
	Verdict Verdict `json:"verdict,omitzero"`
}

// Summarize reduces a result to its figures.
func Summarize(name string, r Result) Summary {
	loop := "closed"
	if r.Options.Rate > 0 {
		loop = "open"
	}
	return Summary{
		Name: name, Loop: loop, Workers: r.Options.Workers, Rate: r.Options.Rate, RPS: r.Throughput(),
		P50: milliseconds(r.Quantile(0.5)), P90: milliseconds(r.Quantile(0.9)),
		P99:  milliseconds(r.Quantile(0.99)),
		P999: milliseconds(r.Quantile(0.999)), Max: milliseconds(time.Duration(r.Latency.Max())),
		Late: milliseconds(r.Late), Waited: r.Waited,
		Seconds: r.Took.Seconds(), Counts: r.Counts,
	}
}

// Compare judges an estimate by a limit.
func Compare(name string, e Estimate, l Limit) Comparison {
	return Comparison{Name: name, Estimate: e, Limit: l.String(), Verdict: Gate(e, l)}
}

// Failed reports whether a gate failed, a figure missed its goal, or a run lost, duplicated or
// mixed up a reply. The caller judges errors of the server, since under a fault some are correct.
func (r Report) Failed() bool {
	for _, s := range r.Runs {
		if s.Lost+s.Crosstalk+s.Duplicate > 0 {
			return true
		}
	}
	return slices.ContainsFunc(r.Figures, func(f Figure) bool { return f.Verdict == Fail }) ||
		slices.ContainsFunc(r.Comparisons, func(c Comparison) bool { return c.Verdict == Fail })
}

// column is one column of a table with rows of type T.
type column[T any] struct {
	head string
	cell func(T) string
}

// number is a column of figures with four significant digits.
func number[T any](head string, value func(T) float64) column[T] {
	return column[T]{head, func(row T) string { return figure(value(row)) }}
}

func figure(v float64) string {
	if v >= 1000 { // here %g would soon use an exponent
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

// count is a column of whole numbers.
func count[T any](head string, value func(T) uint64) column[T] {
	return column[T]{head, func(row T) string { return fmt.Sprint(value(row)) }}
}

// runColumns are the columns of the table of runs.
func runColumns() []column[Summary] {
	return []column[Summary]{
		{"run", func(s Summary) string { return s.Name }},
		{"loop", func(s Summary) string { return s.Loop }},
		count("workers", func(s Summary) uint64 { return uint64(s.Workers) }),
		number("rps", func(s Summary) float64 { return s.RPS }),
		number("p50 ms", func(s Summary) float64 { return s.P50 }),
		number("p90 ms", func(s Summary) float64 { return s.P90 }),
		number("p99 ms", func(s Summary) float64 { return s.P99 }),
		number("p99.9 ms", func(s Summary) float64 { return s.P999 }),
		number("max ms", func(s Summary) float64 { return s.Max }),
		number("late ms", func(s Summary) float64 { return s.Late }),
		count("waited", func(s Summary) uint64 { return s.Waited }),
		count("ok", func(s Summary) uint64 { return s.OK }),
		count("failed", func(s Summary) uint64 { return s.Failed }),
		count("lost", func(s Summary) uint64 { return s.Lost }),
		count("crosstalk", func(s Summary) uint64 { return s.Crosstalk }),
		count("duplicate", func(s Summary) uint64 { return s.Duplicate }),
	}
}

// comparisonColumns are the columns of the table of comparisons.
func comparisonColumns() []column[Comparison] {
	return []column[Comparison]{
		{"comparison", func(c Comparison) string { return c.Name }},
		number("ratio", func(c Comparison) float64 { return c.Ratio }),
		{"95 % interval", func(c Comparison) string {
			return fmt.Sprintf("%.4g to %.4g", c.Low, c.High)
		}},
		count("pairs", func(c Comparison) uint64 { return uint64(c.Pairs) }),
		{"limit", func(c Comparison) string { return c.Limit }},
		{"verdict", func(c Comparison) string { return string(c.Verdict) }},
	}
}

// Markdown writes the report as tables for a reader.
func (r Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n", r.Title)
	table(&b, runColumns(), r.Runs)
	table(&b, figureColumns(), r.Figures)
	table(&b, comparisonColumns(), r.Comparisons)
	return b.String()
}

func table[T any](b *strings.Builder, columns []column[T], rows []T) {
	if len(rows) == 0 {
		return
	}
	line := func(cell func(column[T]) string) {
		for _, c := range columns {
			b.WriteString("| " + strings.ReplaceAll(cell(c), "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	b.WriteByte('\n')
	line(func(c column[T]) string { return c.head })
	line(func(column[T]) string { return "---" })
	for _, row := range rows {
		line(func(c column[T]) string { return c.cell(row) })
	}
}

// JSON writes the report for a program, with members in the order of the structs.
func (r Report) JSON() ([]byte, error) {
	return json.Marshal(r, jsontext.WithIndent("  "))
}

// Write stores the report in a folder, as <name>.md and <name>.json.
func (r Report) Write(folder, name string) error {
	text, err := r.JSON()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	file := filepath.Join(folder, name)
	return errors.Join(os.WriteFile(file+".md", []byte(r.Markdown()), 0o644),
		os.WriteFile(file+".json", text, 0o644))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
