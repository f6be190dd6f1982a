package reconnect_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/reconnect"
)

var update = flag.Bool("update", false,
	"rewrite the scenarios in testdata with what a link does now")

var start = time.Unix(1_800_000_000, 0)

// The scenarios describe a link in text: the events and, indented, the effects. A file is a list of
// lines:
//
//	# the purpose of the scenario
//	link | link 2026-07-28                   a new link: with a session, or for stateless requests
//	client {…}                               a message of the client
//	client gone
//	host {…}                                 an answer, notification or question of the host
//	host on 7 {…}                            the same on the stream of request 7
//	broken 7 | broken 7 written              the connection of request 7 broke
//	broken restores-1                        that of a request that restores the session
//	unreached 7 | lost 7 | stopping 7        see Cause
//	stopping 7 2s                            the same, with the time to wait
//	refused 7 no such server                 the host refuses the request
//	later 7 busy
//	cut lost | cut                           the connection ended; lost: with its session
//	unreachable
//	undelivered notifications/initialized
//	undelivered answer 7                     the answer to the host's question 7
//	wait 50ms                                time passes; timers fire when they are due
//
// The flag -update rewrites the indented lines. Messages are shown without the member "jsonrpc".
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
			s := &scene{t: t, now: start}
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
				t.Errorf("the link does\n%s", got)
			}
		})
	}
}

// scene is the state of a running scenario.
type scene struct {
	t      *testing.T
	link   *reconnect.Link
	now    time.Time
	armed  time.Time
	script strings.Builder
}

var causes = map[string]reconnect.Cause{
	"broken": reconnect.Broken, "unreached": reconnect.Unreached, "lost": reconnect.SessionLost,
	"stopping": reconnect.Stopping, "refused": reconnect.Refused, "later": reconnect.Later,
}

func (s *scene) play(line string) {
	if strings.HasPrefix(line, "  ") {
		return // play writes these lines again
	}
	s.script.WriteString(line + "\n")
	if line == "" || line[0] == '#' {
		return
	}
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "link":
		s.link, s.armed = reconnect.New(), time.Time{}
		if rest != "" {
			s.link = reconnect.NewModern(protocol.V20260728)
		}
	case "client":
		if rest == "gone" {
			s.step(reconnect.Event{Op: reconnect.ClientGone})
			return
		}
		m := s.message(rest)
		op := map[jsonrpc.Kind]reconnect.Op{jsonrpc.KindRequest: reconnect.Request,
			jsonrpc.KindNotification: reconnect.Notice}[m.Kind()]
		if op == 0 {
			op = reconnect.Reply
		}
		s.step(reconnect.Event{Op: op, Message: m})
	case "host":
		var on jsonrpc.ID
		if after, ok := strings.CutPrefix(rest, "on "); ok {
			id, text, _ := strings.Cut(after, " ")
			on, rest = s.id(id), text
		}
		m := s.message(rest)
		op := reconnect.HostSent
		if m.Method == "" {
			op = reconnect.Answer
		}
		s.step(reconnect.Event{Op: op, Message: m, ID: on})
	case "cut":
		e := reconnect.Event{
			Op: reconnect.Disconnected, Cause: reconnect.Broken, Why: "the connection ended",
		}
		if rest == "lost" {
			e.Cause, e.Why = reconnect.SessionLost, "the host has lost the session"
		}
		s.step(e)
	case "unreachable":
		s.step(reconnect.Event{Op: reconnect.Unreachable, Why: "no host answers"})
	case "undelivered":
		e := reconnect.Event{
			Op: reconnect.Undelivered, Cause: reconnect.Unreached, Why: "no host answers",
		}
		if id, ok := strings.CutPrefix(rest, "answer "); ok {
			e.ID = s.id(id)
		} else {
			e.Method = rest
		}
		s.step(e)
	case "wait":
		d, err := time.ParseDuration(rest)
		if err != nil {
			s.t.Fatal(err)
		}
		s.wait(d)
	default:
		s.fail(word, rest)
	}
}

func (s *scene) fail(word, rest string) {
	cause, ok := causes[word]
	if !ok {
		s.t.Fatalf("no scenario has %q", word)
	}
	id, text, _ := strings.Cut(rest, " ")
	e := reconnect.Event{Op: reconnect.Failed, Cause: cause, ID: s.id(id), Why: "no host answers"}
	switch word {
	case "broken":
		e.Written, e.Why = text == "written", "the connection broke"
	case "refused", "later":
		e.Err, e.Why = &jsonrpc.Error{Code: -32600, Message: text}, text
	case "stopping":
		e.Why = "the host is stopping"
		e.After, _ = time.ParseDuration(text) // 0 without
	}
	s.step(e)
}

// ids are the link's own ids, by their names in the scenarios.
var ids = map[string]jsonrpc.ID{
	"probe":    jsonrpc.StringID("mcpd stdio looks for its host"),
	"greeting": jsonrpc.StringID("mcpd stdio opens its session again"),
}

func (s *scene) id(text string) jsonrpc.ID {
	if id, ok := ids[text]; ok {
		return id
	}
	if n, ok := strings.CutPrefix(text, "restores-"); ok {
		return jsonrpc.StringID("mcpd stdio restores " + n)
	}
	id, err := jsonrpc.ParseID([]byte(text))
	if err != nil {
		s.t.Fatalf("id %s: %v", text, err)
	}
	return id
}

func (s *scene) message(text string) jsonrpc.Message {
	for name, id := range ids {
		text = strings.ReplaceAll(text, `"id":`+name, `"id":`+id.Raw())
	}
	m, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0",`+strings.TrimPrefix(text, "{")),
		jsonrpc.Limits{})
	if err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	return m
}

// wait advances the time by d, and fires the timer whenever it is due.
func (s *scene) wait(d time.Duration) {
	end := s.now.Add(d)
	for n := 0; !s.armed.IsZero() && !s.armed.After(end); n++ {
		if n > 1000 {
			s.t.Fatal("the timer never rests")
		}
		s.now, s.armed = s.armed, time.Time{}
		s.step(reconnect.Event{Op: reconnect.Tick})
	}
	s.now = end
}

func (s *scene) step(e reconnect.Event) {
	for _, e := range s.link.Step(s.now, e) {
		text := strings.Replace(string(e.Message.Append(nil)), `"jsonrpc":"2.0",`, "", 1)
		for name, id := range ids {
			text = strings.ReplaceAll(text, id.Raw(), name)
		}
		switch e.Do {
		case reconnect.Connect:
			s.print("connect")
		case reconnect.Agree:
			s.print("agree %v", e.Version)
		case reconnect.Send:
			s.print("host < %s", text)
		case reconnect.Deliver:
			s.print("client ~ %s", text)
		case reconnect.Finish:
			if e.Message.Kind() == jsonrpc.KindInvalid {
				text = "nothing about " + e.ID.Raw()
			}
			s.print("client < %s", text)
		case reconnect.Arm:
			s.armed = e.At
		case reconnect.Log:
			s.print("log: %s", e.Text)
		}
	}
}

func (s *scene) print(format string, args ...any) {
	fmt.Fprintf(&s.script, "  %s "+format+"\n", append([]any{s.now.Sub(start)}, args...)...)
}
