package mcptest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testName = regexp.MustCompile(`^([a-z0-9/_]+)\.((?:Test|Benchmark|Fuzz)\w+)(?:/([\w-]+))?$`)

// TestExists finds a test that a document names by the folder of its package, a dot and its
// function, as "protocol.TestGate". A script of testdata may follow after a slash. The argument
// root is the top of the repository.
func TestExists(t testing.TB, root, name string) bool {
	t.Helper()
	m := testName.FindStringSubmatch(name)
	if m == nil {
		return false
	}
	files, err := filepath.Glob(filepath.Join(root, m[1], "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found = found || strings.Contains(string(source), "\nfunc "+m[2]+"(")
	}
	if m[3] != "" {
		_, err = os.Stat(filepath.Join(root, m[1], "testdata", m[3]+".txt"))
	}
	return found && err == nil
}
