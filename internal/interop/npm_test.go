package interop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// npmTime bounds the installation of the packages, 50 MB from the registry when no cache has them.
const npmTime = 3 * time.Minute

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

var installed = sync.OnceValues(func() (string, error) {
	if _, err := exec.LookPath("npx"); err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	lock, err := os.ReadFile("testdata/npm/package-lock.json")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	dir := filepath.Join(cache, "mcpd-interop", hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, install(dir)
})

// install fills a folder of its own first, so that a half-done one is never taken for the whole.
func install(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "install-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, os.DirFS("testdata/npm")); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), npmTime)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = work
	if output, err := npm.CombinedOutput(); err != nil {
		return errors.Join(errors.New("npm ci: "+strings.TrimSpace(string(output))), err)
	}
	if err := os.Rename(work, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

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
