package resilience

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// effectsVariable makes the test binary the server. Its value is the file that its tools have their effects on.
const effectsVariable = "RESILIENCE_EFFECTS"

// The server's tools. Each writes the text it is given to the file of effects, a line each.
const (
	note = "note" // answers with its text
	hold = "hold" // answers with its text when free is called, and no sooner
	free = "free" // answers with its text, and before it what is held
	tell = "tell" // says that a resource has changed, and answers with its text
)

// server is the smallest that the cases can do with: how long it takes to start is no more than a program takes.
type server struct {
	effects io.Writer
	held    []jsonrpc.Message // the answers that wait for free
}

func serve(effects string) {
	file, err := os.OpenFile(effects, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
	s := server{effects: file}
	in, out := bufio.NewReaderSize(os.Stdin, 64<<10), bufio.NewWriterSize(os.Stdout, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := jsonrpc.Decode(bytes.TrimSpace(line), jsonrpc.Limits{Bytes: 1 << 20})
		if err == nil && m.Kind() == jsonrpc.KindRequest {
			for _, answer := range s.answers(m) {
				_, _ = out.Write(append(answer.Append(nil), '\n')) // Flush tells
			}
		}
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}

// answers are what the server says to a request.
func (s *server) answers(m jsonrpc.Message) []jsonrpc.Message {
	result := func(text string) []jsonrpc.Message {
		return []jsonrpc.Message{jsonrpc.Response(m.ID, jsontext.Value(text))}
	}
	switch m.Method {
	case "initialize":
		return result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true}},"serverInfo":{"name":"small","version":"1"}}`)
	case "tools/list":
		var tools []string
		for _, name := range []string{note, hold, free, tell} {
			tools = append(tools, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
		}
		return result(`{"tools":[` + strings.Join(tools, ",") + `]}`)
	case "resources/list":
		return result(`{"resources":[]}`)
	case "resources/templates/list":
		return result(`{"resourceTemplates":[]}`)
	case "ping":
		return result(`{}`)
	case "tools/call":
		return s.call(m)
	}
	return []jsonrpc.Message{jsonrpc.Failure(m.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "there is no " + m.Method})}
}

func (s *server) call(m jsonrpc.Message) []jsonrpc.Message {
	tool, _ := splice.GetString(m.Params, "name")
	text, _ := splice.GetString(m.Params, "arguments", "text")
	if _, err := fmt.Fprintln(s.effects, text); err != nil { // one write, which a signal does not divide
		return []jsonrpc.Message{jsonrpc.Failure(m.ID, &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()})}
	}
	answer := jsonrpc.Response(m.ID, jsontext.Value(`{"content":[{"type":"text","text":"`+text+`"}]}`))
	switch tool {
	case hold:
		s.held = append(s.held, answer)
		return nil
	case free:
		all := append(s.held, answer)
		s.held = nil
		return all
	case tell:
		return []jsonrpc.Message{jsonrpc.Notification("notifications/resources/updated", jsontext.Value(`{"uri":"small://it"}`)), answer}
	}
	return []jsonrpc.Message{answer}
}

// environment is what makes the test binary the server. With the race detector it would sleep for a second before it ends.
func environment(effects string) []string {
	return []string{effectsVariable + "=" + effects, "GORACE=atexit_sleep_ms=0"}
}

// bareStart is how long the server takes from its start to its first answer to a call, without a host.
func bareStart(effects string) (took time.Duration, err error) {
	path, err := os.Executable()
	if err != nil {
		return 0, err
	}
	command := exec.Command(path)
	command.Env = append(os.Environ(), environment(effects)...)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := command.Start(); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(out)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"note","arguments":{"text":"bare"}}}`,
	} {
		if _, err := fmt.Fprintln(in, line); err != nil || !lines.Scan() || !strings.Contains(lines.Text(), `"result"`) {
			return 0, fmt.Errorf("the bare server said %q to %s: %v, %v", lines.Text(), line, err, lines.Err())
		}
	}
	took = time.Since(start)
	_ = in.Close()
	return took, command.Wait()
}

// effectsOf is how often each text is in the file of effects. What a bare start has left there is not counted.
func effectsOf(t *testing.T, effects string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(effects)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, line := range strings.Fields(string(text)) {
		if line != "bare" {
			seen[line]++
		}
	}
	return seen
}

// once checks that nothing was done twice.
func once(t *testing.T, effects string) map[string]int {
	t.Helper()
	seen := effectsOf(t, effects)
	for text, times := range seen {
		if times != 1 {
			t.Errorf("%s was done %d times", text, times)
		}
	}
	return seen
}
