package interop

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcpd/internal/mcptest"
)

// packages installs what testdata/npm locks, at most once for each lock on a machine. Where there is no Node or no registry the test is skipped; under CI=true it fails.
func packages(t *testing.T) (dir string) {
	t.Helper()
	dir, err := installed()
	switch {
	case err == nil:
		return dir
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	}
	t.Skipf("needs Node, and the npm registry once: %v", err)
	return ""
}

var installed = sync.OnceValues(func() (string, error) { return mcptest.Packages("testdata/npm") })

// seen is what a script reports.
type seen struct {
	Server  struct{ Name string }
	Tools   []string
	Results []struct {
		Content []struct{ Type, Text, URI string }
		IsError bool
	}
	Prompts, Resources []string
	Instructions       string
	Progress           int
	Revision           string
}

// script runs one of the clients against an endpoint.
func script(t *testing.T, name, url, key string, calls ...map[string]any) seen {
	t.Helper()
	list, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	work := t.TempDir()
	if err := errors.Join(
		os.CopyFS(work, os.DirFS("testdata/npm")),
		os.Symlink(filepath.Join(packages(t), "node_modules"), filepath.Join(work, "node_modules")),
	); err != nil {
		t.Fatal(err)
	}
	node := exec.CommandContext(ctx, "node", filepath.Join(work, name), url, key, string(list))
	var stderr strings.Builder
	node.Stderr = &stderr
	out, err := node.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, stderr.String())
	}
	var s seen
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("%s: %v in %s", name, err, out)
	}
	return s
}

// text is the first text of a result.
func (s seen) text(i int) string {
	if i >= len(s.Results) || len(s.Results[i].Content) == 0 {
		return ""
	}
	return s.Results[i].Content[0].Text
}
