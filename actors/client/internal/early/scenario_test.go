package early_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client/internal/early"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

var update = flag.Bool("update", false, "rewrite the scenarios in testdata with what is done now")

// The scenarios are the start of a server in text: events, and, indented, their effects. A file is
// a list of lines:
//
//	# what it shows
//	server starts
//	server asks 1 roots/list     before there is a session: the question is held
//	server logs hello            before its handshake is over
//	server takes back 1
//	host asks 1 roots/list a     a question is passed on to session a, outside of a call
//	host refuses roots/list      because there is no session
//	host cannot tell roots/list  which session it is for
//	host takes out 1, or all     of the held questions
//	host pings
//	host hears pong
//	session a comes              and is asked the held questions
//	session a is there           and would be asked now
//	session answers 1
//	call waits, call goes        in the queue, to the server
//	wait 50ms
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
			s := &scene{t: t, now: time.Unix(1_800_000_000, 0)}
			for line := range strings.Lines(string(want)) {
				s.play(strings.TrimSuffix(line, "\n"))
			}
			if *update {
				if err := os.WriteFile(file, []byte(s.script.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got := s.script.String(); got != string(want) {
				t.Errorf("it does\n%s", got)
			}
		})
	}
}

// scene is a scenario that is being played.
type scene struct {
	t      *testing.T
	e      early.Early
	now    time.Time
	asks   bool
	wants  bool
	bytes  int
	script strings.Builder
}

func (s *scene) play(line string) {
	if strings.HasPrefix(line, "  ") {
		return // written again by changes
	}
	s.script.WriteString(line + "\n")
	if line == "" || line[0] == '#' {
		return
	}
	w := append(strings.Fields(line), "", "", "")
	switch w[0] + " " + w[1] {
	case "server starts":
		s.e, s.asks, s.wants, s.bytes = early.Early{}, false, false, 0
	case "server asks":
		s.held(s.e.Hold(message(w[2], w[3], w[4])))
	case "server logs":
		s.held(s.e.Hold(message("", "notifications/message", w[2])))
	case "server takes":
		s.e.TakeOne(w[3])
	case "host asks":
		s.e.QuestionPassed(w[2])
		s.e.AskedOutside(w[3], w[4])
	case "host refuses":
		s.e.Refused(w[2], true)
	case "host cannot":
		s.e.Refused(w[3], false)
	case "host takes":
		s.takes(w[3])
	case "host pings":
		s.e.Ping()
	case "host hears":
		s.e.Pong()
	case "session answers":
		if s.e.QuestionOver(w[2]) && s.e.Answered(s.now) {
			s.print("the server has %v to act on it", early.Rest)
		}
	case "call waits":
		if s.e.Queued(s.now) {
			s.print("for %v at most", early.Wait)
		}
	case "call goes":
		s.e.CallGiven()
	default:
		switch d, err := time.ParseDuration(w[1]); {
		case w[0] == "session" && w[2] == "comes":
			for _, in := range s.e.Take() {
				m := in.Message
				s.print("is asked %s %s", m.ID.Raw(), m.Method)
				s.e.QuestionPassed(m.ID.Raw())
				s.e.AskedOutside(m.Method, w[1])
			}
			s.there(w[1])
		case w[0] == "session" && w[2] == "is":
			s.there(w[1])
		case w[0] == "wait" && err == nil:
			s.now = s.now.Add(d)
		default:
			s.t.Fatalf("no scenario has %q", line)
		}
	}
	s.changes()
}

func (s *scene) there(session string) {
	if s.e.WantsRootsOf(session) {
		s.print("roots have changed")
		s.e.ToldRoots()
	}
}

func message(id, method, params string) transport.Inbound {
	m := jsonrpc.Message{Method: method, Params: jsontext.Value(params)}
	if n, _, _ := strings.Cut(params, "*"); n != params { // "4096*" is a size in bytes
		size := 0
		fmt.Sscan(n, &size)
		m.Params = make(jsontext.Value, size)
	}
	if id != "" {
		m.ID, _ = jsonrpc.ParseID(jsontext.Value(id))
	}
	return transport.Inbound{Message: m}
}

func (s *scene) held(ok bool) {
	if !ok {
		s.print("it is not held")
	}
}

func (s *scene) takes(label string) {
	if label != "all" {
		if in, ok := s.e.TakeOne(label); ok {
			s.print("question %s %s", in.Message.ID.Raw(), in.Message.Method)
		}
		return
	}
	for _, in := range s.e.Take() {
		s.print("question %s %s", in.Message.ID.Raw(), in.Message.Method)
	}
	for _, in := range s.e.TakeLines() {
		s.print("line %s", in.Message.Params)
	}
}

// changes prints what differs from before.
func (s *scene) changes() {
	if s.e.Release(s.now) {
		s.print("calls go")
	}
	if asks := s.e.Asks(s.now); asks != s.asks {
		s.asks = asks
		s.print("calls have to wait: %v", asks)
	}
	if wants := s.e.WantsSession(); wants != s.wants {
		s.wants = wants
		s.print("a session is wanted: %v", wants)
	}
	if n := s.e.Bytes(); n != s.bytes {
		s.bytes = n
		s.print("%d bytes are kept", n)
	}
}

func (s *scene) print(format string, args ...any) {
	fmt.Fprintf(&s.script, "  "+format+"\n", args...)
}
