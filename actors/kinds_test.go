package actors_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcpd/protocol"
)

// Every method of a message that a server can send in any revision has a row in the table of
// recipients (docs/ARCHITECTURE.md), and the row names an existing test.
func TestEveryKindHasAnAudience(t *testing.T) {
	text, err := os.ReadFile("../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Who hears what a server says")
	table, _, _ = strings.Cut(table, "\n## ")
	kinds := map[string]bool{}
	for _, line := range strings.Split(table, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "---") || strings.HasPrefix(cells[1], " what") {
			continue
		}
		for _, m := range regexp.MustCompile("`([a-z]+(/[a-zA-Z_]+)*)`").FindAllStringSubmatch(cells[1],
			-1) {
			kinds[m[1]] = true
		}
		if test := strings.Trim(cells[3], " `"); !exists(test) {
			t.Errorf("%s: there is no test %q", cells[1], test)
		}
	}
	for _, name := range protocol.MethodNames() {
		m, _ := protocol.LookupMethod(name)
		for _, v := range protocol.Versions() {
			if m.Allows(v, protocol.Server) && !kinds[name] {
				t.Errorf("%s of %s: nothing says who may hear it", name, v)
			}
		}
	}
}

// exists finds a test by its package and name.
func exists(test string) bool {
	pkg, name, _ := strings.Cut(test, ".")
	files, _ := filepath.Glob("../" + pkg + "/*_test.go")
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), "func "+name+"(") {
			return true
		}
	}
	return false
}
