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

// session is a server for a client to visit.
type session struct {
	Name    string   `json:"name"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
	Steps   []step   `json:"steps"`
}

// seen is what the client saw.
type seen struct {
	Name     string
	Refused  any // why there is no session
	Revision string
	Greeting any
	Steps    []any
}

// sessionTime bounds a visit.
const sessionTime = 2 * time.Minute

// visit runs a client with one session. A client that fails has no session: the others go on.
func visit(t *testing.T, command []string, to session) seen {
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
	program.WaitDelay = time.Second // what it started may hold its output
	out, err := program.Output()
	var saw seen
	if err == nil {
		err = json.Unmarshal(out, &saw)
	}
	if err == nil && saw.Refused == nil && len(saw.Steps) != len(to.Steps) {
		err = fmt.Errorf("saw %d of %d steps", len(saw.Steps), len(to.Steps))
	}
	if err != nil {
		return seen{Name: to.Name, Refused: fmt.Sprintf("%s: %v\n%s", strings.Join(command, " "), err, stderr.String())}
	}
	return saw
}

// serve starts a server over HTTP until the test ends, and returns its URL.
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
		_ = stdin.Close() // tells it to end
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

// direct is how a client gets to a server without mcpd. URL is that of a server over HTTP.
func direct(command []string, url string) session {
	if url != "" {
		return session{URL: url}
	}
	return session{Command: command[0], Args: command[1:]}
}

// named is the session with a name of its own, and steps for the server that have the name in them.
func (s session) named(at server, format string, args ...any) session {
	s.Name = fmt.Sprintf(format, args...) + "-" + at.id()
	s.Steps = stepsOf(s.Name, at)
	return s
}
