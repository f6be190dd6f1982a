package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// broken are programs that cannot replace a host. Each make function replaces a good program by a
// broken one.
var broken = []struct {
	name, text string
	make       func(t *testing.T, program string)
}{
	{"missing", "no such file", func(t *testing.T, program string) { must(t, os.Remove(program)) }},
	{"not executable", "permission denied", func(t *testing.T, program string) {
		must(t, os.Chmod(program, 0o600))
	}},
	// The system returns an exec format error, or the program crashes.
	{"half-written", "", func(t *testing.T, program string) {
		whole, err := os.ReadFile(program)
		must(t, err)
		replace(t, program, whole[:len(whole)/2])
	}},
	{"no program", "exec format error", func(t *testing.T, program string) {
		replace(t, program, []byte("\x00\x01"))
	}},
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// replace puts another file in the place of a program, as an upgrade does.
func replace(t *testing.T, program string, text []byte) {
	t.Helper()
	must(t, os.WriteFile(program+".new", text, 0o700))
	must(t, os.Rename(program+".new", program))
}

// programCopy returns a copy of mcpd from which a host can be started.
func programCopy(t *testing.T) (path string, text []byte) {
	t.Helper()
	text, err := os.ReadFile(mcptest.Mcpd(t))
	must(t, err)
	path = filepath.Join(t.TempDir(), "mcpd")
	replace(t, path, text)
	return path, text
}

func withServer(t *testing.T) string {
	return "tenants: {default: {servers: {s: {command: " + mcptest.Server(t) + "}}}}"
}

// call calls a tool as a user would, and returns a function that waits for its answer.
func call(t *testing.T, h *mcptest.Host, tool, argument, want string) (answered func()) {
	t.Helper()
	var out strings.Builder
	cmd := exec.Command(mcptest.Mcpd(t), "call", "s", tool, "--arg", argument)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "MCPD_KEY=", "MCPD_URL="+h.MCP), &out, &out
	must(t, cmd.Start())
	return func() {
		t.Helper()
		if err := cmd.Wait(); err != nil || strings.TrimSpace(out.String()) != want {
			t.Errorf("%s: got %v, %s", tool, err, out.String())
		}
	}
}

func serves(t *testing.T, h *mcptest.Host) {
	t.Helper()
	call(t, h, "echo", "message=here", "here")()
}

// await waits until a condition holds.
func await(t *testing.T, label string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute: not %s", label)
		}
	}
}

// awaitEvents waits until the log has an event the given number of times.
func awaitEvents(t *testing.T, h *mcptest.Host, event string, times int) {
	t.Helper()
	await(t, fmt.Sprintf("%d times %s in the log", times, event), func() bool {
		return strings.Count(h.Log(), `"event":"`+event+`"`) >= times
	})
}

func metrics(t *testing.T, h *mcptest.Host) string {
	t.Helper()
	r, err := http.Get(h.Admin + "/metrics")
	must(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	must(t, err)
	return string(text)
}

// awaitCall waits until a call is in flight at a server.
func awaitCall(t *testing.T, h *mcptest.Host) {
	t.Helper()
	await(t, "a call in flight", func() bool {
		return mcptest.SumMetric(t, metrics(t, h), "mcpd_requests_in_flight{") > 0
	})
}

// A host whose program cannot be started again continues as before, and is replaced once the
// program works.
func TestNoRestartWithABrokenProgram(t *testing.T) {
	program, text := programCopy(t)
	host := mcptest.Start(t, mcptest.HostOptions{Binary: program, Config: withServer(t)})
	for i, b := range append(broken, struct {
		name, text string
		make       func(*testing.T, string)
	}{"another program", "is not mcpd", func(t *testing.T, program string) {
		replace(t, program, []byte("#!/bin/sh\necho hello\n"))
	}}) {
		b.make(t, program)
		must(t, syscall.Kill(host.PID(), syscall.SIGUSR2))
		awaitEvents(t, host, "restart_refused", i+1)
		log := host.Log()
		if last := log[strings.LastIndex(log, "restart_refused"):]; !strings.Contains(last, b.text) {
			t.Errorf("%s: %s", b.name, last)
		}
		if strings.Contains(log, `"event":"draining"`) {
			t.Fatalf("%s: it drains", b.name)
		}
		serves(t, host)
		replace(t, program, text)
	}
	host.Restart()
	serves(t, host)
}

// A host whose program breaks while the host drains serves on in the same process, with the same
// socket.
func TestHostServesOnWhenItsProgramBreaks(t *testing.T) {
	for _, b := range broken {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			program, text := programCopy(t)
			host := mcptest.Start(t, mcptest.HostOptions{Binary: program, Config: withServer(t)})
			at := host.MCP
			file := filepath.Join(t.TempDir(), "go")
			held := call(t, host, "hold", "file="+file, "held")
			awaitCall(t, host)
			must(t, syscall.Kill(host.PID(), syscall.SIGUSR2))
			awaitEvents(t, host, "draining", 1)
			b.make(t, program)
			must(t, os.WriteFile(file, nil, 0o600))
			held()
			awaitEvents(t, host, "restart_refused", 1)
			host.MCP = at
			serves(t, host)
			replace(t, program, text)
			host.Restart()
			if host.MCP != at {
				t.Errorf("the listener was at %s and is at %s", at, host.MCP)
			}
			serves(t, host)
		})
	}
}

// The check of a program that does not answer ends with the host's context, and in time.
func TestCheckOfAProgramEnds(t *testing.T) {
	program := filepath.Join(t.TempDir(), "mcpd")
	replace(t, program, []byte("#!/bin/sh\nsleep 60 &\nwait\n"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if out, err := runProgram(ctx, (*exec.Cmd).Run, program, "version"); err == nil {
		t.Errorf("it has answered %q", out)
	}
	replace(
		t, program, []byte("#!/bin/sh\nyes | head -c 1000000\nyes | head -c 1000000 >&2\nexit 3\n"),
	)
	if _, err := runProgram(t.Context(), (*exec.Cmd).Run, program, "version"); err == nil ||
		len(err.Error()) > 2*maxCheckOutput+1000 {
		t.Errorf("got %v", err)
	}
}
