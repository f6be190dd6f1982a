package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documentedExit is one way in which a command ends. Scripts declare it by a line that begins with
// "#|", followed by the command.
type documentedExit struct {
	script, command, label string
	code                   int
}

// documentedExits reads the endings that the scripts of testdata declare.
func documentedExits(t *testing.T) (list []documentedExit) {
	t.Helper()
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var open []documentedExit
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			switch {
			case strings.HasPrefix(line, "-- "): // the files that the script uses
			case strings.HasPrefix(line, "#|"):
				command, label, ok := strings.Cut(strings.TrimPrefix(line, "#|"), "|")
				if !ok {
					t.Fatalf("%s: %q is not «#| commands | what happens»", name, line)
				}
				open = append(open, documentedExit{
					script: filepath.Base(name), command: strings.TrimSpace(command),
					label: strings.TrimSpace(label),
				})
			case len(open) > 0 && len(words) > 2 && (words[0] == "code" || words[0] == "end"):
				at := map[string]int{"code": 1, "end": 2}[words[0]]
				for _, e := range open {
					if _, err := fmt.Sscan(words[at], &e.code); err != nil {
						t.Fatalf("%s: %q: %v", name, line, err)
					}
					list = append(list, e)
				}
				open = nil
			}
		}
		if len(open) > 0 {
			t.Errorf("%s: no command shows %q", name, open[0].label)
		}
	}
	return list
}

// exitPage renders docs/exit-codes.gen.md: the meaning of each code, and the endings that the
// scripts declare.
func exitPage(list []documentedExit) string {
	var page strings.Builder
	page.WriteString(`<!-- Generated from cmd/mcpd: go test ./cmd/mcpd -run ExitCodes -update. Do not edit. -->

# Exit codes

All commands use the same codes, taken from sysexits where it defines one. [process-end.md](process-end.md)
lists everything that ends ` + "`mcpd serve`" + `.

| code | meaning |
|---|---|
`)
	for _, e := range exitCodes {
		fmt.Fprintf(&page, "| %d | %s |\n", e.code, e.full)
	}
	page.WriteString(`
## Situations and their exit codes

Each row names the script of ` + "`cmd/mcpd/testdata`" + ` that runs its command.

| code | command | what happens | script |
|---|---|---|---|
`)
	for _, e := range exitCodes {
		for _, way := range list {
			if way.code == e.code {
				fmt.Fprintf(&page, "| %d | %s | %s | %s |\n", way.code, way.command, way.label, way.script)
			}
		}
	}
	return page.String()
}

// docs/exit-codes.gen.md, README.md and the help name the same codes, and scripts show each of
// them.
func TestExitCodesAreDocumented(t *testing.T) {
	list := documentedExits(t)
	slices.SortStableFunc(list, func(a, b documentedExit) int {
		return strings.Compare(a.command, b.command)
	})
	shown := map[int]bool{}
	for _, e := range list {
		shown[e.code] = true
	}
	known := map[int]bool{}
	for _, e := range exitCodes {
		known[e.code] = true
		if !shown[e.code] {
			t.Errorf("no script shows what ends with %d", e.code)
		}
	}
	for code := range shown {
		if !known[code] {
			t.Errorf("%d has no meaning", code)
		}
	}
	if !strings.Contains(page(t, "README.md"), "\n"+exitLine()) {
		t.Errorf("README.md does not contain\n%s", exitLine())
	}
	file, want := filepath.Join(docsRoot, "docs/exit-codes.gen.md"), exitPage(list)
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s is not what the scripts show (%v): run with -update", file, err)
	}
}

var codeLine = regexp.MustCompile(`(?m)^code (\d+) (?:mcpd|sh) `)

// No script expects an unknown code.
func TestScriptsExpectKnownExitCodes(t *testing.T) {
	known := map[string]bool{}
	for _, e := range exitCodes {
		known[fmt.Sprint(e.code)] = true
	}
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range codeLine.FindAllStringSubmatch(string(text), -1) {
			if !known[m[1]] {
				t.Errorf("%s expects %s", name, m[1])
			}
		}
	}
}
