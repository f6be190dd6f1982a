package mcptest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// NPMTime bounds the installation of packages: hundreds of megabytes from the registry when no
// cache has them.
const NPMTime = 5 * time.Minute

// Packages installs the packages that the lock file in a folder pins, at most once for each lock
// on a machine, and returns the folder that has them in node_modules. Their install scripts do
// not run.
func Packages(folder string) (string, error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	dir := filepath.Join(cache, "mcpd-interop", hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, install(folder, dir)
}

// install fills a folder of its own first, so that a half-done one is never taken for the whole.
func install(folder, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "install-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, os.DirFS(folder)); err != nil {
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
