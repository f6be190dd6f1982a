package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
)

// report has one clean run and one comparison, in virtual time so that the figures are exact.
func report(t *testing.T) Report {
	var out Report
	synctest.Test(t, func(t *testing.T) {
		r, err := Run(t.Context(), []Client{takes(4 * time.Millisecond)}, options(func(o *Options) {
			o.Rate = 100
		}))
		if err != nil {
			t.Fatal(err)
		}
		e := Estimate{Ratio: 1.05, Low: 1.01, High: 1.08, Pairs: 5}
		f := NewFigure("heap", "KiB", []float64{9, 8, 11}, 10)
		out = Report{
			Title: "echo", Runs: []Summary{Summarize("relay", r)}, Figures: []Figure{f},
			Comparisons: []Comparison{Compare("p99", e, AtMost(1.1))},
		}
	})
	return out
}

func TestReportAsMarkdown(t *testing.T) {
	const want = `## echo

| run | loop | workers | rps | p50 ms | p90 ms | p99 ms | p99.9 ms | max ms | late ms | waited | ok | failed | lost | crosstalk | duplicate |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| relay | open | 1 | 100.6 | 4.002 | 4.002 | 4.002 | 4.002 | 4.002 | 0 | 0 | 100 | 0 | 0 | 0 | 0 |

| figure | unit | median | p95 | spread | samples | goal | verdict |
| --- | --- | --- | --- | --- | --- | --- | --- |
| heap | KiB | 9 | 11 | 8 to 11 | 3 | ≤ 10 | unclear |

| comparison | ratio | 95 % interval | pairs | limit | verdict |
| --- | --- | --- | --- | --- | --- |
| p99 | 1.05 | 1.01 to 1.08 | 5 | ≤ 1.1 | pass |
`
	if got := report(t).Markdown(); got != want {
		t.Errorf("markdown:\n%s\nwant:\n%s", got, want)
	}
}

func TestReportAsJSONReadsBack(t *testing.T) {
	want := report(t)
	text, err := want.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(text, &got, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if got.Markdown() != want.Markdown() || len(got.Runs) != 1 || got.Runs[0] != want.Runs[0] ||
		got.Comparisons[0] != want.Comparisons[0] {
		t.Errorf("read back %+v, want %+v", got, want)
	}
	for _, name := range []string{`"p99_9_ms"`, `"crosstalk"`, `"verdict"`} {
		if !strings.Contains(string(text), name) {
			t.Errorf("no member %s in %s", name, text)
		}
	}
}

func TestReportIsKept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "results")
	r := Report{Title: "echo"}
	if err := r.Write(folder, "one"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"one.md": "## echo", "one.json": `"title": "echo"`} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil ||
			!strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

func TestReportFailsOnLostRepliesAndGates(t *testing.T) {
	tests := []struct {
		name   string
		counts Counts
		gate   Verdict
		want   bool
	}{
		{"clean", Counts{Sent: 2, OK: 2}, Pass, false},
		{"errors", Counts{Sent: 2, OK: 1, Failed: 1}, Pass, false},
		{"unclear", Counts{Sent: 2, OK: 2}, Unclear, false},
		{"lost", Counts{Sent: 2, OK: 1, Lost: 1}, Pass, true},
		{"crosstalk", Counts{Sent: 2, OK: 1, Crosstalk: 1}, Pass, true},
		{"duplicate", Counts{Sent: 2, OK: 2, Duplicate: 1}, Pass, true},
		{"gate", Counts{Sent: 2, OK: 2}, Fail, true},
	}
	for _, test := range tests {
		r := Report{
			Runs: []Summary{{Counts: test.counts}}, Comparisons: []Comparison{{Verdict: test.gate}},
		}
		if got := r.Failed(); got != test.want {
			t.Errorf("%s: failed = %t, want %t", test.name, got, test.want)
		}
		r = Report{Figures: []Figure{{Verdict: test.gate}}}
		if got, want := r.Failed(), test.gate == Fail; got != want {
			t.Errorf("%s: with a figure failed = %t, want %t", test.name, got, want)
		}
	}
}
