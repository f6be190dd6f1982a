package otp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDecide replays the scenarios in testdata/decide against the pure state: no process, no clock.
// The first line of a file says what it shows. "tree" makes the state; each ">" line is an input,
// and the lines below it are the actions that it caused.
func TestDecide(t *testing.T) {
	files, err := filepath.Glob("testdata/decide/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(data))
			if *update {
				write(t, f, got)
				return
			}
			if got != string(data) {
				t.Errorf("got\n%s\nwant\n%s", got, data)
			}
		})
	}
}

func replay(t *testing.T, text string) string {
	var out strings.Builder
	sc := &scenario{t: t, now: time.Unix(0, 0)}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "tree":
			sc.tree(rest)
		case word == ">":
		case !strings.HasPrefix(line, "#"):
			continue // actions are written again
		}
		out.WriteString(line + "\n")
		if word == ">" {
			out.WriteString(sc.input(rest))
		}
	}
	return out.String()
}

type scenario struct {
	t     *testing.T
	now   time.Time
	state *state
	spec  Spec
}

func scripted(string) Start { return Worker(func() Behaviour { return nil }) }

func (sc *scenario) tree(text string) {
	sc.spec = parseTree(text, scripted)
	sc.state = newState("top", sc.spec)
	if sc.spec.Strategy == SimpleOneForOne {
		return
	}
	for _, c := range sc.spec.Children {
		sc.state.roster.add(newRecord(c.ID, c))
	}
}

func newRecord(id string, c Child) *childRecord {
	c = c.resolved()
	return &childRecord{id: id, child: &c}
}

// input performs one input line: an input of decide.go in words.
func (sc *scenario) input(line string) string {
	f := append(strings.Fields(line), "", "", "")
	k := sc.state.roster.byID[f[1]]
	var in any
	switch f[0] {
	case "wait":
		sc.now = sc.now.Add(duration(f[1]))
		return ""
	case "boot":
		in = inBoot{}
	case "stop":
		in = inStop{ErrShutdown}
	case "ready":
		in = inReady{k}
	case "exit": // arguments: crash, parked, by-itself; or of=acme for the message's origin
		origin, _ := strings.CutPrefix(f[4], "of=")
		blame := map[string]blame{"on-message": blameMessage, "by-itself": blameSelf}[f[4]]
		if blame != blameNone {
			origin = ""
		}
		in = inExit{child: k, reason: words[f[2]], parked: f[3] == "parked", blame: blame, origin: origin}
	case "timeout":
		if k == nil {
			in = inTimeout{timer: sc.state.timer}
		} else {
			in = inTimeout{child: k, timer: k.timer}
		}
	case "late": // a timer that was set before the last one
		in = inTimeout{child: k, timer: k.timer - 1}
	case "again":
		in = inAgain{k}
	case "start":
		in = inStart{child: newRecord(f[1], sc.child(line)), request: "starter of " + f[1]}
	case "terminate":
		in = inTerminate{f[1], "ender of " + f[1]}
	case "restart":
		in = inRestart{id: f[1], request: "starter of " + f[1]}
	case "delete":
		in = inDelete{f[1], "deleter of " + f[1]}
	default:
		sc.t.Fatalf("input %q", line)
	}
	var out strings.Builder
	for _, a := range sc.state.Step(sc.now, in) {
		fmt.Fprintf(&out, "  %s\n", actionText(a))
	}
	return out.String()
}

func (sc *scenario) child(line string) Child {
	if sc.spec.Strategy == SimpleOneForOne {
		return sc.spec.Children[0]
	}
	return parseChild(strings.TrimPrefix(line, "start "), scripted)
}

var words = map[string]error{
	"normal": Normal, "shutdown": ErrShutdown, "term": ShutdownWith(errors.New("term")),
	"crash":  errors.New("crash"),
	"ignore": Ignore, "giveup": ErrGiveUp, "error": errors.New("error"),
}

func actionText(a action) string {
	s := a.verb.String()
	if a.child != nil {
		s += " " + a.child.id
	}
	if a.origin != "" {
		s += " to " + a.origin
	}
	if a.times > 1 {
		s += fmt.Sprintf(" x%d", a.times)
	}
	if a.delay > 0 {
		s += " " + a.delay.String()
	}
	if a.request != nil {
		s += fmt.Sprintf(" to %v", a.request)
	}
	if a.reason != nil {
		s += ": " + a.reason.Error()
	}
	return s
}

// When the child that does not start is terminated, the restart of its group is given up. The child
// whose end began the restart then stays stopped too.
func TestAGroupIsDissolvedAsAWhole(t *testing.T) {
	s := newState("top", Spec{Strategy: OneForAll, Intensity: Intensity{5, time.Second}})
	a, b := &childRecord{id: "a", child: &Child{}}, &childRecord{id: "b", child: &Child{}}
	s.roster.add(a)
	s.roster.add(b)
	now := time.Now()
	for _, in := range []any{inBoot{}, inReady{a}, inReady{b}, inExit{
		child: b, reason: errTest, parked: true,
	},
		inExit{child: a, reason: ErrShutdown, parked: true},
		inExit{child: a, reason: errTest, parked: true},
		inTerminate{id: "a"}} {
		s.Step(now, in)
	}
	if a.stage != idle || b.stage != idle || a.parked || b.parked {
		t.Errorf("a %s, parked %v; b %s, parked %v", a.stage, a.parked, b.stage, b.parked)
	}
}
