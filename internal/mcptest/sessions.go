package mcptest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// sessionTime is how much longer than the SDK's own timeout a test waits for the SDK.
const sessionTime = 20 * time.Second

// ServerAddress is how a session connects to its server: through a program, or at an endpoint.
type ServerAddress struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	SSE     bool              `json:"sse,omitempty"` // HTTP+SSE, of 2024-11-05
	Headers map[string]string `json:"headers,omitempty"`
	Legacy  bool              `json:"legacy,omitempty"` // only revisions with a handshake
}

// Outcome is the SDK's report about a request.
type Outcome struct {
	Value json.RawMessage `json:"value"`
	Error *struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	Broken string `json:"broken"` // the error in the SDK's words; empty for none
}

// String returns the value or the error.
func (o Outcome) String() string {
	if o.Broken == "" {
		return string(o.Value)
	}
	if o.Error != nil {
		return fmt.Sprintf("error %d %s %s", o.Error.Code, o.Error.Message, o.Error.Data)
	}
	return o.Broken
}

// Node holds sessions of an official TypeScript client, all in one Node process.
type Node struct {
	t  testing.TB
	in io.Writer

	mu      sync.Mutex // guards the fields below
	last    int
	waiting map[int]chan Outcome
}

// NewNode starts the process, with generation "1" or "2" of the SDK and additional environment
// variables. The process ends with the test.
func NewNode(t testing.TB, generation string, env ...string) *Node {
	t.Helper()
	text, err := locked.ReadFile("npm/sessions.mjs")
	script := filepath.Join(t.TempDir(), "sessions.mjs")
	if err == nil {
		err = os.WriteFile(script, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("node", ScriptFile(t, script), generation)
	command.Stderr = os.Stderr
	command.Env = append(os.Environ(), env...)
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
	n := &Node{t: t, in: in, waiting: map[int]chan Outcome{}}
	read := make(chan struct{})
	go func() { // owner: the test, whose cleanup waits for it
		defer close(read)
		n.read(out)
	}()
	t.Cleanup(func() {
		_ = in.Close()
		hang := time.AfterFunc(sessionTime, func() { _ = command.Process.Kill() })
		defer hang.Stop()
		<-read
		_ = command.Wait() // its exit status does not matter
	})
	return n
}

// read passes outcomes to the callers that wait for them, until the process has ended.
func (n *Node) read(out io.Reader) {
	for lines := json.NewDecoder(out); ; {
		var o struct {
			ID int `json:"id"`
			Outcome
		}
		if lines.Decode(&o) != nil {
			return
		}
		n.mu.Lock()
		came := n.waiting[o.ID]
		delete(n.waiting, o.ID)
		n.mu.Unlock()
		if came != nil {
			came <- o.Outcome
		}
	}
}

// Do sends a command to a session and returns a channel with its outcome. The command is "open",
// "call", "list", "subscribe", "level", "heard", "logged", "asked", "answer" or "close".
func (n *Node) Do(label, session string, members map[string]any) <-chan Outcome {
	request := map[string]any{"do": label, "session": session, "timeout": 60_000}
	for name, value := range members {
		request[name] = value
	}
	came := make(chan Outcome, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last++
	request["id"] = n.last
	n.waiting[n.last] = came
	line, err := json.Marshal(request)
	if err == nil {
		_, err = n.in.Write(append(line, '\n'))
	}
	if err != nil {
		delete(n.waiting, n.last)
		came <- Outcome{Broken: err.Error()}
	}
	return came
}

// Await returns the outcome. It fails the test if none comes.
func Await(t testing.TB, came <-chan Outcome) Outcome {
	t.Helper()
	select {
	case o := <-came:
		return o
	case <-time.After(60*time.Second + sessionTime):
		t.Fatal("the SDK says nothing of a request")
		return Outcome{}
	}
}
