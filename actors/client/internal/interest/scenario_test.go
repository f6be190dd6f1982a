package interest_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/actors/client/internal/interest"
	"mcpd/actors/request"
	"mcpd/gateway/quota"
)

var update = flag.Bool("update", false,
	"rewrite the scenarios in testdata with what a table does now")

// The scenarios are sessions and a server in text: the actions of each, and, indented, what the
// others see. A file is a list of lines:
//
//	# what it shows
//	one wants info a b            a level, - for none, and resources
//	one misses - a                 the same, of resources that it had given up
//	one subscribes a               by a call
//	one unsubscribes a
//	one leaves
//	another wants a                the connection that hands this one its calls, for its session
//	another leaves a
//	another calls info             its session's level; "alone" if no other has a call
//	server starts                  is about to be ready; "modern" if its subscriptions are streams
//	server is ready                or away, or asleep
//	server answers a               the oldest request about it
//	server refuses a
//	server crowds                  it has no room from here on, until it
//	server drains
//	host crashes                   and goes on with its carried state
//	host gives up
//	wait 50ms
//	  server < …                   a request
//	  server ~ …                   a stream begins or ends, or a call is written as it is
//	  one < …                      the outcome of its intent or call
//	  one ~ …                      what else it is told
//	  calls …                      wait or go on
//	  a is wanted …                what the other instances of the server are told
//
// The indented lines are rewritten by -update.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("the table does\n%s", got)
			}
		})
	}
}

// scene is a scenario that is being played.
type scene struct {
	t       *testing.T
	table   interest.Table
	account *quota.Account
	now     time.Time
	due     time.Time // of Hold
	to      interest.Server
	crowded bool
	later   []string         // resources of Later, until again
	again   time.Time        // when the last pause is over
	out     []interest.Event // that answer what the server was asked, oldest first
	script  strings.Builder
}

func play(t *testing.T, text string) string {
	s := &scene{t: t, now: time.Unix(1_800_000_000, 0)}
	s.account = quota.NewLedger(nil).Account("acme")
	s.table = interest.New(s.account.Count(quota.Subscriptions, 0), nil, nil)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") {
			continue // written again below
		}
		s.script.WriteString(line)
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			s.play(words[0], words[1], words[2:])
		}
		bytes := 0
		for uri := range s.table.Resources() {
			bytes += len(uri)
		}
		if got := s.account.Total(); got != int64(bytes) {
			t.Errorf("after %q %d bytes count, want %d", line, got, bytes)
		}
	}
	s.table.Abandon(errors.New("the end"))
	if got := s.account.Total(); got != 0 {
		t.Errorf("%d bytes count at the end", got)
	}
	return s.script.String()
}

func (s *scene) play(who, does string, rest []string) {
	arg := strings.Join(rest, " ")
	switch who + " " + does {
	case "server starts":
		s.table.Reset()
		s.out, s.later = nil, nil
		s.to = interest.Server{Listens: arg == "modern", Levels: arg != "modern"}
		s.step(interest.Event{Op: interest.Restore})
	case "server is":
		s.to.Ready, s.to.Asleep = arg == "ready", arg == "asleep"
		s.step(interest.Event{Op: interest.Settle})
	case "server answers":
		s.answer(arg, nil)
	case "server refuses":
		s.answer(arg, errors.New("no"))
	case "server crowds":
		s.crowded = true
	case "server drains":
		s.crowded = false
		s.step(interest.Event{Op: interest.Retry})
	case "host crashes":
		s.table.Reset()
	case "host gives":
		s.step(interest.Event{Op: interest.GiveUp})
	case "another wants", "another leaves":
		op := map[string]interest.Op{"wants": interest.Follow, "leaves": interest.Unfollow}[does]
		s.step(interest.Event{Op: op, URI: arg, Session: who})
	case "another calls":
		s.step(interest.Event{Op: interest.Level, Session: who, Level: rest[0], Alone: len(rest) > 1})
	default:
		switch does {
		case "wants", "misses":
			s.step(interest.Event{
				Op: interest.Intent, Session: who, Level: strings.Trim(rest[0], "-"), URIs: rest[1:],
				Missed: does == "misses", Waiter: waiter{s, who},
			})
		case "subscribes", "unsubscribes":
			ask := interest.Ask{Method: "resources/" + strings.TrimSuffix(does, "s"), Value: arg}
			s.step(interest.Event{Op: interest.Call, Ask: ask, Call: &request.Exchange{Session: who}})
		case "leaves":
			s.step(interest.Event{Op: interest.Leave, Session: who})
		default:
			s.wait(who, does)
		}
	}
}

