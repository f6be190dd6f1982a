package chaos

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpd/chaos/record"
	"mcpd/internal/mcptest"
)

// F61, I12: a host that is killed under load is started again by the command, and the same clients
// continue in the same sessions.
func TestHostThatIsKilledIsStartedAgain(t *testing.T) {
	t.Parallel()
	trial, start := openOwned(t, trialConfig(t, ""))
	r, code, out := trial.run(`
faults:
  - {do: host.kill, after: 500ms, for: 200ms}
load: {rate: 50, sessions: 2, timeout: 15s, bystanders: 0}
expect: {blast: [mcpd/**]}
`, "--start", start)
	for _, id := range []string{"I1", "I2", "I7", "I12", "E1"} {
		for _, v := range r.Verdicts {
			if v.ID == id && v.Result != record.Pass {
				t.Errorf("%s: %s, %s", id, v.Result, v.Found)
			}
		}
	}
	if len(r.Verdicts) == 0 || len(failed(r)) > 0 || code != 0 {
		t.Errorf("exit code %d, failed %v\n%s", code, failed(r), out)
	}
}

// openOwned starts a host that a run may end and start again, and returns the command that starts
// it.
func openOwned(t *testing.T, text string) (a *trial, start string) {
	t.Helper()
	dir := t.TempDir()
	a = &trial{&arena{t: t, home: dir}, t.TempDir()}
	a.admin.Transport = &http.Transport{DisableKeepAlives: true}
	config := filepath.Join(dir, "mcpd.yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := port(t)
	a.Host = &mcptest.Host{Admin: "http://" + addr}
	start = fmt.Sprintf(
		"XDG_RUNTIME_DIR=%s exec %s serve --chaos --config %s --listen %s --admin %s --state-dir "+
			"%s/state >>%s/log 2>&1", dir, mcptest.Mcpd(t), config, port(t), addr, dir, dir,
	)
	first := exec.Command("/bin/sh", "-c", start)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	// ends with the process; waited for below. A killed host is gone only after it was waited for
	go func() {
		defer close(over)
		_ = first.Wait()
	}()
	t.Cleanup(func() {
		a.endNext()
		_ = first.Process.Kill() // in case it never answered
		<-over
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("log of mcpd:\n%s", log)
		}
	})
	a.eventually("ready", func() bool {
		r, err := a.admin.Get(a.Admin + "/readyz")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	a.readToken()
	return a, start
}

// port returns an address of this machine at which nothing listens.
func port(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// endNext ends the host that the command has started, and waits until it is gone. This process is
// not its parent and cannot wait for it.
func (a *arena) endNext() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Admin+"/admin/v1/config", nil)
	if err != nil {
		a.t.Error(err)
		return
	}
	answer, err := a.admin.Do(r)
	if err != nil {
		return // there is none
	}
	defer answer.Body.Close()
	var pid int
	var body strings.Builder
	if err := answer.Write(&body); err != nil {
		a.t.Error(err)
	}
	_, rest, _ := strings.Cut(strings.ReplaceAll(body.String(), " ", ""), `"pid":`)
	if _, err := fmt.Sscan(rest, &pid); err != nil || pid == 0 {
		a.t.Errorf("no process in %s", body.String())
		return
	}
	_ = syscall.Kill(pid, syscall.SIGTERM)
	for end := time.Now().Add(patience); syscall.Kill(pid, 0) == nil &&
		!strings.Contains(state(pid), "Z"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			return
		}
	}
}

// state returns the state of a process, or nothing if it does not exist.
func state(pid int) string {
	if s := stat(pid); s != nil {
		return s[0]
	}
	return ""
}
