package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"mcpd/supervisor"
)

// roleVariable makes the test binary one of the processes that are measured.
const roleVariable = "MCPD_BENCH_ROLE"

// configVariable is the text of the configuration of a host.
const configVariable = "MCPD_BENCH_CONFIG"

// roles are the processes that the test binary can be. Each serves until its standard input ends.
var roles = map[string]func(ctx context.Context) (url string, err error){
	"host": serveHost,
	"bare": serveBare,
}

// play is the life of such a process: it says where it serves, answers each line on its standard input with what it has used so far, and
// ends with the input, so that it does not outlive the run.
func play(name string) {
	if name == "stdio" {
		serveStdio()
		os.Exit(0)
	}
	url, err := roles[name](context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", name, err)
		os.Exit(1)
	}
	say := func(u usage) {
		text, err := json.Marshal(u)
		if err != nil {
			panic(err) // numbers and a text: only a bug can cause it
		}
		fmt.Println(string(text))
	}
	say(usage{URL: url})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		say(measureSelf(lines.Text() == collect))
	}
	os.Exit(0)
}

// serveHost is a host as the configuration in the environment has it.
func serveHost(ctx context.Context) (string, error) {
	h, err := host(ctx, os.Getenv(configVariable), supervisor.Options{})
	if err != nil {
		return "", err
	}
	go func() { // owner: the process, which ends with it
		if err := h.Run(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "bench: host:", err)
			os.Exit(1)
		}
	}()
	address, _ := h.Addrs()
	return "http://" + address + "/mcp", nil
}

// process is one that is measured.
type process struct {
	URL string
	PID int

	t     testing.TB
	lines *bufio.Scanner
	ask   func(line string) error
}

// start starts the test binary in a role. It ends with the test.
func start(t testing.TB, role string, env ...string) *process {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(append(os.Environ(), roleVariable+"="+role), env...)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{PID: command.Process.Pid, t: t, lines: bufio.NewScanner(out)}
	p.ask = func(line string) error {
		_, err := fmt.Fprintln(in, line)
		return err
	}
	t.Cleanup(func() {
		_ = in.Close()
		force := time.AfterFunc(patience, func() { _ = command.Process.Kill() })
		defer force.Stop()
		if err := command.Wait(); err != nil {
			t.Errorf("%s: %v", role, err)
		}
	})
	p.URL = p.read().URL
	return p
}

// now is what the process has used so far. Collected says that it throws away first what it does not need.
func (p *process) now(collected bool) usage {
	p.t.Helper()
	line := "now"
	if collected {
		line = collect
	}
	if err := p.ask(line); err != nil {
		p.t.Fatal(err)
	}
	return p.read()
}

func (p *process) read() (u usage) {
	p.t.Helper()
	if !p.lines.Scan() {
		p.t.Fatalf("process %d has ended: %v", p.PID, p.lines.Err())
	}
	if err := json.Unmarshal(p.lines.Bytes(), &u); err != nil {
		p.t.Fatalf("process %d said %q: %v", p.PID, p.lines.Text(), err)
	}
	return u
}
