package era_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client/internal/era"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

var update = flag.Bool("update", false,
	"rewrite the scenarios in testdata with what a handshake does now")

var start = time.Unix(1_800_000_000, 0)

// The scenarios are a handshake in text: the server's actions, and, indented, what the server is
// asked next. A file is a list of lines:
//
//	# what it shows
//	begin                    with the words modern, dies, sse, piped, and spoken, greets, floor and
//	                         ceiling followed by a revision, in any order
//	clients speak 2025-06-18 …
//	server answers {…}
//	server answers stateless {…}   over HTTP, without a session
//	server refuses -32601 words, and data in braces
//	server has status 400 and its body
//	server is silent
//	server is unreachable
//	server ends              and what the next start has to know
//	host is out of time      the start has taken as long as it may
//	server speaks 2025-11-25 http    as agreed, over a transport
//	call is refused -32602 words
//	call has status 404 body
//	check answers {…}        the answer to the question whether it is the same server
//	check is refused -32601 words
//	more answers {…}         the answer to the second question, when the first decided nothing
//	more is refused -32601 words
//	wait 100ms
//	  is asked …             the method and revision, and for how long at most
//	  agrees to …            its revision and name
//	  fails: …
//
// The indented lines are rewritten by -update.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &scene{t: t, now: start}
			for line := range strings.Lines(string(want)) {
				s.play(strings.TrimSuffix(line, "\n"))
			}
			if *update {
				if err := os.WriteFile(file, []byte(s.script.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got := s.script.String(); got != string(want) {
				t.Errorf("the handshake does\n%s", got)
			}
		})
	}
}

// scene is a scenario that is being played.
type scene struct {
	t      *testing.T
	h      era.Handshake
	own    []protocol.Version
	i      era.Identity
	speaks protocol.Version
	now    time.Time
	script strings.Builder
}

func (s *scene) play(line string) {
	if strings.HasPrefix(line, "  ") {
		return // written again by done
	}
	s.script.WriteString(line + "\n")
	if line == "" || line[0] == '#' {
		return
	}
	words := append(strings.SplitN(line, " ", 3), "", "")
	rest := words[2]
	switch words[0] + " " + words[1] {
	case "clients speak":
		s.own = nil
		for _, name := range strings.Fields(rest) {
			s.own = append(s.own, s.version(name))
		}
	case "server answers":
		result, stateless := strings.CutPrefix(rest, "stateless ")
		s.answer(era.Answer{Result: jsontext.Value(result), Stateless: stateless})
	case "server refuses":
		s.answer(era.Answer{Err: refusal(rest)})
	case "server has":
		s.answer(era.Answer{Err: status(rest)})
	case "server speaks":
		name, transport, _ := strings.Cut(rest, " ")
		s.speaks = s.version(name)
		s.i.Agreed(era.Dialect{Era: s.speaks.Era(), Transport: transport})
	case "call is":
		s.refused(refusal(strings.TrimPrefix(rest, "refused ")))
	case "call has":
		s.refused(status(rest))
	case "check answers":
		s.checked(era.Check(s.speaks, jsontext.Value(rest), nil))
	case "check is":
		s.checked(era.Check(s.speaks, nil, refusal(strings.TrimPrefix(rest, "refused "))))
	case "more answers":
		s.checked(era.CheckModern(protocol.Negotiation{}, jsontext.Value(rest), nil), false)
	case "more is":
		err := refusal(strings.TrimPrefix(rest, "refused "))
		s.checked(era.CheckModern(protocol.Negotiation{}, nil, err), false)
	case "server is":
		err := errors.New("connection refused")
		if rest == "silent" {
			err = protocol.Timeout(era.ProbeTimeout)
		}
		s.answer(era.Answer{Err: err})
	case "server ends":
		again, ok := s.h.Again()
		switch {
		case s.h.Died():
			s.print("died of the probe")
		case ok:
			s.print("is asked in %v when it is started again", again)
		default:
			s.print("has ended")
		}
	case "host is":
		s.print("fails: %v", s.h.Late(start.Add(time.Minute), time.Minute))
	default:
		if d, err := time.ParseDuration(words[1]); words[0] == "wait" && err == nil {
			s.now = s.now.Add(d)
			return
		}
		if words[0] != "begin" {
			s.t.Fatalf("no scenario has %q", line)
		}
		s.own = nil
		s.done(s.h.Begin(start, s.options(strings.Fields(line)[1:])))
	}
}

func refusal(text string) error {
	e := &jsonrpc.Error{}
	fmt.Sscan(text, &e.Code)
	_, e.Message, _ = strings.Cut(text, " ")
	if i := strings.Index(e.Message, "{"); i >= 0 {
		e.Message, e.Data = e.Message[:i], jsontext.Value(e.Message[i:])
	}
	return e
}

func status(text string) error {
	e := &streamable.StatusError{}
	fmt.Sscanf(text, "status %d", &e.Status)
	_, e.Body, _ = strings.Cut(strings.TrimPrefix(text, "status "), " ")
	return e
}

// refused makes a call be refused.
func (s *scene) refused(err error) {
	evidence := era.EvidenceOf(s.speaks.Era(), err)
	switch {
	case evidence == era.None:
		s.print("says nothing about the server")
	case !s.i.Due(s.now, evidence):
		s.print("the server was asked a moment ago")
	default:
		s.i.Asked(s.now, evidence)
		s.print("is asked %s", era.ProbeMethod(s.speaks.Era()))
	}
}

func (s *scene) checked(another, unsure bool) {
	switch {
	case unsure:
		s.print("is asked server/discover")
	case another:
		s.print("is another")
		s.i.Replaced(era.Dialect{Era: s.speaks.Era(), Transport: "http"})
	default:
		s.print("is the same")
	}
}

func (s *scene) options(words []string) era.Options {
	o := era.Options{Timeout: time.Minute, Started: start}
	for i, word := range words {
		switch word {
		case "modern":
			o.Modern = true
		case "dies":
			o.EndsOnProbe = true
		case "sse":
			o.OneEra = true
		case "piped":
			o.Piped = true
		case "spoken":
			o.Spoken = s.version(words[i+1])
		case "greets":
			o.InitializeRevision = s.version(words[i+1])
		case "floor":
			o.Policy.Floor = s.version(words[i+1])
		case "ceiling":
			o.Policy.Ceiling = s.version(words[i+1])
		}
	}
	return o
}

func (s *scene) version(name string) protocol.Version {
	v, ok := protocol.ParseVersion(name)
	if !ok {
		s.t.Fatalf("%q is no revision", name)
	}
	return v
}

func (s *scene) answer(a era.Answer) {
	a.Own = s.own
	s.done(s.h.Answered(start, a))
}

func (s *scene) done(e era.Effect) {
	switch e.Do {
	case era.Discover:
		s.print("is asked server/discover %v %v", e.Version, e.Within)
	case era.Initialize:
		s.print("is asked initialize %v", e.Version)
	case era.Agree:
		s.print("agrees to %v %s", e.Facts.Version, e.Facts.Server.Name)
	default:
		s.print("fails: %s", strings.ReplaceAll(e.Err.Error(), "\n", "; "))
		if other, ok := errors.AsType[era.UnsupportedRevision](e.Err); ok {
			s.print("for good: %s", other.Advice())
		}
	}
}

func (s *scene) print(format string, args ...any) {
	fmt.Fprintf(&s.script, "  "+format+"\n", args...)
}
