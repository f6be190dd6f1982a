package resilience

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// effectsVariable makes the test binary the test's own server. Its value is the file to which the
// server's tools write their effects.
const effectsVariable = "RESILIENCE_EFFECTS"

// The server's tools. Each writes the text of its call to the file of effects, as one line.
const (
	note     = "note" // answers with its text
	hold     = "hold" // answers with its text when free is called, not sooner
	free     = "free" // answers with its text, after the answers that are held
	announce = "tell" // reports that a resource has changed, and answers with its text
	late     = "late" // answers with its text after lateBy, and handles other calls meanwhile
	busy     = "busy" // answers with its text after lateBy, and reads nothing meanwhile
	self     = "self" // answers with its process id, and has no effect
)

// watched is the URI of the server's resource.
const watched = "small://it"

// lateBy is how long the tools late and busy take.
const lateBy = time.Second

// server is the smallest server that serves the cases. It starts as fast as any program.
type server struct {
	effects, subscribed io.Writer
	jobs                jobs // nil if it runs no tasks

	mu   sync.Mutex // guards the fields below
	out  *bufio.Writer
	held []jsonrpc.Message // the answers that wait for free
}

func serveStdio(effects string) {
	s := server{
		effects: appendTo(effects), subscribed: appendTo(effects + subscribedTo), jobs: newJobs(effects),
		out: bufio.NewWriterSize(os.Stdout, 64<<10),
	}
	fmt.Fprintln(s.subscribed, "none")
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := jsonrpc.Decode(bytes.TrimSpace(line), jsonrpc.Limits{Bytes: 1 << 20})
		if err == nil && m.Kind() == jsonrpc.KindRequest {
			s.say(in.Buffered() == 0, s.answers(m)...)
		}
	}
}

// appendTo opens a file for appending. Each write is one line, which a signal does not divide.
func appendTo(path string) io.Writer {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
	return file
}

// say buffers messages. With flush it also writes everything that is buffered; flush is set if no
// further input is at hand.
func (s *server) say(flush bool, messages ...jsonrpc.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		_, _ = s.out.Write(append(m.Append(nil), '\n')) // Flush reports the error
	}
	if flush && s.out.Flush() != nil {
		os.Exit(0) // the host has gone
	}
}

// answers returns the server's answers to a request.
func (s *server) answers(m jsonrpc.Message) []jsonrpc.Message {
	result := func(text string) []jsonrpc.Message {
		return []jsonrpc.Message{jsonrpc.Response(m.ID, jsontext.Value(text))}
	}
	switch m.Method {
	case "initialize":
		return result(`{"protocolVersion":"2025-11-25","capabilities":{` + s.jobs.capabilities() +
			`"tools":{},"resources":{"subscribe":true}},"serverInfo":{"name":"small","version":"1"}}`)
	case "tools/list":
		var tools []string
		for _, name := range []string{note, hold, free, announce, late, busy, self} {
			tools = append(tools, `{"name":"`+name+`","inputSchema":{"type":"object"}`+
				s.jobs.toolSupport(name)+`}`)
		}
		return result(`{"tools":[` + strings.Join(tools, ",") + `]}`)
	case "resources/list":
		return result(`{"resources":[{"uri":"` + watched + `","name":"it"}]}`)
	case "resources/templates/list":
		return result(`{"resourceTemplates":[]}`)
	case "resources/subscribe", "resources/unsubscribe":
		fmt.Fprintln(s.subscribed, m.Method)
		return result(`{}`)
	case "ping":
		return result(`{}`)
	case "tools/call":
		return s.call(m)
	case "tasks/get", "tasks/result":
		return s.jobs.ask(m)
	}
	return []jsonrpc.Message{
		jsonrpc.Failure(m.ID, &jsonrpc.Error{
			Code: jsonrpc.CodeMethodNotFound, Message: "there is no " + m.Method,
		}),
	}
}

func (s *server) call(m jsonrpc.Message) []jsonrpc.Message {
	tool, _ := jsonedit.GetString(m.Params, "name")
	text, _ := jsonedit.GetString(m.Params, "arguments", "text")
	if tool == self {
		text = strconv.Itoa(os.Getpid())
	} else if _, err := fmt.Fprintln(s.effects, text); err != nil {
		return []jsonrpc.Message{
			jsonrpc.Failure(m.ID, &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}),
		}
	}
	answer := jsonrpc.Response(m.ID, jsontext.Value(textResult(text)))
	if answers, begun := s.jobs.begin(m, tool, text); begun {
		return answers
	}
	switch tool {
	case hold:
		s.held = append(s.held, answer)
		return nil
	case free:
		all := append(append(s.held, s.jobs.free()...), answer)
		s.held = nil
		return all
	case late:
		time.AfterFunc(lateBy, func() { s.say(true, answer) })
		return nil
	case busy:
		time.Sleep(lateBy)
	case announce:
		return []jsonrpc.Message{
			jsonrpc.Notification("notifications/resources/updated", jsontext.Value(`{"uri":"`+watched+`"}`)),
			answer,
		}
	}
	return []jsonrpc.Message{answer}
}

// environment returns the variables that make the test binary the server. GORACE keeps a binary
// with the race detector from sleeping for a second before it exits.
func environment(effects string) []string {
	return []string{effectsVariable + "=" + effects, "GORACE=atexit_sleep_ms=0"}
}

// effectsOf returns how often each text is in the file of effects.
func effectsOf(t *testing.T, effects string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(effects)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, line := range strings.Fields(string(text)) {
		seen[line]++
	}
	return seen
}

// checkOnce checks that nothing was done twice. It returns how often each text was done.
func checkOnce(t *testing.T, effects string) map[string]int {
	t.Helper()
	seen := effectsOf(t, effects)
	for text, times := range seen {
		if times != 1 {
			t.Errorf("%s was done %d times", text, times)
		}
	}
	return seen
}

// subscribedTo is the suffix of the file that records the server's subscriptions.
const subscribedTo = ".subscribed"

// subscriptionsOf returns how many subscriptions the last process of the server has.
func subscriptionsOf(t *testing.T, effects string) (n int) {
	t.Helper()
	text, err := os.ReadFile(effects + subscribedTo)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, line := range strings.Fields(string(text)) {
		switch line {
		case "none":
			n = 0
		case "resources/subscribe":
			n++
		case "resources/unsubscribe":
			n--
		}
	}
	return n
}
