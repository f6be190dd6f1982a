package rounds_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rounds"
)

var update = flag.Bool("update", false,
	"rewrite the scenarios in testdata with what a call does now")

var start = time.Unix(1_800_000_000, 0)

// The scenarios describe a call in text: the messages that each side sent and, indented, the
// messages that the other side received. A file is a list of lines:
//
//	# the purpose of the scenario
//	client calls {"name":"t"} {"elicitation":{}}       params, then capabilities
//	client calls {"name":"t"} {} without roots         a client that fails to list its roots has none
//	client answers 1 {…}                               1 is the question
//	client refuses 1 -1 no
//	client cancels
//	server answers {…}
//	server fails -32603 out of paper
//	host gives up
//	host sleeps 50ms                                   time passes, and no timer fires
//	wait 50ms
//	  server < …          the params of the call
//	  server ~ …          other messages to the server
//	  client ? 1 …        a question
//	  client < …          the answer to its call
//	  client ~ …          other messages to the client
//	  call is …           the phase, when it changes
//
// The flag -update rewrites the indented lines.
func TestScenarios(t *testing.T) {
	for name, want := range scenarios(t) {
		t.Run(name, func(t *testing.T) {
			got := play(t, want).script.String()
			if *update {
				if err := os.WriteFile("testdata/"+name+".txt", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("the call does\n%s", got)
			}
		})
	}
}

// The messages in the scenarios are valid under the published schemas: calls to the server with
// _meta added, and questions and notifications to the client with their JSON-RPC members added.
func TestSentIsValid(t *testing.T) {
	modern, legacy := mcptest.LoadSchemas(t, "2026-07-28"), mcptest.LoadSchemas(t, "2025-11-25")
	definitions := map[string]string{
		"elicitation/create":                 "ElicitRequest",
		"sampling/createMessage":             "CreateMessageRequest",
		"roots/list":                         "ListRootsRequest",
		"notifications/elicitation/complete": "ElicitationCompleteNotification",
	}
	for name, text := range scenarios(t) {
		s := play(t, text)
		for _, params := range s.calls {
			params = protocol.Meta{Version: "2026-07-28"}.Set(params)
			if err := modern.Check(t, "CallToolRequestParams", params); err != nil {
				t.Errorf("%s: %s: %v", name, params, err)
			}
		}
		for _, m := range s.sent {
			if err := legacy.Check(t, definitions[m.Method], m.Append(nil)); err != nil {
				t.Errorf("%s: %s: %v", name, m.Append(nil), err)
			}
		}
	}
}

// scenarios returns the scenario files by name.
func scenarios(t *testing.T) map[string]string {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	all := make(map[string]string, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = string(text)
	}
	return all
}

// scene is the state of a running scenario.
type scene struct {
	t      *testing.T
	drive  *rounds.Drive
	phase  rounds.Phase
	now    time.Time
	armed  time.Time
	calls  []jsontext.Value
	sent   []jsonrpc.Message // to the client
	script strings.Builder
}

func play(t *testing.T, text string) *scene {
	s := &scene{t: t, now: start}
	for line := range strings.Lines(text) {
		s.play(strings.TrimSuffix(line, "\n"))
	}
	return s
}

func (s *scene) play(line string) {
	if strings.HasPrefix(line, "  ") {
		return // play writes these lines again
	}
	s.script.WriteString(line + "\n")
	if line == "" || line[0] == '#' {
		return
	}
	words := append(strings.SplitN(line, " ", 3), "")
	rest := words[2]
	number, after, _ := strings.Cut(rest, " ")
	question := 0
	fmt.Sscan(number, &question)
	switch words[0] + " " + words[1] {
	case "client calls":
		params, rest := s.value(rest)
		caps, rest := s.value(rest)
		client, err := protocol.ParseClientCapabilities(caps)
		if err != nil {
			s.t.Fatal(err)
		}
		s.drive = rounds.NewDrive(s.now, params, rounds.Options{
			Server: "files", Version: protocol.V20260728, Client: client, ElicitationID: "e",
			NoRoots: strings.Contains(rest, "without roots"),
		})
		s.phase, s.armed = rounds.New, time.Time{}
		s.step(rounds.Event{Op: rounds.Start})
	case "client answers":
		s.step(rounds.Event{Op: rounds.Answer, Question: question, Result: jsontext.Value(after)})
	case "client refuses":
		s.step(rounds.Event{Op: rounds.Refuse, Question: question, Err: failure(after)})
	case "client cancels":
		s.step(rounds.Event{Op: rounds.Cancel})
	case "server answers":
		s.step(rounds.Event{Op: rounds.Result, Result: jsontext.Value(rest)})
	case "server fails":
		s.step(rounds.Event{Op: rounds.Fail, Err: failure(rest)})
	case "host gives":
		s.step(rounds.Event{Op: rounds.Abort, Err: protocol.Timeout(time.Minute)})
	case "host sleeps":
		s.now = s.now.Add(s.duration(rest))
	default:
		if words[0] != "wait" {
			s.t.Fatalf("no scenario has %q", line)
		}
		s.wait(s.duration(words[1]))
	}
}

func failure(text string) error {
	e := &jsonrpc.Error{}
	fmt.Sscan(text, &e.Code)
	_, e.Message, _ = strings.Cut(text, " ")
	return e
}

func (s *scene) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// value splits a JSON value off the front of text.
func (s *scene) value(text string) (v jsontext.Value, rest string) {
	d := jsontext.NewDecoder(strings.NewReader(text))
	v, err := d.ReadValue()
	if err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	return v.Clone(), text[d.InputOffset():]
}

// wait advances the time by d, and fires the timer whenever it is due.
func (s *scene) wait(d time.Duration) {
	end := s.now.Add(d)
	for !s.armed.IsZero() && !s.armed.After(end) {
		s.now, s.armed = s.armed, time.Time{}
		s.step(rounds.Event{Op: rounds.Expire})
	}
	s.now = end
}

func (s *scene) step(in rounds.Event) {
	for _, e := range s.drive.Step(s.now, in) {
		switch e.Do {
		case rounds.Arm:
			s.armed = e.At
		case rounds.Call:
			s.calls = append(s.calls, e.Params)
			s.print("server < %s", e.Params)
		case rounds.Stop:
			s.print("server ~ the call is cancelled")
		case rounds.Ask:
			s.sent = append(s.sent, jsonrpc.Request(jsonrpc.IntID(uint64(e.Question)), e.Method, e.Params))
			s.print("client ? %d %s %s", e.Question, e.Method, e.Params)
		case rounds.Recall:
			s.print("client ~ question %d is recalled", e.Question)
		case rounds.Complete:
			params, _ := jsonedit.Set(nil, jsonedit.Quote(e.ElicitationID), "elicitationId")
			s.sent = append(s.sent, jsonrpc.Notification("notifications/elicitation/complete", params))
			s.print("client ~ elicitation %s is complete", e.ElicitationID)
		case rounds.Deliver:
			if e.Err == nil {
				s.print("client < %s", e.Result)
				continue
			}
			told := protocol.Translate(e.Err, protocol.V20251125)
			s.print("client < error %d %s %s", told.Code, told.Message, told.Data)
		}
	}
	if p := s.drive.Phase(); p != s.phase {
		s.phase = p
		s.print("call is %v", p)
	}
}

func (s *scene) print(format string, args ...any) {
	fmt.Fprintf(&s.script, "  "+format+"\n", args...)
}
