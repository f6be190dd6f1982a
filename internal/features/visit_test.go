package features

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// session tells a client program which server to connect to and which steps to run.
type session struct {
	Name    string   `json:"name"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
	Steps   []step   `json:"steps"`
}

// seen is the report of a client program.
type seen struct {
	Name     string
	Refused  any // reason for which there is no session
	Revision string
	Greeting any
	Steps    []any
}

// sessionTime is the time-out of visit.
const sessionTime = 2 * time.Minute

// runClient runs a client program with one session. The failure of a client is reported as a
// refused session, so that the other cells still run.
func runClient(t *testing.T, command []string, to session) seen {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sessionTime)
	defer cancel()
	text, err := json.Marshal([]session{to})
	if err != nil {
		t.Fatal(err)
	}
	program := exec.CommandContext(ctx, command[0], command[1:]...)
	program.Stdin = bytes.NewReader(text)
	var stderr strings.Builder
	program.Stderr = &stderr
	// Programs that the client started may hold its output open.
	program.WaitDelay = time.Second
	out, err := program.Output()
	var saw seen
	if err == nil {
		err = json.Unmarshal(out, &saw)
	}
	if err == nil && saw.Refused == nil && len(saw.Steps) != len(to.Steps) {
		err = fmt.Errorf("saw %d of %d steps", len(saw.Steps), len(to.Steps))
	}
	if err != nil {
		return seen{
			Name:    to.Name,
			Refused: fmt.Sprintf("%s: %v\n%s", strings.Join(command, " "), err, stderr.String()),
		}
	}
	return saw
}

// serve starts an HTTP server until the test ends, and returns its URL.
func serve(t *testing.T, command []string) string {
	t.Helper()
	program := exec.Command(command[0], command[1:]...)
	program.Stderr = os.Stderr
	stdin, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // tells the server to exit
		if err := program.Wait(); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%s says no URL: %v", command, err)
	}
	return strings.TrimSpace(line)
}

// direct returns a session in which a client reaches a server without mcpd. URL is that of an HTTP
// server; empty means stdio.
func direct(command []string, url string) session {
	if url != "" {
		return session{URL: url}
	}
	return session{Command: command[0], Args: command[1:]}
}

// named returns the session with its own name, and with the steps for the server, which contain the
// name.
func (s session) named(at server, format string, args ...any) session {
	s.Name = fmt.Sprintf(format, args...) + "-" + at.id()
	s.Steps = stepsOf(s.Name, at)
	return s
}
