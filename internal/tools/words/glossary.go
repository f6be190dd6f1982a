package main

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// architecture is the page with the glossary.
const architecture = "docs/ARCHITECTURE.md"

// terms returns the terms of the glossary, by line.
func terms(page string) map[int]string {
	found := map[int]string{}
	in := false
	for n, line := range strings.Split(page, "\n") {
		cells := strings.Split(line, "|")
		switch {
		case strings.HasPrefix(line, "## "):
			in = line == "## Glossary"
		case in && len(cells) > 3 && strings.TrimSpace(cells[1]) != "term" &&
			!strings.HasPrefix(cells[1], "---"):
			found[n+1] = strings.TrimSpace(cells[1])
		}
	}
	return found
}

// checkGlossary reports terms of the glossary that no Go file uses. texts are these files.
func checkGlossary(tree fs.FS, texts []string) (found []finding, err error) {
	page, err := fs.ReadFile(tree, architecture)
	if err != nil {
		return nil, err
	}
	all := terms(string(page))
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no glossary", architecture)
	}
	for line, term := range all {
		word := regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(regexp.QuoteMeta(term), " ", `\s+(?://\s*)?`))
		used := false
		for _, text := range texts {
			if used = word.MatchString(text); used {
				break
			}
		}
		if !used {
			found = append(found, finding{architecture, line, "nothing uses the term " + term})
		}
	}
	return found, nil
}
