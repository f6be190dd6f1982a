package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"mcpd/chaos/record"
	"mcpd/internal/chart"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(
	template.New("page").Funcs(template.FuncMap{"count": chart.Count[uint64],
		"number": chart.Count[int],
		"millis": millis}).Parse(pageText),
)

// Bounds of the lists of one experiment. Omitted entries are counted.
const (
	maxErrors = 20
	maxSlips  = 20
	maxEvents = 120
	maxList   = 60 // verdicts, figures, probes, holdings, and faults that were not injected
)

// page is the data of the template.
type page struct {
	Style    template.CSS
	Title    string
	Overall  string // the result of several experiments together
	State    state
	Index    []indexLine
	Chapters []chapter
}

// indexLine is an experiment in the list of several.
type indexLine struct {
	ID, Name, Title string
	summary
	TargetSpark, OtherSpark spark
}

// chapter is one experiment.
type chapter struct {
	ID, Name, Title, Hypothesis, Catalogue string
	summary
	Headline   string
	Alone      bool
	Remarks    []string
	Tiles      []tile
	Timeline   *timeline
	Verdicts   []verdictLine
	Calls      []callLine
	Tree       []treeLine
	Declared   []string
	Histograms []histograms
	Figures    []figureLine
	Probes     []probeLine
	Holds      []holdLine
	Effects    string
	Order      string
	Errors     []errorLine
	Slips      []slipLine
	Events     []eventLine
	Left       map[string]string // the number of entries that each list omits
	Facts      []fact
}

// tile is one of the most important numbers.
type tile struct{ Says, Number, Note, Class string }

type verdictLine struct {
	State           state
	ID, Text, Found string
}

type probeLine struct{ Name, Asked, Wrong, Last string }

type holdLine struct{ Name, Before, After, Named, Peak, Limit string }

type errorLine struct{ Tenant, Text, Calls string }

type slipLine struct{ Tenant, At, Kind, Text string }

type eventLine struct{ At, Level, Name, Where, Text string }

type fact struct{ Name, Is string }

// HTML writes records as one page, with an index if there are several.
func HTML(w io.Writer, list []record.Record) error {
	p := page{Style: template.CSS(pageStyle), Title: "mcpd chaos"}
	var summaries []summary
	for i := range list {
		c := chapterOf(&list[i], "e"+strconv.Itoa(i+1))
		c.Alone = len(list) == 1
		p.Chapters = append(p.Chapters, c)
		summaries = append(summaries, c.summary)
		p.Title = "mcpd chaos: " + c.Name
	}
	if len(list) > 1 {
		p.Title = "mcpd chaos: " + countNoun(len(list), "experiment", "experiments")
		p.Overall = overall(summaries)
		p.State = gravest(summaries)
		for i, c := range p.Chapters {
			p.Index = append(p.Index, indexLine{
				ID: c.ID, Name: c.Name, Title: c.Title, summary: c.summary,
				TargetSpark: sparkOf(&list[i], record.Target), OtherSpark: sparkOf(&list[i], record.Bystander),
			})
		}
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// gravest returns the gravest state of any experiment of a run.
func gravest(list []summary) state {
	for _, s := range []state{stateBroken, aborted, missed, unclear, unjudged} {
		if slices.ContainsFunc(list, func(one summary) bool { return one.State == s }) {
			return s
		}
	}
	return stateHeld
}

// headline returns the state and its subject.
func headline(r *record.Record, s summary) string {
	switch s.State {
	case stateBroken:
		return "Broken: " + strings.Join(s.Broken[:min(len(s.Broken), 13)], ", ")
	case aborted:
		return "Aborted"
	case missed:
		return "No fault was injected"
	case unclear:
		ids := having(r, record.Unclear)
		return "Unclear: " + strings.Join(ids[:min(len(ids), 13)], ", ")
	case stateHeld:
		if len(s.Untested) > 0 {
			return "All that was judged held; not put to the test: " + joinNames(s.Untested)
		}
		return "All that was judged held"
	}
	return "Not judged"
}
