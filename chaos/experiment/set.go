package experiment

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"mcpd/chaos/faults"
	"mcpd/gateway/config/document"
)

func addCatalogue(e *Experiment, text string) *mistake {
	if _, ok := faults.InCatalogue(text); !ok {
		return &mistake{"the catalogue has no such row", "write one of F01 to F69"}
	}
	if slices.Contains(e.CatalogueIDs, text) {
		return &mistake{"it appears twice", "keep one"}
	}
	e.CatalogueIDs = append(e.CatalogueIDs, text)
	return nil
}

var step = regexp.MustCompile(`^(?:\*|[A-Za-z0-9_.:-]+|\{target\})$`)

// badPattern returns the mistake in a pattern of whole paths, or nil.
func badPattern(text string) *mistake {
	steps := strings.Split(text, "/")
	if n := len(steps); n > 1 && steps[n-1] == "**" {
		steps = steps[:n-1]
	}
	if steps[0] != "mcpd" {
		return &mistake{
			"paths begin with mcpd",
			"write it like mcpd/tenants/{target}/request_manager; ** at the end is all that is below, too",
		}
	}
	for _, s := range steps {
		if !step.MatchString(s) {
			return &mistake{
				fmt.Sprintf("%q is no name of a row", document.Printable(s)),
				"write a name, * for any, or {target} for the target's",
			}
		}
	}
	return nil
}

func setRow(s *Selector, text string) *mistake {
	s.Row = text
	if absolute(text) {
		return badPattern(text)
	}
	return badPattern("mcpd/" + text)
}

// absolute reports whether a row's pattern is one of whole paths.
func absolute(row string) bool { return row == "mcpd" || strings.HasPrefix(row, "mcpd/") }

func addBlast(x *Expect, text string) *mistake {
	x.MayRestart = append(x.MayRestart, text)
	return badPattern(text)
}

func setErrors(x *Expect, text string) *mistake {
	if text == "any" {
		x.TargetErrors = AnyErrors
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return &mistake{"it is no number of calls", "write one, or any"}
	}
	x.TargetErrors = n
	return nil
}

// maxRestarts bounds the expected number of restarts. Rows that restart more often should expect
// "hits".
const maxRestarts = 1_000_000

func setRestarts(r *Restarts, text string) *mistake {
	if text == "hits" {
		*r = Restarts{Hits: true}
		return nil
	}
	low, high, isRange := strings.Cut(text, "..")
	if !isRange {
		high = low
	}
	from, err := strconv.Atoi(low)
	to, err2 := strconv.Atoi(high)
	if err != nil || err2 != nil || from < 0 || to < from || to > maxRestarts {
		return &mistake{"it is no number of restarts", "write a number, two like 1..3, or hits"}
	}
	*r = Restarts{Low: from, High: to}
	return nil
}

func readRestarts(r *reader, x *Expect, path string, y ast.Node) {
	x.Restarts = map[string]Restarts{}
	pairs, _ := r.Pairs(y, path)
	for _, pair := range pairs {
		if m := badPattern(pair.Name.Text); m != nil {
			r.Report(pair.Name.At, fmt.Sprintf("%s has %q", path, document.Printable(pair.Name.Text)),
				m.reason, m.do)
			continue
		}
		at := join(path, pair.Name.Text)
		r.where[at] = document.At(pair.Value)
		var n Restarts
		r.text(at, pair.Value, loose, func(text string) *mistake { return setRestarts(&n, text) })
		x.Restarts[pair.Name.Text] = n
	}
}

func readFigures(r *reader, x *Expect, path string, y ast.Node) {
	x.Figures = map[string]Figure{}
	pairs, _ := r.Pairs(y, path)
	for _, pair := range pairs {
		if _, known := QuantityOf(pair.Name.Text); !known {
			r.Report(pair.Name.At, fmt.Sprintf("%s has %q", path, document.Printable(pair.Name.Text)),
				"no run measures such a figure",
				document.DidYouMean(pair.Name.Text, quantityNames(),
					"there are "+strings.Join(quantityNames(), ", ")))
			continue
		}
		var f Figure
		at := join(path, pair.Name.Text)
		if mapping(r, &f, at, figureKeys, pair.Value); r.lacks(at, "goal") {
			r.Report(pair.Name.At, at+" has no goal", "a figure is held against one", "add it")
		}
		x.Figures[pair.Name.Text] = f
	}
}
