package main

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mcpd/protocol/jsonrpc"
)

// cmdTalk is a client on standard input and output. It sends its lines in order, waits for the
// answer to each request before it continues, hangs up after the last line, and prints everything
// that it received.
func cmdTalk(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: talk FILE program args…")
	}
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = ts.MkAbs("."), environ(ts), ts.Stderr()
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	hung := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer hung.Stop()

	lines := bufio.NewReader(io.TeeReader(out, ts.Stdout()))
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		m, err := jsonrpc.Decode([]byte(strings.TrimSpace(line)), jsonrpc.Limits{})
		ts.Check(err)
		_, err = io.WriteString(in, line)
		ts.Check(err)
		for answered := m.Kind() != jsonrpc.KindRequest; !answered; {
			text, err := lines.ReadBytes('\n')
			if err != nil {
				ts.Fatalf("no answer to %s: %v", line, err)
			}
			got, err := jsonrpc.Decode(text, jsonrpc.Limits{})
			ts.Check(err)
			answered = got.Method == "" && got.ID == m.ID
		}
	}
	ts.Check(in.Close())
	_, err = io.Copy(io.Discard, lines)
	ts.Check(err)
	ts.Check(cmd.Wait())
}
