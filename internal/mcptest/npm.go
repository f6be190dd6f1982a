package mcptest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// locked has the npm packages that tests use, and a module for each generation of the official
// TypeScript SDK: sdk1.mjs and sdk2.mjs have the same functions. The servers in npm/more are used
// only by make parity. They have a lock file of their own, because together with the newest clients
// they would get other versions of their dependencies. The folder npm/suite is for the servers of
// the conformance suite.
//
//go:embed npm
var locked embed.FS

// NPMTime bounds the installation of packages: hundreds of megabytes from the registry if they are
// not cached.
const NPMTime = 5 * time.Minute

// locks are the folders of locked with a lock file.
var locks = []string{"npm", "npm/more", SuiteLock}

// SuiteLock is the lock of the packages of the conformance suite's servers.
const SuiteLock = "npm/suite"

// Packages installs the packages that a lock file pins, at most once for each lock on a machine,
// and returns the folder that has them in node_modules. Install scripts do not run.
func Packages(lock string) (string, error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	text, err := locked.ReadFile(lock + "/package-lock.json")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	dir := filepath.Join(cache, "mcpd-interop", hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, install(lock, dir)
}

// install first fills a temporary folder, so that an incomplete installation is never used.
func install(lock, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "install-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := copyLocked(lock, work); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), NPMTime)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = work
	if output, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %s: %w", strings.TrimSpace(string(output)), err)
	}
	if err := os.Rename(work, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

func copyLocked(lock, dir string) error {
	files, err := fs.Sub(locked, lock)
	if err != nil {
		return err
	}
	return os.CopyFS(dir, files)
}

// Modules returns the folder of the packages that every test run uses. Without Node or a registry
// the test is skipped; under CI=true it fails.
func Modules(t testing.TB) string {
	t.Helper()
	return modules(t, locks[0])
}

func modules(t testing.TB, lock string) string {
	t.Helper()
	dir, err := Packages(lock)
	switch {
	case err == nil:
		return dir
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	}
	t.Skipf("needs Node, and the npm registry once: %v", err)
	return ""
}

// Script prepares a script and returns a function that runs it once with the given standard input
// and arguments, and returns its standard output. The script may import the packages, and
// ./sdk1.mjs or ./sdk2.mjs, which open sessions with the official TypeScript clients.
func Script(t testing.TB, within time.Duration,
	script string) (run func(stdin []byte, args ...string) ([]byte, error)) {
	t.Helper()
	file := ScriptFile(t, script)
	return func(stdin []byte, args ...string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		node := exec.CommandContext(ctx, "node", append([]string{file}, args...)...)
		node.Stdin = bytes.NewReader(stdin)
		var stderr strings.Builder
		node.Stderr = &stderr
		out, err := node.Output()
		if err != nil {
			err = fmt.Errorf("%s %s: %w\n%s", script, strings.Join(args, " "), err, stderr.String())
		}
		return out, err
	}
}

// ScriptFile is like Script for a caller that runs node itself: it returns the path of the prepared
// script.
func ScriptFile(t testing.TB, script string) string {
	t.Helper()
	return ScriptFileWith(t, locks[0], script)
}

// ScriptFileWith is like ScriptFile, with the packages of another lock.
func ScriptFileWith(t testing.TB, lock, script string) string {
	t.Helper()
	work := t.TempDir()
	file := filepath.Join(work, "main.mjs")
	text, err := os.ReadFile(script)
	if err == nil {
		err = errors.Join(copyLocked(lock, work), os.WriteFile(file, text, 0o600),
			os.Symlink(filepath.Join(modules(t, lock), "node_modules"), filepath.Join(work, "node_modules")))
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Package returns the folder of a package.
func Package(t testing.TB, name string) string {
	t.Helper()
	lock, _ := pinned(t, name)
	return filepath.Join(modules(t, lock), "node_modules", name)
}

// PackageVersion returns the version of a package that its lock file pins.
func PackageVersion(t testing.TB, name string) string {
	t.Helper()
	_, version := pinned(t, name)
	return version
}

// PackageVersionIn returns the version of a package that the given lock file pins.
func PackageVersionIn(t testing.TB, lock, name string) string {
	t.Helper()
	version := pins(t, lock)[name]
	if version == "" {
		t.Fatalf("%s has no %s", lock, name)
	}
	return version
}

// pinned returns the first lock file that has a package, and the version there.
func pinned(t testing.TB, name string) (lock, version string) {
	t.Helper()
	for _, lock := range locks {
		if found := pins(t, lock)[name]; found != "" {
			return lock, found
		}
	}
	t.Fatalf("no lock file has %s", name)
	return "", ""
}

// pins returns the versions of a lock file by the names of the packages.
func pins(t testing.TB, lock string) map[string]string {
	t.Helper()
	text, err := locked.ReadFile(lock + "/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal(text, &parsed); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for path, found := range parsed.Packages {
		versions[strings.TrimPrefix(path, "node_modules/")] = found.Version
	}
	return versions
}
