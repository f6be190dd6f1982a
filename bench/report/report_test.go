package report

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/internal/load"
)

var update = flag.Bool("update", false,
	"write the pages of the benchmarks in docs from docs/benchmarks.json")

// docs is the folder with the record of the last full run and its pages.
const docs = "../../docs"

// The pages in docs, and their plot, match the record there.
func TestDocsAreWhatTheirRecordSays(t *testing.T) {
	for file, show := range map[string]func(io.Writer, record.Record) error{SummaryFile: Summary,
		FullFile: Markdown, PlotFile: Plot} {
		var b bytes.Buffer
		if err := show(&b, committed(t)); err != nil {
			t.Fatal(err)
		}
		page := filepath.Join(docs, file)
		if *update {
			if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(page)
		if err != nil || !bytes.Equal(got, b.Bytes()) {
			t.Errorf("%s is not what its record says (%v): go test ./bench/report -update", page, err)
		}
	}
}

// sample has one of everything: a gate of each verdict, a lower limit, a difference, subjects with
// histograms, cases that grow, and a missing subject.
func sample(t *testing.T) record.Record {
	t.Helper()
	histogram := func(around int64) string {
		h := hdrhistogram.New(1, 1e10, 3)
		for i := range int64(2000) {
			if err := h.RecordValue(around + i*around/500); err != nil {
				t.Fatal(err)
			}
		}
		text, err := kit.Encode(h)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	r := record.Record{
		Format: record.Format, Short: true, Begun: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC),
		Seconds: 90, Seed: 1,
		Machine: record.Machine{
			Version: "1.2.3", Go: "go1", CPU: "A processor", Cores: 2, Memory: 8 << 30,
			System: "linux/amd64", Load: 0.1,
		},
		Scenarios: []record.Scenario{{Name: "calls", Title: "A call", What: "From <here> to there."}},
		Missing: []record.Missing{
			{Scenario: "calls", Subject: record.OTP, Reason: "erl is not here"},
			{Scenario: "calls", Reason: "a | b", Broken: true},
		},
	}
	for i, sessions := range []string{"1 session", "16 sessions", "1,024 sessions"} {
		for j, subject := range []string{record.Mcpd, "relay", "<b>direct"} {
			m := record.Measurement{
				Scenario: "calls", Case: sessions, Subject: subject, Quantity: "p50", Unit: "µs",
				Histogram: histogram(int64(10_000 * (1 + i) * (1 + j))),
			}
			m.Rounds = []float64{10 * float64(1+i), 12 * float64(1+j), 11}
			m.Calls = &load.Counts{Sent: 1000, OK: 1000}
			r.Measurements = append(r.Measurements, m)
			m.Quantity, m.Unit, m.Histogram, m.Rounds = "throughput", "calls/s", "", []float64{
				float64(10_000 * (1 + i)), float64(9000 * (1 + j)),
			}
			r.Measurements = append(r.Measurements, m)
		}
	}
	for _, c := range []record.Comparison{
		{Name: "of the relay's", Estimate: load.Estimate{Ratio: 1.2, Low: 1.1, High: 1.3, Pairs: 5},
			Gate: 1.5, Goal: 1.25, Verdict: load.Pass, Reached: load.Unclear},
		{Name: "of ours", Estimate: load.Estimate{Ratio: 2, Low: 1.9, High: 2.1, Pairs: 5}, Gate: 1.5,
			Verdict: load.Fail},
		{Name: "owed", Estimate: load.Estimate{Ratio: 2, Low: 1.9, High: 2.1, Pairs: 5}, Gate: 1.5,
			Verdict: load.Fail, Outstanding: "it is slow"},
		{Name: "throughput", Estimate: load.Estimate{Ratio: 0.5, Low: 0.4, High: 0.6, Pairs: 5},
			Goal: 0.9, LowerBound: true, Reached: load.Fail},
		{Name: "beyond", Unit: "KiB", Estimate: load.Estimate{Ratio: -1, Low: -2, High: 3, Pairs: 5},
			Gate: 2, Verdict: load.Unclear},
		{Name: "without limits", Estimate: load.Estimate{Ratio: 1, Low: 1, High: 1, Pairs: 5}},
	} {
		c.Scenario, c.Case = "calls", "16 sessions"
		r.Comparisons = append(r.Comparisons, c)
	}
	return r
}

func pageOf(t *testing.T, list ...record.Record) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, list); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageShowsWhatWasMeasured(t *testing.T) {
	page := pageOf(t, sample(t))
	for label, want := range map[string]int{
		`<figure class="chart latencies">`: 3, `<figure class="chart growth">`: 2,
		`<figure class="chart throughput">`: 1,
		`class="line own"`:                  6, `class="line c1"`: 6, `class="line c2"`: 6, "✗": 3,
		"<b>9,000</b>": 1, "From a short run": 1, "it is slow": 1, "&lt;b&gt;direct": 12, "<b>direct": 0,
	} {
		if got := strings.Count(page, label); got != want {
			t.Errorf("%d times %s, want %d", got, label, want)
		}
	}
	for _, outside := range regexp.MustCompile(
		`(?: src=|url\(|@import|<script|https?://)[^ ]*`,
	).FindAllString(page, -1) {
		t.Errorf("the page needs %s", outside)
	}
	drawn := regexp.MustCompile(`^[MLVHhvz0-9. -]*$`)
	for _, d := range regexp.MustCompile(` d="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if d[1] == "" || !drawn.MatchString(d[1]) {
			t.Errorf("a path %q", d[1])
		}
	}
}

func TestMarkdownSaysWhereItFallsShort(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, sample(t)); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{
		"What the run fails on:\n\n- calls: 16 sessions, of ours: 2 (1.9 to 2.1), must be at most " +
			"1.5\n- calls: a \\| b\n",
		"Gates that do not hold yet, and why:\n\n- calls, 16 sessions, owed: 2 (1.90 to 2.10), must be " +
			"≤ 1.50: it is slow\n",
		"Gates that this run cannot judge, for the interval reaches over them:\n\n- calls, 16 " +
			"sessions, beyond: -1 KiB (-2 to 3 KiB), must be ≤ 2 KiB\n",
		"Goals that are not reached:\n\n- calls, 16 sessions, throughput: 0.5 (0.4 to 0.6), should be " +
			"≥ 0.9\n",
		"Goals that this run cannot judge, for the interval reaches over them:\n\n- calls, 16 " +
			"sessions, of the relay's: 1.20 (1.10 to 1.30), should be ≤ 1.25\n",
		"What was not measured:\n\n- calls: OTP was not measured: erl is not here\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say\n%s", want)
		}
	}
	for i, line := range strings.Split(got, "\n") {
		if strings.HasPrefix(line, "|") && strings.Contains(line, "<") {
			t.Errorf("line %d: %s", i, line)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// Every scenario is linked by the anchor of its heading.
func TestMarkdownLinksToItsScenarios(t *testing.T) {
	r := sample(t)
	r.Scenarios = append(r.Scenarios, record.Scenario{
		Name: "eras", Title: "A first message, and a call of 2 eras", What: "What.", Seconds: 90,
	})
	var b bytes.Buffer
	if err := Markdown(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"- [A call](#a-call)\n",
		"- [A first message, and a call of 2 eras](#a-first-message-and-a-call-of-2-eras), in 90 s\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %s", want)
		}
	}
}

func TestReadersAreToldOfABusyMachine(t *testing.T) {
	for _, test := range []struct {
		load, others float64
		want         int
	}{{0.1, 0, 1}, {5, 0, 2}, {5, 0.01, 1}, {0, 0.5, 2}} {
		r := sample(t)
		r.Machine.Load, r.OtherLoad = test.load, test.others
		var b bytes.Buffer
		if err := Markdown(&b, r); err != nil {
			t.Fatal(err)
		}
		// one of the remarks says that the run was short
		if got := strings.Count(b.String(), "\n> "); got != test.want {
			t.Errorf("load %v, others %v: %d remarks, want %d", test.load, test.others, got, test.want)
		}
	}
}

func TestNothingIsShownOfNothing(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, record.Record{}); err != nil {
		t.Fatal(err)
	}
	if page := pageOf(t, record.Record{}); !strings.Contains(page, "nothing was judged") {
		t.Error(page)
	}
	broken := sample(t)
	for i := range broken.Measurements {
		broken.Measurements[i].Histogram, broken.Measurements[i].Rounds = "x", nil
	}
	if page := pageOf(t, broken); strings.Contains(page, "NaN") {
		t.Error("a number that is none is shown")
	}
}

func TestQuantitiesAreShort(t *testing.T) {
	for _, test := range []struct {
		v    float64
		unit string
		want string
	}{{1500, "ns", "1.50 µs"}, {0.5, "µs", "500 ns"}, {2048, "KiB", "2 MiB"},
		{12, "calls/s", "12 calls/s"}, {90, "s", "90 s"}, {0, "ms", "0 ms"}} {
		if got := strings.ReplaceAll(quantity(test.v, test.unit), "\u00a0", " "); got != test.want {
			t.Errorf("%v %s: %s, want %s", test.v, test.unit, got, test.want)
		}
	}
}

func TestSpansHaveTheirUnitOnce(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		unit      string
		want      string
	}{{490, 501, "ns", "490 to 501 ns"}, {900, 1500, "ns", "900 ns to 1.50 µs"},
		{9, 9, "allocations", "9 allocations"}, {1, 2, "", "1 to 2"}} {
		if got := strings.ReplaceAll(span(quantity(test.low, test.unit), quantity(test.high, test.unit)),
			"\u00a0", " "); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
	for v, want := range map[float64]string{0.0000442: "0.000044", 0.00073: "0.00073", 0.38: "0.38",
		1.5: "1.50", 0: "0", -0.00001: "-0.000010"} {
		if got := ratio(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

func TestNumbersInCasesGrow(t *testing.T) {
	for name, want := range map[string]string{
		"1,000 siblings, paced": "[1000 sibling]", "16 sessions, 4 KiB": "[16 session 4096 B]",
		"1 session": "[1 session]", "server/discover": "[]", "since 2025-11-25": "[]",
	} {
		var got []any
		for _, g := range growing(name) {
			got = append(got, g.at, g.word)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
}
