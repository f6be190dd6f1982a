package main

import (
	"errors"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mcpd/internal/mcptest"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// cleaner removes what mcptest has built when the tests are over.
type cleaner struct{ m *testing.M }

func (c cleaner) Run() int { return mcptest.Run(c.m) }

// TestMain lets this test binary act as mcpd, for the scripts and for the child processes of the
// hosts that they start.
func TestMain(m *testing.M) { testscript.Main(cleaner{m}, map[string]func(){"mcpd": main}) }

// quickExit keeps programs with the race detector from sleeping for a second before they exit.
// The scripts run more than a hundred such programs.
const quickExit = "GORACE=atexit_sleep_ms=0"

// patience bounds every wait of a script. No step takes a second; the rest is for a busy machine.
const patience = 90 * time.Second

// Each file of testdata is one scenario of the command line, written as a user would type it. It
// may use these commands beside those of testscript:
//
//	[!] code N program args…  run a program that must exit with N
//	spawn NAME program args…  start a program; its output goes to NAME.out and NAME.err
//	ready NAME                wait until the host NAME serves, and set $MCPD_URL and $MCPD_ADMIN
//	end NAME [N] [SIGNAL]     send a signal (TERM) and wait for the exit code N (0)
//	signal NAME SIGNAL        signal a program
//	await FILE PATTERN        wait until the file has a match
//	until PATTERN program …   run a program until its standard output has a match
//	talk FILE program args…   send the lines of FILE, each request after the previous answer
//	get [-token SCOPE] URL    print the status and the body of a GET request
//	answer STATUS|never       start an HTTP server that always answers STATUS; set $ANSWERS to it
//	set NAME FILE             set a variable to the content of a file, without the space around it
//	port NAME                 set a variable to a port that nothing listens on
func TestScripts(t *testing.T) {
	server := filepath.Dir(mcptest.Server(t)) // testserver, a server in a program of its own
	testscript.Run(t, testscript.Params{
		Dir: "testdata", UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Vars = append(e.Vars, "PATH="+server+string(filepath.ListSeparator)+e.Getenv("PATH"),
				"HOME="+home, "XDG_STATE_HOME="+filepath.Join(home, "state"),
				"XDG_RUNTIME_DIR="+filepath.Join(home, "run"), quickExit)
			e.Values[spawned{}] = map[string]*spawn{}
			return os.Mkdir(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": cmdCode, "spawn": cmdSpawn, "ready": cmdReady, "end": cmdEnd, "await": cmdAwait,
			"until":  cmdUntil,
			"signal": cmdSignal, "talk": cmdTalk, "get": cmdGet, "answer": cmdAnswer, "set": cmdSet,
			"port": cmdPort,
		},
	})
}

func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: code N program args…")
	}
	if got := exitCode(ts.Exec(args[1], args[2:]...)); got != number(ts, args[0]) {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

func number(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}

func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: await FILE PATTERN")
	}
	want, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	file := ts.MkAbs(args[0])
	waitFor(ts, "a match of "+args[1]+" in "+args[0], func() bool {
		content, err := os.ReadFile(file)
		return err == nil && want.Match(content)
	})
}

func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: until PATTERN program args…")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	waitFor(ts, "a match of "+args[0], func() bool {
		return ts.Exec(args[1], args[2:]...) == nil && want.MatchString(ts.ReadFile("stdout"))
	})
}

// waitFor polls, because the awaited change happens in another process.
func waitFor(ts *testscript.TestScript, label string, done func() bool) {
	for deadline := time.Now().Add(patience); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s did not come within %v", label, patience)
		}
	}
}

func cmdSet(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: set NAME FILE")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

func cmdPort(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: port NAME")
	}
	ts.Setenv(args[0], unused(ts))
}

// unused returns a port that was free a moment ago.
func unused(t interface{ Fatalf(string, ...any) }) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
