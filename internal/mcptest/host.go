package mcptest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Bounds of a host under test.
const (
	// hostStart bounds the time from spawn to ready. A start takes well below a second; the margin is
	// for a busy machine.
	hostStart = 30 * time.Second
	// hostStop is above the sum of the tree's stop times: 25 s for listeners, 20 s for sessions,
	// mostly in parallel.
	hostStop = 60 * time.Second
	// maxListeners is how many listeners a host may have, including the admin listener.
	maxListeners = 8
	// maxLog bounds the end of the log that is kept, in bytes.
	maxLog = 1 << 20
)

// HostOptions say which host to start. The zero value is `mcpd serve` with its embedded defaults.
type HostOptions struct {
	// Config is the text of the configuration file, which may set `listen`. If it is empty, the host
	// runs without one.
	Config string
	// State is the state directory, for example that of an earlier host. If it is empty, a new one is
	// used.
	State  string
	Args   []string // further arguments of serve
	Env    []string // further environment variables, as in os/exec
	Binary string   // another build of the host; empty is Mcpd
	// Line gets each line of the log, in order; Log returns only the end of the log.
	Line func(line []byte)
}

// Host is a running mcpd, on ports of its own.
type Host struct {
	// MCP and Admin are the base URLs of the first MCP listener and of the admin listener, without a
	// slash at the end.
	MCP, Admin string
	State      string // the state directory

	t       testing.TB
	command *exec.Cmd
	line    func([]byte) // HostOptions.Line, or nil
	// up has one entry for each listener that has started.
	up    chan listener
	ended chan struct{} // closed when the process is gone and its log is read

	mu     sync.Mutex // guards the fields below
	log    []byte
	stop   bool  // the test has ended it on purpose
	exited error // result of Wait; set before ended is closed
}

// listener is the log's event listener_up, which says that the host accepts connections.
type listener struct {
	Event string `json:"event"`
	Name  string `json:"name"`
	Addr  string `json:"addr"`
}

// Start starts the host and returns when it is ready. At the end of the test the host is stopped;
// an exit code other than 0 fails the test. The log of a failed test is shown.
func Start(t testing.TB, o HostOptions) *Host {
	t.Helper()
	h := StartUnready(t, o)
	h.ready()
	return h
}

// StartUnready is Start for a host that listens but will not be ready.
func StartUnready(t testing.TB, o HostOptions) *Host {
	t.Helper()
	home := t.TempDir()
	h := &Host{
		t: t, State: o.State, line: o.Line, up: make(chan listener, maxListeners),
		ended: make(chan struct{}),
	}
	if h.State == "" {
		h.State = filepath.Join(home, "state")
	}
	args := []string{"serve", "--admin", "127.0.0.1:0", "--log-format", "json", "--state-dir", h.State}
	if !strings.Contains("\n"+o.Config, "\nlisten:") {
		args = append(args, "--listen", "127.0.0.1:0")
	}
	if o.Config != "" {
		file := filepath.Join(home, "mcpd.yaml")
		if err := os.WriteFile(file, []byte(o.Config), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", file)
	}
	if o.Binary == "" {
		o.Binary = Mcpd(t)
	}
	h.command = exec.Command(o.Binary, append(args, o.Args...)...)
	h.command.Dir = home // neither this folder nor the folders below have a configuration
	h.command.Env = append(os.Environ(), append([]string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_RUNTIME_DIR=" + home,
		"MCPD_CONFIG=", "MCPD_ADMIN=", "MCPD_KEY=",
	}, o.Env...)...)
	h.run()
	t.Cleanup(h.cleanup)
	h.listening()
	return h
}

// run starts the process and the goroutine that reads its log until it is gone.
func (h *Host) run() {
	h.t.Helper()
	stderr, err := h.command.StderrPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.command.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { // ends with the process; cleanup waits for it
		defer close(h.ended)
		lines := bufio.NewReader(stderr)
		for {
			line, err := lines.ReadBytes('\n')
			h.note(line)
			if err != nil {
				break
			}
		}
		err := h.command.Wait()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.exited = err
	}()
}

