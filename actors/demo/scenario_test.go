package demo

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

var update = flag.Bool("update", false, "rewrite the scenarios in testdata with what the core does now")

// The scenarios are the core's behaviour in text. A file is a list of lines:
//
//	# what it shows
//	hello 2025-11-25 {"sampling":{}}    the handshake, with the client's capabilities
//	> {…}                               the client sends; "jsonrpc" is left out
//	~ 50ms                              time passes
//	< {…}                               the server sends, answers without more
//	< on 3: {…}                         and what is no answer with the request it belongs to, if it does
//	. waits 50ms                        the call waits at most so long
//	. closes the stream of 3, retry 100ms
//
// The last four are what the core does, and are rewritten by -update.
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

// scene is a scenario that is being played.
type scene struct {
	t       testing.TB
	core    *core
	now     time.Time
	waiting []moment
	script  []byte
	sent    []exchange
	methods map[string]string // of the client's requests, by id
}

// moment is a wait that has not ended.
type moment struct {
	at time.Time
	w  wake
}

// exchange is a message of the server, with the method of the client's request that it answers.
type exchange struct {
	version protocol.Version
	message jsonrpc.Message
	answers string
}

// play runs the input lines of a scenario and returns it with the output lines that belong to it.
func play(t testing.TB, script string) *scene {
	t.Helper()
	s := &scene{t: t, core: newCore("1.2.3", 0), now: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC), methods: map[string]string{}}
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
	m := decode(s.t, `{"id":"hello","method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":`+capabilities+
		`,"clientInfo":{"name":"scenario","version":"1"}}}`)
	s.core.Step(s.now, m)
	s.core.Step(s.now, decode(s.t, `{"method":"notifications/initialized"}`))
	if s.core.version == 0 {
		s.t.Fatalf("hello %s: refused", rest)
	}
}

func decode(t testing.TB, text string) jsonrpc.Message {
	t.Helper()
	m, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0",`+strings.TrimPrefix(text, "{")), jsonrpc.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

func (s *scene) step(text string) {
	s.t.Helper()
	m := decode(s.t, text)
	if m.Kind() == jsonrpc.KindRequest {
		s.methods[m.ID.Raw()] = m.Method
	}
	s.show(s.core.Step(s.now, m))
}

// pass lets time pass, from one wait that ends to the next.
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
			text := strings.Replace(string(e.message.Append(nil)), `"jsonrpc":"2.0",`, "", 1)
			if e.message.Method != "" && !e.related.IsZero() {
				text = "on " + e.related.Raw() + ": " + text
			}
			s.print("< " + text)
			x := exchange{version: s.core.version, message: e.message}
			if e.message.Method == "" {
				x.answers = s.methods[e.message.ID.Raw()]
			}
			s.sent = append(s.sent, x)
		case breakStream:
			s.print(fmt.Sprintf(". closes the stream of %s, retry %s", e.related.Raw(), e.retry))
		case wait:
			s.print(". waits " + e.d.String())
			s.waiting = append(s.forget(e.w.call), moment{s.now.Add(e.d), e.w})
		case rest:
			s.waiting = s.forget(e.call)
		}
	}
}

func (s *scene) forget(call uint64) []moment {
	return slices.DeleteFunc(s.waiting, func(m moment) bool { return m.w.call == call })
}

func (s *scene) print(line string) { s.script = append(append(s.script, line...), '\n') }
