package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mcpd/bench/record"
	"mcpd/internal/load"
)

// Each headline is a comparison of the committed record, with the two measurements that are
// compared. The next full run measures a scenario that is newer than the record.
func TestHeadlinesAreOfTheRecord(t *testing.T) {
	r := committed(t)
	for _, h := range Headlines {
		if !slices.ContainsFunc(r.Scenarios, func(s record.Scenario) bool {
			return s.Name == h.Scenario
		}) {
			continue
		}
		c, ok := h.in(r)
		ours, one := h.measured(r, h.Of)
		beside, other := h.measured(r, h.Beside)
		if !ok || !one || !other {
			t.Errorf("%s: in the record %t, with ours %t and what is beside it %t", h.Says, ok, one, other)
			continue
		}
		var e load.Estimate
		var err error
		if c.Unit == "" {
			e, err = load.Ratio(beside.Rounds, ours.Rounds)
		} else if c.Name != h.Of.Quantity {
			e, err = load.Difference(beside.Rounds, ours.Rounds, r.Seed)
		} else {
			e.Ratio = c.Ratio
		}
		if err != nil || math.Abs(e.Ratio/c.Ratio-1) > 1e-6 {
			t.Errorf("%s: the two come to %v, and the comparison is %v (%v)", h.Says, e.Ratio, c.Ratio, err)
		}
		if drawn := h.Label != ""; drawn != (c.Gate != 0 || c.Goal != 0) {
			t.Errorf("%s: it is drawn %t, and its limits are %v and %v", h.Says, drawn, c.Gate, c.Goal)
		}
	}
}

// Labels fit beside the plot: a letter takes about 7 of their 256 units.
func TestLabelsOfThePlotAreShort(t *testing.T) {
	for _, h := range Headlines {
		if len(h.Label) > 35 {
			t.Errorf("%q has %d letters", h.Label, len(h.Label))
		}
	}
}

func show(t *testing.T, of func(io.Writer, record.Record) error, r record.Record) string {
	t.Helper()
	var b bytes.Buffer
	if err := of(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The summary is short enough to read, and its links work.
func TestSummaryIsOnePage(t *testing.T) {
	got := show(t, Summary, committed(t))
	if lines := strings.Count(got, "\n"); lines > 80 {
		t.Errorf("%d lines", lines)
	}
	full, err := os.ReadFile(filepath.Join(docs, FullFile))
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{"": true}
	for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(full), -1) {
		anchors[anchor(m[1])] = true
	}
	links := regexp.MustCompile(`\]\(([^)#]+)#?([^)]*)\)`).FindAllStringSubmatch(got, -1)
	for _, m := range links {
		if _, err := os.Stat(filepath.Join(docs, m[1])); err != nil || !anchors[m[2]] {
			t.Errorf("%s leads nowhere (%v)", m[0], err)
		}
	}
	if len(links) < 10 {
		t.Errorf("only %d links: the pattern has grown blind", len(links))
	}
}

func TestSummarySaysWhatFallsShort(t *testing.T) {
	r := sample(t)
	another := r.Comparisons[2]
	another.Case, another.Ratio = "1 session", 3
	r.Comparisons = append(r.Comparisons, another)
	got := show(t, Summary, r)
	for _, want := range []string{
		"Gates that fail:\n\n- `calls`: *of ours* must be ≤ 1.50. It is 2 (1.90 to 2.10) with *16 " +
			"sessions*.\n",
		"Gates that are owed:\n\n- `calls`: *owed* must be ≤ 1.50. It is 2 (1.90 to 2.10) with *16 " +
			"sessions*, 3 (1.90 to 2.10) with *1 session*. The reason: it is slow.\n",
		"reach over the limit: 1 of `calls`.\n",
		"2 of 2 are not reached, or cannot be judged.",
		"What was not measured:\n\n- `calls`: OTP was not measured: erl is not here\n- `calls`: calls " +
			"broke: a \\| b\n",
		"1 gate holds, 1 fail, 1 cannot be judged, 2 are owed.",
		"| – | – | – | – | not measured by this run |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say\n%s", want)
		}
	}
	r.Short, r.Comparisons = false, r.Comparisons[:1]
	r.Comparisons[0].Goal, r.Comparisons[0].Reached, r.Missing = 0, "", nil
	if got := show(t, Summary, r); !strings.Contains(got, "Nothing: every gate holds") {
		t.Error(got)
	}
	if t.Failed() {
		t.Log(got)
	}
}

func TestIntervalsHaveTheirUnitOnce(t *testing.T) {
	for _, test := range []struct {
		is, low, high float64
		unit, want    string
	}{
		{18, 15, 22, "µs", "18 µs (15 to 22)"}, {1.04, 0.93, 1.16, "ms", "1.04 ms (930 µs to 1.16 ms)"},
		{0.5, 0.4, 0.6, "", "0.5 (0.4 to 0.6)"}, {2, 2, 2, "B", "2 B"},
	} {
		got := within(quantity(test.is, test.unit), quantity(test.low, test.unit),
			quantity(test.high, test.unit))
		if got = strings.ReplaceAll(got, "\u00a0", " "); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// The plot is valid XML, and all its elements lie within its frame. It shows the headlines with a
// limit.
func TestPlotIsWithinItsFrame(t *testing.T) {
	text := show(t, Plot, committed(t))
	strips, frame := 0, map[string]float64{}
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		at := map[string]float64{}
		for _, a := range e.Attr {
			at[a.Name.Local], _ = strconv.ParseFloat(a.Value, 64) // 0 if it is no number
		}
		if e.Name.Local == "svg" {
			frame = at
		}
		if x := at["x"] + at["cx"]; x < 0 || x+at["width"] > frame["width"] ||
			at["y"]+at["cy"] > frame["height"] {
			t.Errorf("%+v lies outside", e)
		}
		if _, ok := at["fill-opacity"]; ok {
			strips++
		}
	}
	want := 0
	for _, h := range Headlines {
		if c, ok := h.in(committed(t)); ok && (c.Gate != 0 || c.Goal != 0) {
			want++
		}
	}
	if strips != want || strings.Contains(text, "NaN") {
		t.Errorf("%d strips, want %d: %s", strips, want, text)
	}
	if empty := show(t, Plot, record.Record{}); strings.Contains(empty, "NaN") ||
		strings.Contains(empty, "Inf") {
		t.Error(empty)
	}
	if got := share(2, 1, true); got != 0.5 {
		t.Errorf("twice a lower limit is %v of it", got)
	}
}

// A terminal shows all comparisons and figures of a few scenarios. Of a whole run it shows no more
// than fits.
func TestTerminalShowsWhatFits(t *testing.T) {
	few := show(t, Terminal, sample(t))
	for _, want := range []string{
		"1.90 to 2.10   ≤ 1.50   ○ owed", "14,500 calls/s  9,000 to 20,000 calls/s", "1 is owed;",
		"Gates that do not hold yet, and why:\n  calls, 16 sessions, owed: 2", "erl is not here",
	} {
		if !strings.Contains(few, want) {
			t.Errorf("it does not show %q", want)
		}
	}
	if strings.Contains(few, "What the run fails on") {
		t.Error("what the run fails on is told twice")
	}
	whole := show(t, Terminal, committed(t))
	if !strings.Contains(whole, Headlines[0].Says) || strings.Count(whole, "\n") > 100 {
		t.Error(whole)
	}
	if t.Failed() {
		t.Log(few)
	}
}
