package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"mcpd/bench/record"
	"mcpd/internal/chart"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// open is how many charts of a scenario are shown; the others are folded.
const open = 6

// page is the data of the template.
type page struct {
	Style template.CSS
	Runs  []runPart
}

// runPart is one run.
type runPart struct {
	Title    string
	Remarks  []string
	State    state
	Lead     string
	Tiles    []tile
	Facts    []fact
	Gates    []row
	Shorts   []shortfall
	Chapters []chapterPart
}

// tile is one of the most important numbers.
type tile struct{ Says, Number, Note, Class string }

type chapterPart struct {
	chapter
	Shown, Folded []curveChart
}

// HTML writes records as one page.
func HTML(w io.Writer, list []record.Record) error {
	p := page{Style: template.CSS(pageStyle)}
	for _, r := range list {
		p.Runs = append(p.Runs, runOf(r))
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func runOf(r record.Record) runPart {
	t := tallyOf(r)
	part := runPart{Title: "mcpd bench", Remarks: remarks(r), Facts: factsOf(r), Shorts: shortfalls(r)}
	failed := len(r.Failures())
	switch {
	case failed > 0:
		part.State = state{things(failed, "promise is broken", "promises are broken"), "✗", "bad"}
	case t.Hold == 0:
		part.State = state{"nothing was judged", "–", "none"}
	default:
		part.State = state{"every gate holds", "✓", "good"}
		if t.Unclear > 0 {
			part.State = state{"no gate fails", "✓", "good"}
		}
	}
	part.Lead = fmt.Sprintf("%s measured on %s with %d cores, %s.",
		things(len(r.Scenarios), "scenario", "scenarios"), name(r.Machine.CPU), r.Machine.Cores,
		r.Begun.UTC().Format("2 January 2006"))
	part.Tiles = []tile{
		{"gates that hold", fmt.Sprintf("%d of %d", t.Hold, t.Hold+t.Fail+t.Owed+t.Unclear),
			fmt.Sprintf("%d cannot be judged, %d are owed", t.Unclear, t.Owed), "good"},
		{"gates that fail", fmt.Sprint(t.Fail), "the whole interval is beyond", classOf(t.Fail)},
		{"goals reached", fmt.Sprintf("%d of %d", t.Reached, t.Goals), "where we are going", "own"},
		{"calls checked", chart.Count(calls(r)), "each answered by its own nonce", "own"},
	}
	for _, c := range r.Comparisons {
		if c.Gate != 0 || c.Goal != 0 {
			part.Gates = append(part.Gates, rowOf(c))
		}
	}
	for _, c := range chaptersOf(r) {
		n := min(open, len(c.Charts))
		part.Chapters = append(part.Chapters, chapterPart{c, c.Charts[:n], c.Charts[n:]})
	}
	return part
}

func classOf(bad int) string {
	if bad > 0 {
		return "bad"
	}
	return "good"
}

// calls returns the number of all calls. Calls that several measurements share are counted once.
func calls(r record.Record) (n uint64) {
	type key struct{ scenario, title, subject string }
	seen := map[key]bool{}
	for _, m := range r.Measurements {
		if k := (key{m.Scenario, m.Case, m.Subject}); m.Calls != nil && !seen[k] {
			seen[k] = true
			n += m.Calls.Sent
		}
	}
	return n
}