func (s *scene) wait(who, does string) {
	d, err := time.ParseDuration(does)
	if who != "wait" || err != nil {
		s.t.Fatalf("no scenario has %q", who+" "+does)
	}
	if s.now = s.now.Add(d); !s.due.IsZero() && !s.now.Before(s.due) {
		s.due = time.Time{}
		s.step(interest.Event{Op: interest.Expire})
	}
	if !s.now.Before(s.again) {
		for _, uri := range s.later {
			s.step(interest.Event{Op: interest.Again, URI: uri})
		}
		s.later = nil
	}
}

// answer gives the server's answer to the oldest request about something.
func (s *scene) answer(about string, err error) {
	i := slices.IndexFunc(s.out, func(e interest.Event) bool { return e.Ask.Value == about })
	if i < 0 {
		s.t.Fatalf("the server was not asked about %q", about)
	}
	e := s.out[i]
	s.out = slices.Delete(s.out, i, i+1)
	e.Err = err
	s.step(e)
}

// waiter is a session that is told the outcome of its subscription intent.
type waiter struct {
	s   *scene
	who string
}

func (w waiter) Reply(struct{}) bool { w.s.print("%s < granted", w.who); return true }
func (w waiter) Fail(err error)      { w.s.print("%s < error %v", w.who, err) }

func (s *scene) step(in interest.Event) {
	for _, e := range s.table.Step(s.now, s.to, in) {
		switch e.Do {
		case interest.Pause:
			s.print("server ~ has no room")
		case interest.Later:
			s.print("server ~ is asked again about %s", e.URI)
			s.later, s.again = append(s.later, e.URI), s.now.Add(interest.AgainAfter)
		case interest.Listen:
			s.print("server ~ stream of %s%s", e.URI,
				map[bool]string{true: ", which may have changed"}[e.Missed])
			s.asked(interest.Ask{Method: "subscriptions/listen", Value: e.URI}, e.Call)
		case interest.Unlisten:
			s.print("server ~ no stream of %s", e.URI)
		case interest.Write:
			s.print("server ~ the call")
			s.asked(in.Ask, e.Call)
		case interest.Keep:
			s.print("%s ~ the call waits", e.Call.Session)
		case interest.Answer:
			s.print("%s < %s", e.Call.Session, outcome(e.Err))
		case interest.Grant:
			if e.Err != nil {
				e.Waiter.Fail(e.Err)
			} else {
				e.Waiter.Reply(struct{}{})
			}
		case interest.Instances:
			s.print("%s is %s", e.URI,
				map[interest.Op]string{interest.Follow: "wanted by " + e.Session,
					interest.Unfollow: "not wanted"}[e.Op])
		case interest.Serve:
			s.print("%s ~ is served", e.Session)
		case interest.Missed:
			s.print("%s ~ %s may have changed", e.Session, e.URI)
		case interest.Hold:
			s.due = e.At
			s.print("calls wait for %v", e.At.Sub(s.now))
		case interest.Release:
			s.print("calls go on")
		}
	}
	for a, ok := s.table.Next(); ok; a, ok = s.table.Next() {
		if s.crowded {
			s.step(interest.Event{Op: interest.QueueFull, Ask: a})
			return
		}
		s.print("server < %s %s", a.Method, a.Value)
		s.asked(a, nil)
	}
}

func (s *scene) asked(a interest.Ask, call *request.Exchange) {
	s.out = append(s.out, interest.Event{Op: interest.Answered, Ask: a, Call: call})
}

func outcome(err error) string {
	if err != nil {
		return "error " + err.Error()
	}
	return "{}"
}

func (s *scene) print(format string, args ...any) {
	fmt.Fprintf(&s.script, "  "+format+"\n", args...)
}
