package instances_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpd/actors/client/internal/instances"
	"mcpd/actors/client/internal/questions"
	"mcpd/actors/request"
	"mcpd/gateway/tenant"
	"mcpd/internal/sortedmap"
)

var update = flag.Bool("update", false,
	"rewrite the scenarios in testdata with what a table does now")

// The scenarios are the instances of a server in text: events, and, indented, what the connection
// of the first instance does. A file is a list of lines:
//
//	# what it shows
//	program 2                  with at most two instances; or "remote 2"
//	calls wait                 for their turn, behind one that has just begun
//	calls wait 600ms           behind one that has lasted for so long
//	one joins                  as it was asked to
//	none joins                 no instance could be had
//	one is done                with its call; "is done 1" with the first only
//	one is gone                or back, after a crash
//	one lists a                after it has announced that its tools changed
//	tool a                     is called
//	one asks                   its user; "one asks nothing"
//	one may be passed          since now
//	host asks                  a user of the first; or "host asks nothing"
//	host retires
//	host crashes               and goes on with its carried state
//	wait 50ms
//
// The indented lines are rewritten by -update.
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
			s := &scene{t: t, due: map[string]time.Time{}}
			s.to = instances.Server{Now: time.Unix(1_800_000_000, 0), Lingers: time.Minute}
			for line := range strings.Lines(string(want)) {
				s.play(strings.TrimSuffix(line, "\n"))
			}
			if *update {
				if err := os.WriteFile(file, []byte(s.script.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got := s.script.String(); got != string(want) {
				t.Errorf("the table does\n%s", got)
			}
		})
	}
}

// scene is a scenario that is being played.
type scene struct {
	t      *testing.T
	table  instances.Table[string]
	to     instances.Server
	due    map[string]time.Time // when an instance is looked at, or none joins again
	script strings.Builder
}

func (s *scene) play(line string) {
	if strings.HasPrefix(line, "  ") {
		return // written again by do
	}
	s.script.WriteString(line + "\n")
	if line == "" || line[0] == '#' {
		return
	}
	w := append(strings.Fields(line), "", "", "")
	switch who := w[0]; who + " " + w[1] {
	case "none joins":
		s.do(s.table.Denied())
	case "host asks":
		s.to.Asked = w[2] == ""
	case "host retires":
		s.to.Retired, s.to.Lingers = true, 100*time.Millisecond
		s.do(s.table.Retired(s.to))
	case "host crashes":
		clear(s.due)
		s.table.Resume()
	case "calls wait":
		s.place(s.duration(w[2]))
	default:
		switch w[1] {
		case "joins":
			s.do(s.table.Joined(s.to, who, tenant.Key{}))
		case "asks":
			var d *questions.Dialog
			if w[2] == "" {
				d = &questions.Dialog{}
			}
			s.table.SetDialog(who, d)
			s.passable()
		case "may":
			s.table.SetDialog(who, &questions.Dialog{Passable: s.to.Now})
			s.passable()
		case "lists":
			s.table.SetTools(who, map[string]bool{w[2]: true})
		case "is":
			s.is(who, w[2], w[3])
		default:
			s.plain(who, w[1])
		}
	}
}

func (s *scene) is(who, label, number string) {
	if label == "done" {
		last, err := strconv.ParseUint(number, 10, 64)
		for _, c := range s.table.Calls(who) {
			if err != nil {
				last = c.Number
			}
		}
		s.do(s.table.Vacant(s.to, who, tenant.Key{}, last))
		return
	}
	effects, _ := s.table.Down(who, label == "gone")
	s.do(effects)
}

func (s *scene) plain(label, arg string) {
	switch label {
	case "program", "remote":
		s.to.Program = label == "program"
		s.to.Bound, _ = strconv.Atoi(arg)
	case "tool":
		if to, ok := s.table.FirstWithTool(arg); ok {
			s.print("%s has it", to)
		} else {
			s.print("none has it: %v offer tools", s.table.AnyOffers())
		}
	case "wait":
		s.wait(s.duration(arg))
	default:
		s.t.Fatalf("no scenario has %q", label+" "+arg)
	}
}

// place finds a place for one call.
func (s *scene) place(lasted time.Duration) {
	e := s.table.Place(s.to, s.to.Now.Add(-lasted))
	if e.Do == instances.Hand {
		s.table.Handed(e.To, &request.Exchange{})
	}
	if e.Do == 0 {
		s.print("they go on waiting: another may be had %v", s.table.MayGrow(s.to))
		return
	}
	s.do([]instances.Effect[string]{e})
}

func (s *scene) passable() {
	if to, since := s.table.Passable(); !since.IsZero() {
		s.print("calls may be written beside that of %s, since %v", to, s.to.Now.Sub(since))
	}
	for who := range s.table.Asking() {
		s.print("%s asks", who)
	}
}

func (s *scene) wait(d time.Duration) {
	s.to.Now = s.to.Now.Add(d)
	for who, at := range sortedmap.Sorted(s.due) {
		if s.to.Now.Before(at) {
			continue
		}
		if delete(s.due, who); who == "" {
			s.table.Retried()
		} else {
			s.do(s.table.Rested(s.to, who))
		}
	}
}

func (s *scene) do(effects []instances.Effect[string]) {
	for _, e := range effects {
		switch e.Do {
		case instances.Hand:
			s.print("call %d goes to %s", s.table.Next(e.To)-1, e.To)
		case instances.Again:
			s.print("look again after %v", e.Wait)
		case instances.Start:
			s.print("start one, of %d", s.to.Most())
		case instances.Retry:
			s.print("start none for %v", e.Wait)
			s.due[""] = s.to.Now.Add(e.Wait)
		case instances.Adopt:
			s.print("%s is told that it was handed %d", e.To, e.Last)
		case instances.Watch:
			s.print("%s is watched", e.To)
		case instances.Look:
			s.print("%s is looked at after %v", e.To, e.Wait)
			s.due[e.To] = s.to.Now.Add(e.Wait)
		case instances.End:
			s.print("%s is ended, %d are left", e.To, s.table.Len())
		case instances.Turns:
			s.print("calls may have their turn")
		}
	}
}

func (s *scene) duration(text string) (d time.Duration) {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *scene) print(format string, args ...any) {
	fmt.Fprintf(&s.script, "  "+format+"\n", args...)
}
