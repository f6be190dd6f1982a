package interop

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// If nothing reads the host's log and the pipe is full, the host still starts, and stops when it is
// told to.
func TestHostWhoseLogIsNotReadEnds(t *testing.T) {
	unread, log, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	defer log.Close()
	if err := log.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Write(make([]byte, 2<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the pipe is not full: %v", err)
	}

	home := t.TempDir()
	host := exec.Command(mcptest.Mcpd(t), "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
		"--state-dir", filepath.Join(home, "state"))
	host.Dir, host.Stderr = home, log
	host.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_RUNTIME_DIR="+home,
		"MCPD_CONFIG=")
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- host.Wait() }()
	defer host.Process.Kill()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if tokens, _ := filepath.Glob(filepath.Join(home, "mcpd", "admin-*.tokens")); len(tokens) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the host does not listen")
		}
	}
	if err := host.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the host ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the host does not end")
	}
}
