package protocol_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var full = flag.Bool("full", false,
	"run what the host does with a build that has one more modern revision")

// nextTables are the tables with a column for each revision, with a substitution that adds a column
// to each row. The added revision has the features of the last one.
var nextTables = map[string]struct{ row, longer string }{
	"features.go": {`(\.\.\.\]bool\{.*, )(\w+)\}`, "$1$2, $2}"},
	"methods.go":  {`(\.\.\.\]cell\{.*, )(\w+)\}`, "$1$2, $2}"},
}

// nextOverlay writes an overlay file for go build. The overlay adds a sixth revision, which is
// modern. Without columns the tables do not change.
func nextOverlay(t *testing.T, columns bool) string {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	edit := func(file string, change func(string) string) {
		source, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		changed := change(string(text))
		if changed == string(text) {
			t.Fatalf("%s has no place for another revision", file)
		}
		to := filepath.Join(dir, file)
		if err := os.WriteFile(to, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[source] = to
	}
	edit("version.go", strings.NewReplacer(
		"	V20260728\n", "	V20260728\n	V20270128\n",
		`"2026-07-28"}`, `"2026-07-28", "2027-01-28"}`,
		"= V20260728\n", "= V20270128\n",
	).Replace)
	for file, table := range nextTables {
		if columns {
			edit(file, func(s string) string {
				return regexp.MustCompile(table.row).ReplaceAllString(s, table.longer)
			})
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}

// The build fails if a revision is added without its cells, in any of the tables.
func TestRevisionWithoutCellsDoesNotBuild(t *testing.T) {
	out, err := exec.Command("go", "build", "-gcflags=-e", "-overlay", nextOverlay(t, false),
		".").CombinedOutput()
	for file := range nextTables {
		if err == nil || !strings.Contains(string(out), file+":") {
			t.Errorf("%s builds: %v\n%s", file, err, out)
		}
	}
}

// With two modern revisions, the host detects servers that speak only one of them. It rewrites
// messages for the new revision as for the previous one.
func TestBuildWithTwoModernRevisions(t *testing.T) {
	if !*full {
		t.Skip("builds much of mcpd anew: run it with -full")
	}
	out, err := exec.Command("go", "test", "-overlay", nextOverlay(t, true), "-count=1", "-v",
		"-run=^(TestServerOfOneModernRevisionIsFoundOut|TestProbe.*|TestServerThatRefuses.*)$",
		"../actors/client").CombinedOutput()
	if err != nil || !strings.Contains(string(out),
		"--- PASS: TestServerOfOneModernRevisionIsFoundOut/2027-01-28") {
		t.Errorf("%v\n%s", err, out)
	}
}
