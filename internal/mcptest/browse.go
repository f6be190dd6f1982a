package mcptest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browsers are the names of the commands of headless Chromium.
var browsers = []string{
	"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
	"chrome",
}

// browsing bounds the work of a browser on a page, which takes a second or two.
const browsing = 2 * time.Minute

// Browse runs a headless browser with flags on a page with this content, and returns its output.
// Without a browser the test is skipped.
func Browse(t *testing.T, page []byte, flags ...string) []byte {
	t.Helper()
	program := ""
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skipf("no browser here: none of %s", strings.Join(browsers, ", "))
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, page, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), browsing)
	defer cancel()
	all := append([]string{"--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
		"--user-data-dir=" + filepath.Join(dir, "profile")}, flags...)
	if os.Geteuid() == 0 {
		all = append(all, "--no-sandbox") // root cannot set up the sandbox; the page is ours
	}
	cmd := exec.CommandContext(ctx, program, append(all, "file://"+file)...)
	cmd.Env = append(os.Environ(), "HOME="+dir)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, &said)
	}
	return out.Bytes()
}
