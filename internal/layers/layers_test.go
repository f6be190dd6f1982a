package layers

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "mcpd"
	root   = "../.." // the project's root, from this folder
)

// imports maps a package's folder to the import paths of its files, without tests: imports of tests
// are not part of the program.
type imports map[string][]string

func TestImportsFollowTheLayers(t *testing.T) {
	found, err := read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatalf("no packages below %s", root)
	}
	for _, finding := range check(found) {
		t.Error(finding)
	}
}

// The checker fails for one planted import of each kind of rule.
func TestPlantedImportsAreFound(t *testing.T) {
	tests := []struct {
		pkg, imports string
		want         string // "" means allowed
	}{
		{"protocol/session", "mcpd/protocol/jsonrpc", ""},
		{"protocol/session", "mcpd/protocol/inflight", "state machines"},
		{"protocol/jsonrpc", "mcpd/protocol", "knows no MCP"},
		{"protocol", "mcpd/protocol/session", "stand below"},
		{"protocol", "net/http", "HTTP ends"},
		{"protocol", "log/slog", "do not log"},
		{"supervisor/otp", "mcpd/internal/fault", ""},
		{"supervisor/otp", "mcpd/protocol", "nothing of MCP"},
		{"supervisor/otp", "github.com/asynkron/protoactor-go/actor", ""},
		{"actors/request", "github.com/asynkron/protoactor-go/actor", "written against otp"},
		{"actors/request", "mcpd/supervisor/otp", ""},
		{"actors/request", "mcpd/supervisor", "downward only"},
		{"actors/request", "mcpd/actors/server", "downward only"},
		{"actors/server", "mcpd/actors/request", ""},
		{"transport/stdio", "mcpd/transport", ""},
		{"transport/stdio", "mcpd/gateway/auth", "never import one another"},
		{"telemetry/admin", "mcpd/telemetry", ""},
		{"telemetry", "mcpd/actors/client", "never import one another"},
		{"telemetry", "github.com/thejerf/suture/v4", "needs no import"},
		{"gateway/quota", "github.com/lmittmann/tint", "what a log line looks like"},
		{"supervisor", "mcpd/actors/server", ""},
		{"supervisor", "mcpd/chaos", "nothing above"},
		{"bench", "mcpd/internal/load", ""},
		{"bench", "mcpd/chaos", "do not import one another"},
		{"cmd/mcpd", "mcpd/bench", ""},
		{"gateway/quota", "strings", ""},
		{"helpers", "strings", "has no row"},
		{"telemetry", "example.com/handy", "has no row"},
		{"telemetry", "github.com/lmittmann/tinted", "has no row"},
	}
	for _, test := range tests {
		got := strings.Join(check(imports{test.pkg: {test.imports}}), "\n")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s importing %s: got %q, want %q", test.pkg, test.imports, got, test.want)
		}
	}
}

func TestReadSkipsTestsAndOtherModules(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"a/a.go":            "package a\nimport \"fmt\"\n",
		"a/a_test.go":       "package a\nimport \"testing\"\n",
		"a/testdata/x/x.go": "package x\nimport \"os\"\n",
		"tools/go.mod":      "module tools\n",
		"tools/b/b.go":      "package b\nimport \"os\"\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := read(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	if want := (imports{"a": {"fmt"}}); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("read = %v, want %v", got, want)
	}
}

// A row after a wider row would never apply.
func TestEveryRowIsReachable(t *testing.T) {
	for _, table := range [][]rule{moduleRules, importRules} {
		for i, r := range table {
			for _, before := range table[:i] {
				if matches(before.pkg, strings.Replace(r.pkg, "/...", "/any", 1)) {
					t.Errorf("%s: hidden by the row of %s", r.pkg, before.pkg)
				}
			}
			if r.reason == "" {
				t.Errorf("%s: says no reason", r.pkg)
			}
		}
	}
}

func check(found imports) []string {
	var out []string
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		own, ok := find(moduleRules, pkg)
		if !ok {
			out = append(out, fmt.Sprintf("%s has no row in internal/layers: a new folder is a decision",
				pkg))
			continue
		}
		for _, imported := range found[pkg] {
			if reason := refuse(pkg, own, imported); reason != "" {
				out = append(out, fmt.Sprintf("%s imports %s: %s", pkg, imported, reason))
			}
		}
	}
	return out
}

// refuse returns why pkg may not import this path, or "".
func refuse(pkg string, own rule, imported string) string {
	if inside, ok := strings.CutPrefix(imported, module+"/"); ok {
		below := strings.HasSuffix(own.pkg, "/...") && strings.HasPrefix(inside, pkg+"/")
		if below || listed(own.allowed, inside) {
			return ""
		}
		return own.reason
	}
	r, named := find(importRules, imported)
	switch {
	case named && listed(r.allowed, pkg):
		return ""
	case named:
		return r.reason
	case strings.Contains(strings.Split(imported, "/")[0], "."):
		return "it has no row in internal/layers: a new dependency is a decision"
	}
	return "" // the rest of the standard library
}

func find(table []rule, pkg string) (rule, bool) {
	for _, r := range table {
		if matches(r.pkg, pkg) {
			return r, true
		}
	}
	return rule{}, false
}

func listed(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, pkg) })
}

func matches(pattern, pkg string) bool {
	folder, below := strings.CutSuffix(pattern, "/...")
	return pkg == folder || below && strings.HasPrefix(pkg, folder+"/")
}

// read returns the imports of the packages of the module in tree.
func read(tree fs.FS) (imports, error) {
	out := make(imports)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(tree, name)
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder := path.Dir(name)
		if _, seen := out[folder]; !seen {
			out[folder] = nil // a package without imports counts too
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if !slices.Contains(out[folder], imported) {
				out[folder] = append(out[folder], imported)
			}
		}
		return nil
	})
	return out, err
}

// enter skips the folders that the go command skips, and other modules.
func enter(tree fs.FS, name string) error {
	base := path.Base(name)
	if name == "." {
		return nil
	}
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(tree, path.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}
