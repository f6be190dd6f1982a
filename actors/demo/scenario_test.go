package demo

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

var update = flag.Bool("update", false,
	"rewrite the scenarios in testdata with what the core does now")

// A scenario describes the core's behaviour in text. These are the lines of a file:
//
//	# comment
//	hello 2025-11-25 {"sampling":{}}    the handshake, with the client's capabilities
//	> {…}                               the client sends; "jsonrpc" is omitted
//	as {"sampling":{}}                  capabilities that later modern requests declare
//	>> {…}                              a modern request of the client, without the required _meta
//	~ 50ms                              time passes
//	stop                                the server is stopped
//	< {…}                               the server sends an answer
//	< on 3: {…}                         another message, on the stream of request 3
//	. waits 50ms                        the call waits, at most so long
//	. closes the stream of 3, retry 100ms
//
// The last four are outputs of the core, and are rewritten by -update. In all lines, $demo is the
// member of _meta in which the server describes itself. The names $state1, $task1 and so on are the
// request states and tasks in their order of creation.
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
			got := play(t, string(want)).script
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: the core does\n%s", file, got)
			}
		})
	}
}

// scene plays one scenario.
type scene struct {
	t       testing.TB
	core    *core
	now     time.Time
	waiting []moment
	script  []byte
	sent    []exchange

	declared string              // by modern requests
	requests map[string]exchange // of the client, by id
	names    []string            // names and their values, alternating
	counts   map[string]int      // of the names of each kind
}

// moment is a wait that has not ended.
type moment struct {
	at time.Time
	w  wake
}

// exchange is a message of the server. If it is an answer, answers is the method of the client's
// request. The field version is the revision of that request.
type exchange struct {
	version protocol.Version
	message jsonrpc.Message
	answers string
}

// noise is a deterministic random source.
func noise() *rand.ChaCha8 { return rand.NewChaCha8([32]byte{}) }

// fresh is a core for a scenario.
func fresh(t testing.TB) *core {
	t.Helper()
	c, err := newCore("1.2.3", noise())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// play runs the input lines of a scenario. It returns the scenario with its output lines.
func play(t testing.TB, script string) *scene {
	t.Helper()
	s := &scene{
		t: t, core: fresh(t), now: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC), declared: "{}",
		requests: map[string]exchange{}, counts: map[string]int{},
	}
	s.names = []string{"$demo", `"` + protocol.MetaServerInfo + `":` + string(s.core.info.Raw())}
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		verb, rest, _ := strings.Cut(line, " ")
		if verb == "<" || verb == "." {
			continue
		}
		s.script = append(append(s.script, line...), '\n')
		switch verb {
		case "", "#":
		case "hello":
			s.hello(rest)
		case ">":
			s.step(rest)
		case "as":
			s.declared = rest
		case ">>":
			s.step(s.modern(rest))
		case "stop":
			s.show(s.core.End())
		case "~":
			d, err := time.ParseDuration(rest)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			s.pass(d)
		default:
			t.Fatalf("line %q", line)
		}
	}
	return s
}

func (s *scene) hello(rest string) {
	s.t.Helper()
	version, capabilities, _ := strings.Cut(rest, " ")
	m := decode(s.t, `{"id":"hello","method":"initialize","params":{"protocolVersion":"`+version+
		`","capabilities":`+capabilities+
		`,"clientInfo":{"name":"scenario","version":"1"}}}`)
	s.core.Step(s.now, m)
	s.core.Step(s.now, decode(s.t, `{"method":"notifications/initialized"}`))
	if s.core.session.version == 0 {
		s.t.Fatalf("hello %s: refused", rest)
	}
}

func decode(t testing.TB, text string) jsonrpc.Message {
	t.Helper()
	m, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0",`+strings.TrimPrefix(text, "{")),
		jsonrpc.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

// modern adds the required _meta of a modern request to a message.
func (s *scene) modern(text string) string {
	s.t.Helper()
	m := decode(s.t, text)
	capabilities, err := protocol.ParseClientCapabilities(jsontext.Value(s.declared))
	if err != nil {
		s.t.Fatal(err)
	}
	m.Params = protocol.Meta{Version: protocol.Latest.String(),
		Capabilities: capabilities}.Set(m.Params)
	return strings.Replace(string(m.Append(nil)), `"jsonrpc":"2.0",`, "", 1)
}

func (s *scene) step(text string) {
	s.t.Helper()
	m := decode(s.t, s.spell(text, false))
	if m.Kind() == jsonrpc.KindRequest {
		version := s.core.session.version
		if protocol.IsModern(m.Params) {
			version = protocol.Latest
		}
		if _, used := s.requests[m.ID.Raw()]; !used { // a second one is refused, and has no effect
			s.requests[m.ID.Raw()] = exchange{version: version, answers: m.Method}
		}
	}
	s.show(s.core.Step(s.now, m))
}

// spell replaces the names in a text by their values, or the values by the names.
func (s *scene) spell(text string, names bool) string {
	for i := len(s.names) - 2; i >= 0; i -= 2 { // $state12 before $state1
		from, to := s.names[i], s.names[i+1]
		if names {
			from, to = to, from
		}
		text = strings.ReplaceAll(text, from, to)
	}
	return text
}

// name gives a name to a state or task when it is first seen.
func (s *scene) name(kind, value string) {
	if value == "" || slices.Contains(s.names, value) {
		return
	}
	s.counts[kind]++
	s.names = append(s.names, fmt.Sprintf("$%s%d", kind, s.counts[kind]), value)
}

// pass advances the time, from the end of one wait to the next.
func (s *scene) pass(d time.Duration) {
	until := s.now.Add(d)
	for {
		i := slices.IndexFunc(s.waiting, func(m moment) bool { return !m.at.After(until) })
		if i < 0 {
			s.now = until
			return
		}
		m := s.waiting[i]
		s.waiting = slices.Delete(s.waiting, i, i+1)
		s.now = m.at
		s.show(s.core.Wake(s.now, m.w))
	}
}

func (s *scene) show(effects []effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case send:
			state, _ := jsonedit.GetString(e.message.Result, "requestState")
			s.name("state", state)
			task, _ := jsonedit.GetString(e.message.Result, "taskId")
			if asked, ok := jsonedit.GetString(e.message.Result, "task", "taskId"); ok {
				task = asked
			}
			s.name("task", task)
			text := strings.Replace(string(e.message.Append(nil)), `"jsonrpc":"2.0",`, "", 1)
			if e.message.Method != "" && !e.related.IsZero() {
				text = "on " + e.related.Raw() + ": " + text
			}
			s.print("< " + s.spell(text, true))
			x := exchange{version: s.core.session.version, message: e.message}
			if r, ok := s.requests[e.related.Raw()]; ok {
				x.version = r.version
				if e.message.Method == "" {
					x.answers = r.answers
				}
			}
			s.sent = append(s.sent, x)
		case breakStream:
			s.print(fmt.Sprintf(". closes the stream of %s, retry %s", e.related.Raw(), e.retry))
		case wait:
			s.print(". waits " + e.d.String())
			s.waiting = append(s.forget(e.w.call), moment{s.now.Add(e.d), e.w})
		case stopWait:
			s.waiting = s.forget(e.call)
		}
	}
}

func (s *scene) forget(call uint64) []moment {
	return slices.DeleteFunc(s.waiting, func(m moment) bool { return m.w.call == call })
}

func (s *scene) print(line string) { s.script = append(append(s.script, line...), '\n') }