func (h *Host) note(line []byte) {
	if h.line != nil {
		h.line(line)
	}
	h.mu.Lock()
	h.log = append(h.log, line...)
	h.log = h.log[max(0, len(h.log)-maxLog):]
	h.mu.Unlock()
	var l listener
	if json.Unmarshal(line, &l) == nil && l.Event == "listener_up" {
		select {
		case h.up <- l:
		default: // a restarted listener, for which nothing waits
		}
	}
}

// listening waits until both listeners have reported their addresses.
func (h *Host) listening() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), hostStart)
	defer cancel()
	for h.MCP == "" || h.Admin == "" {
		select {
		case l := <-h.up:
			switch {
			case l.Name == "mcp" && h.MCP == "" && !strings.HasPrefix(l.Addr, "unix:"):
				h.MCP = "http://" + l.Addr
			case l.Name == "admin":
				h.Admin = "http://" + l.Addr
			}
		case <-h.ended:
			h.t.Fatalf("mcpd ended before it was ready: %v", h.exited)
		case <-ctx.Done():
			h.t.Fatalf("mcpd did not say where it listens within %v", hostStart)
		}
	}
}

// ready waits until the host reports that it is ready.
func (h *Host) ready() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), hostStart)
	defer cancel()
	for status(ctx, h.Admin+"/readyz") != http.StatusOK {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-h.ended:
			h.t.Fatalf("mcpd ended before it was ready: %v", h.exited)
		case <-ctx.Done():
			h.t.Fatalf("mcpd was not ready within %v", hostStart)
		}
	}
}

func status(ctx context.Context, url string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	// leaves no idle connection for a leak check to find
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

// PID returns the process id of the host.
func (h *Host) PID() int { return h.command.Process.Pid }

// Log returns the host's log, at most the last mebibyte.
func (h *Host) Log() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.log)
}

// Stop ends the host as an operator would, with SIGTERM, and returns its exit code.
func (h *Host) Stop() int {
	h.t.Helper()
	return h.Signal(syscall.SIGTERM)
}

// Restart makes the host start its replacement on the same socket, as an operator would with
// SIGUSR2. It returns when the replacement is ready.
func (h *Host) Restart() {
	h.t.Helper()
	for len(h.up) > 0 {
		<-h.up
	}
	h.MCP, h.Admin = "", ""
	if err := h.command.Process.Signal(syscall.SIGUSR2); err != nil {
		h.t.Fatal(err)
	}
	h.listening()
	h.ready()
}

// Kill ends the host abruptly, as a power failure would, with SIGKILL.
func (h *Host) Kill() {
	h.t.Helper()
	h.Signal(syscall.SIGKILL)
}

// Signal sends a signal that ends the host, waits for its end and returns its exit code, or -1 if
// the signal ended it at once.
func (h *Host) Signal(s os.Signal) int {
	h.t.Helper()
	h.mu.Lock()
	h.stop = true
	h.mu.Unlock()
	if err := h.command.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		h.t.Errorf("mcpd: %v", err)
	}
	select {
	case <-h.ended:
	case <-time.After(hostStop):
		h.t.Errorf("mcpd did not stop within %v of %v", hostStop, s)
		_ = h.command.Process.Kill()
		<-h.ended
	}
	return exitCode(h.exited)
}

// cleanup stops a host that the test has not stopped. A host that has ended by itself fails the
// test, whatever its exit code is.
func (h *Host) cleanup() {
	h.mu.Lock()
	stopped := h.stop
	h.mu.Unlock()
	if !stopped {
		select {
		case <-h.ended:
			h.t.Errorf("mcpd ended by itself: %v", h.exited)
		default:
			if code := h.Stop(); code != 0 {
				h.t.Errorf("mcpd exited with %d after SIGTERM: %v", code, h.exited)
			}
		}
	}
	if h.t.Failed() {
		h.t.Logf("log of mcpd:\n%s", strings.TrimRight(h.Log(), "\n"))
	}
}
