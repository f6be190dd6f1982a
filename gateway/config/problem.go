package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a configuration: where, what is wrong, why it is, and what to do about it.
type Problem struct {
	File      string
	Line, Col int // from 1; 0 where there is no position
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

// MaxProblems bounds a report. Who has a hundred mistakes has one mistake a hundred times.
const MaxProblems = 100

// Problems are all mistakes of a configuration, by position. It is the only kind of error that Load returns.
type Problems []Problem

// Error has one line for each problem.
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

func (p Problems) sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	p = slices.CompactFunc(p, func(a, b Problem) bool { return a == b })
	if more := len(p) - MaxProblems; more > 0 {
		last := p[MaxProblems]
		p = append(p[:MaxProblems:MaxProblems], Problem{File: last.File, Line: last.Line, Col: last.Col, What: fmt.Sprintf("and %d more problems from here on", more)})
	}
	return p
}

// nearest returns the candidate that a word may have been meant to be: one or two slips away, and more like it than not.
func nearest(word string, candidates []string) (string, bool) {
	best, distance := "", min(2, len(word)/2)+1
	for _, c := range candidates {
		if d := slips(strings.ToLower(word), strings.ToLower(c)); d < distance {
			best, distance = c, d
		}
	}
	return best, best != ""
}

// maxWord bounds what is compared: slips is quadratic, and no key is longer.
const maxWord = 64

// slips is the number of letters to insert, delete, replace or swap with their neighbour to make one word of the other.
func slips(a, b string) int {
	if len(a) > maxWord || len(b) > maxWord {
		return maxWord
	}
	before, last, row := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, make([]int, len(b)+1)
	}
	return last[len(b)]
}
