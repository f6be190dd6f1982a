package held_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/held"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

var update = flag.Bool("update", false,
	"rewrite the scenarios in testdata with what a call does now")

// The scenarios describe a call in text: the messages that each side sent and, indented, the
// messages that the other side received. A file is a list of lines:
//
//	# the purpose of the scenario
//	client calls a tools/call {"elicitation":{}}       a is the client's request, then the method and
//	client calls a tools/call {} with progress         the capabilities
//	server asks 3 elicitation/create {…}               3 is the id
//	server withdraws 3
//	server reports {…}                                 progress of the call
//	server answers {…}
//	server fails -32603 out of paper
//	server dies
//	client retries b 1 {"elicit-1":{…}} {…}            b is the request, 1 the round of its
//	client retries b 1 {} {} with progress             state, then answers, capabilities
//	client cancels b
//	host gives up
//	host sleeps 50ms                                   time passes, and no timer fires
//	wait 50ms
//	  client a < …       the answer to the client's request a
//	  client a ~ …       an earlier message to the client
//	  server 3 < …       the answer to the server's request 3
//	  server ~ …         a notification to the server
//	  call is …          the phase, when it changes
//
// The flag -update rewrites the indented lines.
func TestScenarios(t *testing.T) {
	seen := make(map[string]bool)
	for name, want := range scenarios(t) {
		t.Run(name, func(t *testing.T) {
			s := play(t, want)
			maps.Copy(seen, s.seen)
			got := s.script.String()
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
	for change := range transitions {
		if !seen[change] {
			t.Errorf("no scenario shows %s", change)
		}
	}
}

// The questions to clients in the scenarios are valid under the published schema.
func TestPublishedIsValid(t *testing.T) {
	schemas := mcptest.LoadSchemas(t, "2026-07-28")
	for name, text := range scenarios(t) {
		for _, result := range play(t, text).published {
			if err := schemas.Check(t, "InputRequiredResult", result); err != nil {
				t.Errorf("%s: %s: %v", name, result, err)
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

func play(t *testing.T, text string) *scene {
	s := &scene{t: t, now: start, names: map[string]held.RequestNumber{}, seen: map[string]bool{}}
	for line := range strings.Lines(text) {
		s.play(strings.TrimSuffix(line, "\n"))
	}
	return s
}

// scene is the state of a running scenario.
type scene struct {
	t         *testing.T
	call      *held.Call
	phase     held.Phase
	now       time.Time
	armed     time.Time
	names     map[string]held.RequestNumber
	seen      map[string]bool // changes of phase
	script    strings.Builder
	published []jsontext.Value
}

func (s *scene) play(line string) {
	if strings.HasPrefix(line, "  ") {
		return // play writes these lines again
	}
	s.script.WriteString(line + "\n")
	if line == "" || line[0] == '#' {
		return
	}
	words := strings.SplitN(line, " ", 3)
	rest := ""
	if len(words) == 3 {
		rest = words[2]
	}
	switch verb := words[0] + " " + words[1]; verb {
	case "client calls":
		name, rest, _ := strings.Cut(rest, " ")
		method, rest, _ := strings.Cut(rest, " ")
		s.call = held.New(s.request(name, rest), held.Options{
			Version: protocol.V20260728, Method: method,
		})
		s.phase = held.Running
	case "client retries":
		name, rest, _ := strings.Cut(rest, " ")
		round, rest, _ := strings.Cut(rest, " ")
		answers, rest := s.value(rest)
		in := held.Event{Op: held.Retry, Request: s.request(name, rest)}
		fmt.Sscan(round, &in.Round)
		retry, err := mrtr.ParseRetry(jsontext.Value(`{"inputResponses":` + string(answers) + `}`))
		if err != nil {
			s.t.Fatal(err)
		}
		in.Answers = retry
		s.step(in)
	case "client cancels":
		s.step(held.Event{Op: held.Cancel, Request: held.Request{Sink: s.names[rest]}})
	case "server asks":
		id, rest, _ := strings.Cut(rest, " ")
		method, params, _ := strings.Cut(rest, " ")
		s.step(held.Event{Op: held.Ask, ID: s.id(id), Method: method, Params: jsontext.Value(params)})
	case "server withdraws":
		s.step(held.Event{Op: held.Withdraw, ID: s.id(rest)})
	case "server reports":
		s.step(held.Event{Op: held.Progress, Params: jsontext.Value(rest)})
	case "server answers":
		s.step(held.Event{Op: held.Finish, Result: jsontext.Value(rest)})
	case "server fails":
		e := &jsonrpc.Error{}
		fmt.Sscan(rest, &e.Code)
		_, e.Message, _ = strings.Cut(rest, " ")
		s.step(held.Event{Op: held.Finish, Err: e})
	case "server dies":
		s.step(held.Event{Op: held.Lose, Err: protocol.UpstreamLost("files", true, nil)})
	case "host gives":
		s.step(held.Event{Op: held.Abort, Err: protocol.Timeout(time.Minute)})
	case "host sleeps":
		d, err := time.ParseDuration(rest)
		if err != nil {
			s.t.Fatal(err)
		}
		s.now = s.now.Add(d)
	default:
		d, err := time.ParseDuration(words[1])
		if words[0] != "wait" || err != nil {
			s.t.Fatalf("no scenario has %q", line)
		}
		s.wait(d)
	}
}

// wait advances the time by d, and fires the timer whenever it is due.
func (s *scene) wait(d time.Duration) {
	end := s.now.Add(d)
	for !s.armed.IsZero() && !s.armed.After(end) {
		s.now, s.armed = s.armed, time.Time{}
		s.step(held.Event{Op: held.Expire})
	}
	s.now = end
}

func (s *scene) step(in held.Event) {
	for _, e := range s.call.Step(s.now, in) {
		switch e.Do {
		case held.Arm:
			s.armed = e.At
		case held.Publish:
			required := mrtr.Required{
				Inputs: e.Inputs, State: fmt.Appendf(nil, `"round %d, %v"`, e.Round, e.At.Sub(s.now)),
			}
			s.published = append(s.published, required.Result())
			s.print("client %s < %s", s.name(e.Sink), required.Result())
		case held.Deliver:
			cached := ""
			if e.Round > 0 {
				cached = ", not to be cached"
			}
			s.print("client %s < %s%s", s.name(e.Sink),
				s.outcome(e.Result, e.Err, protocol.V20260728), cached)
		case held.Refuse:
			s.print("client %s < %s", s.name(e.Sink), s.outcome(nil, e.Err, protocol.V20260728))
		case held.Relay:
			s.print("client %s ~ progress %s", s.name(e.Sink), e.Params)
		case held.Answer:
			s.print("server %s < %s", e.ID, e.Result)
		case held.Reject:
			s.print("server %s < %s", e.ID, s.outcome(nil, e.Err, protocol.V20251125))
		case held.SendProgress:
			s.print("server ~ progress %s", e.Params)
		case held.Recall:
			s.print("server ~ the call is cancelled")
		case held.Forget:
			s.print("call is forgotten")
		}
	}
	if p := s.call.Phase(); p != s.phase {
		s.seen[fmt.Sprint(s.phase, " ", p)] = true
		s.phase = p
		s.print("call is %v", p)
	}
}

func (s *scene) print(format string, args ...any) {
	fmt.Fprintf(&s.script, "  "+format+"\n", args...)
}

func (s *scene) outcome(result jsontext.Value, err error, v protocol.Version) string {
	if err == nil {
		return string(result)
	}
	e := protocol.Translate(err, v)
	return fmt.Sprintf("error %d %s", e.Code, e.Message)
}

// request reads "{capabilities} with progress"; both may be absent.
func (s *scene) request(name, text string) held.Request {
	s.names[name] = held.RequestNumber(len(s.names) + 1)
	raw, rest := s.value(text)
	caps, err := protocol.ParseClientCapabilities(raw)
	if err != nil {
		s.t.Fatal(err)
	}
	return held.Request{
		Sink: s.names[name], Capabilities: caps, Progress: strings.Contains(rest, "with progress"),
	}
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

func (s *scene) id(text string) jsonrpc.ID {
	id, err := jsonrpc.ParseID(jsontext.Value(text))
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

func (s *scene) name(sink held.RequestNumber) string {
	for name, n := range s.names {
		if n == sink {
			return name
		}
	}
	return "nobody"
}
