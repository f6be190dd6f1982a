package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"mcpd/telemetry/admin"
)

// spawned is the key of a script's running programs.
type spawned struct{}

// spawn is a running program of a script.
type spawn struct {
	cmd   *exec.Cmd
	ended chan error // receives the result of Wait, once
}

func cmdSpawn(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: spawn NAME program args…")
	}
	name := args[0]
	stdout, err := os.Create(ts.MkAbs(name + ".out"))
	ts.Check(err)
	defer stdout.Close()
	stderr, err := os.Create(ts.MkAbs(name + ".err"))
	ts.Check(err)
	defer stderr.Close()
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), environ(ts), stdout, stderr
	ts.Check(cmd.Start())
	s := &spawn{cmd, make(chan error, 1)}
	// The goroutine ends with the program, which the script or the function below ends.
	go func() { s.ended <- cmd.Wait() }()
	programs := ts.Value(spawned{}).(map[string]*spawn)
	programs[name] = s
	ts.Defer(func() {
		if programs[name] == s {
			_ = cmd.Process.Kill()
			<-s.ended
			ts.Logf("[%s.err]\n%s", name, ts.ReadFile(name+".err"))
		}
	})
}

// environ returns the script's environment. TestScript does not provide it as a list, so each
// known variable is looked up.
func environ(ts *testscript.TestScript) []string {
	var list []string
	for _, name := range []string{
		"PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
		"STATE_DIRECTORY", "RUNTIME_DIRECTORY", "NO_COLOR",
		"MCPD_CONFIG", "MCPD_URL", "MCPD_ADMIN", "MCPD_KEY", "GOCOVERDIR", "GORACE", "GOMEMLIMIT",
	} {
		if value := ts.Getenv(name); value != "" {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// listening finds the address of a listener in a host's log, in either log format.
var listening = regexp.MustCompile(`"?name"?[:=]"?(mcp|admin)"?,? ?"?addr"?[:=]"?([0-9.]+:[0-9]+)`)

func cmdReady(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: ready NAME")
	}
	s := program(ts, args[0])
	at := map[string]string{}
	waitFor(ts, args[0]+" serving", func() bool {
		select {
		case err := <-s.ended:
			s.ended <- err
			ts.Fatalf("%s ended: %v\n%s", args[0], err, ts.ReadFile(args[0]+".err"))
		default:
		}
		for _, m := range listening.FindAllStringSubmatch(ts.ReadFile(args[0]+".err"), -1) {
			at[m[1]] = m[2]
		}
		if len(at) < 2 {
			return false
		}
		response, err := http.Get("http://" + at["admin"] + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	ts.Setenv("MCPD_URL", "http://"+at["mcp"])
	ts.Setenv("MCPD_ADMIN", at["admin"])
}

func program(ts *testscript.TestScript, name string) *spawn {
	s := ts.Value(spawned{}).(map[string]*spawn)[name]
	if s == nil {
		ts.Fatalf("%s does not run", name)
	}
	return s
}

var signals = map[string]os.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "USR2": syscall.SIGUSR2,
	"KILL": syscall.SIGKILL, "NONE": syscall.Signal(0),
}

func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg || signals[args[1]] == nil {
		ts.Fatalf("usage: signal NAME SIGNAL")
	}
	ts.Check(program(ts, args[0]).cmd.Process.Signal(signals[args[1]]))
}

func cmdEnd(ts *testscript.TestScript, neg bool, args []string) {
	args = append(args, "0", "TERM")[:max(3, len(args))]
	if len(args) == 3 && neg {
		ts.Fatalf("usage: end NAME [N] [SIGNAL]")
	}
	want, signal := args[1], args[2]
	s := program(ts, args[0])
	if sig := signals[signal]; sig != syscall.Signal(0) {
		ts.Check(s.cmd.Process.Signal(sig))
	}
	err := <-s.ended
	delete(ts.Value(spawned{}).(map[string]*spawn), args[0])
	if got := exitCode(err); got != number(ts, want) {
		ts.Fatalf("%s: exit code %d, want %s\n%s", args[0], got, want, ts.ReadFile(args[0]+".err"))
	}
}

func cmdGet(ts *testscript.TestScript, neg bool, args []string) {
	token := ""
	if len(args) == 3 && args[0] == "-token" {
		scope := map[string]admin.Scope{"read": admin.Read, "write": admin.Write,
			"chaos": admin.Chaos}[args[1]]
		lookup := func(name string) (string, bool) { value := ts.Getenv(name); return value, value != "" }
		t, err := admin.ReadToken(runtimeDir(lookup, false), ts.Getenv("MCPD_ADMIN"), scope)
		ts.Check(err)
		token, args = t, args[2:]
	}
	if len(args) != 1 || neg {
		ts.Fatalf("usage: get [-token SCOPE] URL")
	}
	request, err := http.NewRequest(http.MethodGet, args[0], nil)
	ts.Check(err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	ts.Check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	ts.Check(err)
	_, err = io.WriteString(ts.Stdout(), response.Status+"\n"+string(body)+"\n")
	ts.Check(err)
}

func cmdAnswer(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: answer STATUS|never")
	}
	status, asked, over := 0, ts.MkAbs("asked"), make(chan struct{})
	if args[0] != "never" {
		status = number(ts, args[0])
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status != 0 {
			w.WriteHeader(status)
			return
		}
		// If this fails, a script that waits for the file fails.
		_ = os.WriteFile(asked, []byte("asked"), 0o600)
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	ts.Defer(s.Close)
	ts.Defer(func() { close(over) }) // before the server above is closed
	ts.Setenv("ANSWERS", strings.TrimPrefix(s.URL, "http://"))
}
