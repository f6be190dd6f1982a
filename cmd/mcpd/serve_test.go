package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"mcpd/internal/mcptest"
)

// A host continues to run after the reader of its log has gone, and stops in order.
func TestHostOutlivesTheReaderOfItsLog(t *testing.T) {
	home := t.TempDir()
	cmd := exec.Command(mcptest.Mcpd(t), "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
		"--state-dir", home, "--log-level", "debug")
	cmd.Dir, cmd.Env = home, append(os.Environ(), "XDG_RUNTIME_DIR="+home, "XDG_CONFIG_HOME="+home,
		"MCPD_CONFIG=", quickExit)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(log); lines.Scan() &&
		!strings.Contains(lines.Text(), "config_loaded"); {
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the host ended with %v, want 0", err)
	}
}
