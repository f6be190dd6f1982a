package interop

import (
	"fmt"
	"slices"
	"strings"
)

const compatHead = `<!-- Written by go generate ./internal/interop from what its test saw. Do not edit. -->

# Compatibility

Clients of each revision (rows) used servers of each revision (columns) through mcpd, over every transport that has the revision: stdio has
all of them, Streamable HTTP came with 2025-03-26, and HTTP+SSE is of 2024-11-05. Each did, or tried, all of this:

`

const compatNotes = `
## What a pair cannot carry

Behind each is the row of the bridge table (§10 of the protocol matrix) that makes it impossible, and what is answered instead.

`

// note is a reason why some pairs do not support some features.
type note struct {
	features    []string
	row, reason string
}

// compatTable renders the page. Its cells say "all", or name the notes that apply.
func compatTable(cells map[pair][]string) string {
	var notes []note
	numbers := map[pair][]string{}
	for i, f := range compatFeatures { // the order of the features determines the numbers of the notes
		for _, down := range allEnds() {
			for _, up := range allEnds() {
				reason, at := cells[pair{down, up}][i], pair{down, up}
				if reason == "" {
					continue
				}
				n := slices.IndexFunc(notes, func(n note) bool { return n.row == f.row && n.reason == reason })
				if n < 0 {
					n, notes = len(notes), append(notes, note{row: f.row, reason: reason})
				}
				if of := &notes[n].features; !slices.Contains(*of, f.name) {
					*of = append(*of, f.name)
				}
				if number := fmt.Sprint(n + 1); !slices.Contains(numbers[at], number) {
					numbers[at] = append(numbers[at], number)
				}
			}
		}
	}
	var b strings.Builder
	b.WriteString(compatHead)
	for _, f := range compatFeatures {
		fmt.Fprintf(&b, "- %s\n", f.name)
	}
	b.WriteString("\nA cell says *all*, or which notes below say what is lacking.\n")
	for _, from := range transports {
		for _, to := range transports {
			fmt.Fprintf(&b, "\n## %s to %s\n\n| client \\ server |", from, to)
			for _, v := range revisions(to) {
				fmt.Fprintf(&b, " %s |", v)
			}
			b.WriteString("\n|---|" + strings.Repeat("---|", len(revisions(to))) + "\n")
			for _, v := range revisions(from) {
				fmt.Fprintf(&b, "| %s |", v)
				for _, w := range revisions(to) {
					said := "all"
					if n := numbers[pair{end{from, v}, end{to, w}}]; len(n) > 0 {
						said = "all but " + strings.Join(n, ", ")
					}
					fmt.Fprintf(&b, " %s |", said)
				}
				b.WriteString("\n")
			}
		}
	}
	b.WriteString(compatNotes)
	for i, n := range notes {
		fmt.Fprintf(&b, "%d. %s (%s): %s.\n", i+1, strings.Join(n.features, "; "), n.row, n.reason)
	}
	return b.String()
}
