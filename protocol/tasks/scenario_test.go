package tasks_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/tasks"
)

var update = flag.Bool("update", false,
	"rewrite the scenarios in testdata with what a task does now")

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// The scenarios describe a task in text: the messages that each side sent and, indented, the
// messages that the other side received. A file is a list of lines:
//
//	# the purpose of the scenario
//	task core 2025-11-25 to extension 2026-07-28       dialects and revisions of client and server
//	client calls a                                     a is the client's request
//	client asks b tasks/get {…}
//	client leaves b
//	client answers 3 {…}                               3 is the question
//	client refuses 3 -1 no
//	server answers 1 {…}                               1 is the host's request
//	server fails 1 -32602 no such task
//	server asks 7 elicitation/create {…}               7 is the server's own id
//	server withdraws 7
//	server notifies {…}                                notifications/tasks/status
//	host dies                                          another host loads the task; the server lives
//	host dies with its servers
//	wait 1s
//	  server > 1 …       a request to the server; ~ 1 cancels it
//	  server 7 < …       the answer to the server's request 7
//	  client a < …       the answer to the client's request a
//	  client a ? 3 …     a question on the stream of a; ~ 3 retracts it
//	  task is …          what watchers of the task receive
//
// The flag -update rewrites the indented lines.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &scene{t: t, now: start, names: map[string]uint64{}}
			for line := range strings.Lines(string(want)) {
				s.play(strings.TrimSuffix(line, "\n"))
			}
			got := s.script.String()
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("the task does\n%s", got)
			}
		})
	}
}

// scene is the state of a running scenario.
type scene struct {
	t      *testing.T
	task   *tasks.Task
	client protocol.Version
	now    time.Time
	armed  time.Time
	names  map[string]uint64
	script strings.Builder
}

var dialects = map[string]tasks.Dialect{
	"nothing": tasks.None, "core": tasks.Core, "extension": tasks.Extension,
}

func (s *scene) play(line string) {
	if strings.HasPrefix(line, "  ") {
		return // play writes these lines again
	}
	s.script.WriteString(line + "\n")
	if line == "" || line[0] == '#' {
		return
	}
	words := strings.SplitN(line, " ", 5)
	for len(words) < 5 {
		words = append(words, "")
	}
	number := func() (n uint64) {
		if _, err := fmt.Sscan(words[2], &n); err != nil {
			s.t.Fatalf("%s: %v", line, err)
		}
		return n
	}
	rest := func(n int) jsontext.Value {
		return jsontext.Value(strings.TrimSpace(strings.Join(words[n:], " ")))
	}
	failure := func() error {
		e := &jsonrpc.Error{Message: words[4]}
		if _, err := fmt.Sscan(words[3], &e.Code); err != nil {
			s.t.Fatalf("%s: %v", line, err)
		}
		return e
	}
	switch words[0] + " " + words[1] {
	case "task core", "task extension", "task nothing":
		up, version, _ := strings.Cut(words[4], " ")
		s.client = s.version(words[2])
		s.task = tasks.New(s.now, tasks.Options{
			ID: "T", Name: "files", ClientDialect: dialects[words[1]], ServerDialect: dialects[up],
			Client: s.client,
			Server: s.version(version),
			Params: jsontext.Value(`{"name":"tool"}`), TTL: time.Minute, Cancels: true,
		})
	case "client calls":
		s.names[words[2]] = uint64(len(s.names) + 1)
		s.step(tasks.Event{Op: tasks.Start, Request: s.names[words[2]]})
	case "client asks":
		s.names[words[2]] = uint64(len(s.names) + 1)
		s.step(tasks.Event{Op: tasks.Ask, Request: s.names[words[2]], Method: words[3], Params: rest(4)})
	case "client leaves":
		s.step(tasks.Event{Op: tasks.ClientCancel, Request: s.names[words[2]]})
	case "client answers":
		s.step(tasks.Event{Op: tasks.Reply, Number: number(), Result: rest(3)})
	case "client refuses":
		s.step(tasks.Event{Op: tasks.Reply, Number: number(), Err: failure()})
	case "server answers":
		s.step(tasks.Event{Op: tasks.Answered, Number: number(), Result: rest(3)})
	case "server fails":
		s.step(tasks.Event{Op: tasks.Answered, Number: number(), Err: failure()})
	case "server asks":
		s.step(tasks.Event{
			Op: tasks.ServerAsk, ID: jsonrpc.IntID(number()), Method: words[3], Params: rest(4),
		})
	case "server withdraws":
		s.step(tasks.Event{Op: tasks.Withdraw, ID: jsonrpc.IntID(number())})
	case "server notifies":
		s.step(tasks.Event{Op: tasks.Notify, Params: rest(2)})
	case "host dies":
		s.restart(words[2] == "")
	default:
		d, err := time.ParseDuration(words[1])
		if words[0] != "wait" || err != nil {
			s.t.Fatalf("no scenario has %q", line)
		}
		s.wait(d)
	}
}

// restart replaces the task by one that is loaded from its saved state.
func (s *scene) restart(lives bool) {
	text, err := json.Marshal(s.task.Save())
	if err != nil {
		s.t.Fatal(err)
	}
	var saved tasks.Saved
	if err = json.Unmarshal(text, &saved); err == nil {
		s.task, err = tasks.Load(saved, "files", nil)
	}
	if err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	s.armed = time.Time{}
	s.step(tasks.Event{Op: tasks.Resume, ServerAlive: lives})
}

// wait advances the time by d, and fires the timer whenever it is due.
func (s *scene) wait(d time.Duration) {
	end := s.now.Add(d)
	for !s.armed.IsZero() && !s.armed.After(end) {
		s.now, s.armed = s.armed, time.Time{}
		s.step(tasks.Event{Op: tasks.Expire})
	}
	s.now = end
}

func (s *scene) step(in tasks.Event) {
	for _, e := range s.task.Step(s.now, in) {
		switch e.Do {
		case tasks.Arm:
			s.armed = e.At
		case tasks.Call:
			s.print("server > %d %s %s", e.Number, e.Method, e.Params)
		case tasks.Recall:
			s.print("server ~ %d", e.Number)
		case tasks.Answer:
			s.print("server %s < %s", e.ID, e.Result)
		case tasks.Reject:
			s.print("server %s < %s", e.ID, s.outcome(nil, e.Err, protocol.V20251125))
		case tasks.Deliver:
			s.print("client %s < %s", s.name(e.Request), s.outcome(e.Result, e.Err, s.client))
		case tasks.Put:
			s.print("client %s ? %d %s %s", s.name(e.Request), e.Number, e.Method, e.Params)
		case tasks.Retract:
			s.print("client ~ %d", e.Number)
		case tasks.Tell:
			s.print("%s", strings.TrimSpace("task is "+string(s.task.Status())+" "+string(e.Params)))
		case tasks.Release:
			s.print("server is let go")
		case tasks.Forget:
			s.print("task is forgotten")
		}
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

func (s *scene) version(name string) protocol.Version {
	v, ok := protocol.ParseVersion(name)
	if !ok {
		s.t.Fatalf("no revision %q", name)
	}
	return v
}

func (s *scene) name(request uint64) string {
	for name, n := range s.names {
		if n == request {
			return name
		}
	}
	return "nobody"
}
