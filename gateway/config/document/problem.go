package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a file: its position, what is wrong, why it is wrong, and what to do
// about it.
type Problem struct {
	File      string
	Line, Col int // from 1; 0 if there is no position
	What      string
	Why       string
	Do        string
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Col)
	}
	b.WriteString(": ")
	b.WriteString(p.What)
	for _, part := range []string{p.Why, p.Do} {
		if part != "" {
			b.WriteString(", ")
			b.WriteString(part)
		}
	}
	return b.String()
}

// MaxProblems bounds a report. A file with a hundred problems usually has one problem a hundred
// times.
const MaxProblems = 100

// Problems are all mistakes of a file.
type Problems []Problem

// Error returns one line for each problem.
func (p Problems) Error() string {
	var b strings.Builder
	for i, problem := range p {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(problem.String())
	}
	return b.String()
}

// Sorted returns the problems by position without duplicates, and at most MaxProblems of them.
func (p Problems) Sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	p = slices.CompactFunc(p, func(a, b Problem) bool { return a == b })
	if more := len(p) - MaxProblems; more > 0 {
		last := p[MaxProblems]
		p = append(p[:MaxProblems:MaxProblems], Problem{
			File: last.File, Line: last.Line, Col: last.Col,
			What: fmt.Sprintf("and %d more problems from here on", more),
		})
	}
	return p
}
