package main

import (
	"cmp"
	"fmt"
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// width is how many characters a line may have, with a tab as one.
const width = 100

// checkFile checks the text of one file.
func checkFile(text []byte) (found []finding) {
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	whole := map[int]bool{} // lines with a string that cannot be broken
	var comment block
	shown := false // the comment is what an example prints
	report := func(line int, what string) { found = append(found, finding{line: line, what: what}) }
	for {
		at, kind, literal := s.Scan()
		line := file.Line(at)
		if kind == token.IDENT && comment.of == "" && comment.last > 0 && line <= comment.last+1 {
			comment.of = literal
		}
		switch kind {
		case token.EOF:
			comment.check(report)
			checkWidth(text, whole, report)
			slices.SortStableFunc(found, func(a, b finding) int { return cmp.Compare(a.line, b.line) })
			return found
		case token.COMMENT:
			if output.MatchString(literal) {
				shown = true
			}
			if shown {
				whole[line] = true // what an example prints is as long as it is
			}
			if !comment.add(line, literal) {
				comment.check(report)
				comment = block{}
				comment.add(line, literal)
			}
		case token.IDENT:
			shown = false
			if what := checkName(literal); what != "" {
				report(line, what)
			}
		case token.STRING:
			if !breakable(literal) {
				for i := range 1 + strings.Count(literal, "\n") {
					whole[line+i] = true
				}
			}
		}
	}
}

// breakable reports whether a string can become two.
func breakable(literal string) bool {
	return strings.HasPrefix(literal, `"`) && strings.Contains(literal, " ")
}

func checkWidth(text []byte, whole map[int]bool, report func(int, string)) {
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
		if columns > width && !whole[n] && !strings.Contains(line, "// want ") {
			report(n, fmt.Sprintf("%d columns, want at most %d", columns, width))
		}
	}
}

// block is the text of comments that stand in lines one below the other.
type block struct {
	first, last int    // lines; 0 is none
	of          string // the first name in the line below: what it may be about
	text        strings.Builder
}

// add appends a comment to the block, and reports false when it is not part of it.
func (b *block) add(line int, literal string) bool {
	text, ok := strings.CutPrefix(literal, "//")
	if b.first > 0 && (line != b.last+1 || !ok) {
		return false
	}
	if b.first == 0 {
		b.first = line
	}
	b.last = line + strings.Count(literal, "\n")
	b.text.WriteString(strings.TrimSpace(text))
	b.text.WriteByte('\n')
	return true
}

var output = regexp.MustCompile(`^// (Unordered o|O)utput:`)

// headless is a sentence whose subject is a clause, as "What ends something is never refused."
var headless = regexp.MustCompile(
	`(?:^|[.!?]\s)((?:What|Who|Whoever|Whatever|Whose|Whether|How|Which)\s[^.?!]*[.?!]?)`,
)

func (b *block) check(report func(int, string)) {
	text := b.text.String()
	for _, m := range headless.FindAllStringSubmatchIndex(text, -1) {
		sentence := strings.ReplaceAll(text[m[2]:m[3]], "\n", " ")
		name, _, _ := strings.Cut(sentence, " ")
		if strings.HasSuffix(strings.TrimSpace(sentence), "?") || m[2] == 0 && name == b.of {
			continue
		}
		line := b.first + strings.Count(text[:m[2]], "\n")
		report(line, fmt.Sprintf("begin with the noun: %.60q", sentence))
	}
}
