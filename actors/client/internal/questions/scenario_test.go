package questions_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client/internal/questions"
	"mcpd/protocol/jsonrpc"
)

var update = flag.Bool("update", false, "rewrite the scenarios in testdata with what is done now")

var start = time.Unix(1_800_000_000, 0)

// The scenarios are the questions of a server in text: events, and, indented, their effects. A file
// is a list of lines:
//
//	# what it shows
//	server starts
//	call 7 goes                  or goes beside, out of turn
//	call 7 ends
//	server asks 1 during 7 a echo    the user of session a, by tool echo; 0 is outside of any call
//	server asks 1 during 7 a echo modern
//	host asks 1 during 7 a       in a round trip
//	server takes back 1
//	user answers 1
//	user answers 1 late          the server cannot be given the answer yet
//	calls wait 8 9               for the users who are asked
//	host notes a                 that tool a asks its user
//	users are away for 4s        without a stream on which they could be told anything
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
			s := &scene{t: t, now: start}
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
	t       *testing.T
	table   questions.Table[string]
	dialogs questions.Dialogs
	calls   []questions.Call
	away    time.Duration
	now     time.Time
	script  strings.Builder
}

func (s *scene) play(line string) {
	if strings.HasPrefix(line, "  ") {
		return // written again by changes
	}
	s.script.WriteString(line + "\n")
	if line == "" || line[0] == '#' {
		return
	}
	w := append(strings.Fields(line), "", "", "", "", "", "")
	switch w[0] + " " + w[1] {
	case "server starts":
		s.table, s.dialogs = questions.Table[string]{}, questions.Dialogs{}
		s.calls, s.away, s.now = nil, 0, start
	case "server asks", "host asks":
		s.ask(w)
	case "server takes":
		s.table.Take(w[3])
	case "user answers":
		if w[3] == "late" {
			s.table.Get(w[2]).HeldBytes = 20
			s.print("%d bytes wait", s.table.LateBytes(s.table.Get(w[2]).Call))
		} else {
			s.table.Take(w[2])
		}
	case "users are":
		s.away = s.duration(w[4])
	case "host notes":
		s.dialogs.NoteAsker(w[2])
		s.print("it is known to ask: %v", s.dialogs.Asks(w[2]))
	case "calls wait":
		s.delay(strings.Fields(line)[2:])
	default:
		switch {
		case w[0] == "call" && w[2] == "goes":
			s.calls = append(s.calls, questions.Call{Exchange: number(w[1]), Beside: w[3] == "beside"})
		case w[0] == "call" && w[2] == "ends":
			s.calls = slices.DeleteFunc(s.calls, func(c questions.Call) bool {
				return c.Exchange == number(w[1])
			})
		case w[0] == "wait":
			s.now = s.now.Add(s.duration(w[1]))
		default:
			s.t.Fatalf("no scenario has %q", line)
		}
	}
	s.changes()
}

func (s *scene) ask(w []string) {
	id, _ := jsonrpc.ParseID(jsontext.Value(w[2]))
	if err := s.table.Room(id); err != nil {
		s.print("it cannot be asked: %v", err)
		return
	}
	q := &questions.Question[string]{
		ID: id, Method: "elicitation/create", Call: number(w[4]), To: w[5],
	}
	if w[0] == "host" {
		q.Round = 1
	} else {
		q.Since = s.now
		q.Of, q.OnlyDuringCall = questions.Caller{Session: w[5], Asker: w[6]}, w[7] == "modern"
	}
	s.table.Add(q)
}

func (s *scene) delay(names []string) {
	ids := make([]uint64, len(names))
	for i, name := range names {
		ids[i] = number(name)
	}
	begins, changed := s.dialogs.Delay(s.now, ids)
	s.print("begins %v, changed %v", begins, changed)
	for _, id := range ids {
		waited, _ := s.dialogs.Delayed(s.now, id)
		s.print("call %d has waited %v", id, waited)
	}
}

// changes prints how the dialog looks if it has changed, and which dialogs are abandoned.
func (s *scene) changes() {
	var all []questions.Dialog
	inFlight := func(exchange uint64) bool {
		return slices.ContainsFunc(s.calls, func(c questions.Call) bool { return c.Exchange == exchange })
	}
	for id, q := range s.table.During(inFlight) {
		d := q.Dialog(s.away)
		if reason := d.Abandoned(s.now, 30*time.Second); reason != "" {
			s.print("question %s is abandoned: %s", id, reason)
		}
		all = append(all, d)
	}
	slices.SortStableFunc(all, func(a, b questions.Dialog) int { return a.Since.Compare(b.Since) })
	var oldest *questions.Dialog
	if len(all) > 0 {
		oldest = &all[0]
		oldest.Passable, _ = s.table.Passable(slices.Values(s.calls))
	}
	switch {
	case !s.dialogs.Show(oldest):
	case oldest == nil:
		s.print("nobody is asked")
	case oldest.Passable.IsZero():
		s.print("%s; no call may pass", questions.InWords(all, s.now))
	default:
		s.print("%s; calls may pass since %v", questions.InWords(all, s.now), oldest.Passable.Sub(start))
	}
}

func (s *scene) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func number(text string) (n uint64) {
	_, _ = fmt.Sscan(text, &n)
	return n
}

func (s *scene) print(format string, args ...any) {
	fmt.Fprintf(&s.script, "  "+format+"\n", args...)
}
