package recovery_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/actors/catalog/internal/recovery"
	"mcpd/actors/client"
	"mcpd/gateway/tenant"
)

var update = flag.Bool("update", false,
	"rewrite the scenarios in testdata with what a table does now")

// A scenario is a text that describes the connections to one server and their callers: each event,
// and, indented, its effects. Every pause takes its maximum. These are the lines of a file:
//
//	# comment
//	ci asks                        for the connection of principal ci, which is opened if allowed
//	ci is ready                    or starting
//	ci fails boom                  its start failed, and is repeated
//	ci misses                      it found the URL unreachable, and waits until it is told to dial
//	ci cannot work                 and no other can
//	ci gives up boom
//	ci ends
//	operator quarantines
//	operator releases
//	catalogue crashes              and is restored
//	host crashes                   and is restored from the store
//	wait 50ms
//	  ci < …                       an answer to its caller, or to itself
//	  server ~ …                   a report about the server
//	  ci may start                 its pause is over
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

// scene plays one scenario.
type scene struct {
	t      *testing.T
	table  recovery.Table
	now    time.Time
	conns  map[string]*conn
	timers []timer
	script strings.Builder
}

type conn struct {
	state client.State
	away  bool
	since time.Time // when it entered its state
}

type timer struct {
	at     time.Time
	effect recovery.Effect
}

func play(t *testing.T, text string) string {
	s := &scene{
		t: t, now: time.Unix(1_800_000_000, 0).UTC(), table: recovery.New(), conns: map[string]*conn{},
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") {
			continue // effects are printed again
		}
		s.script.WriteString(line)
		if who, does, _ := strings.Cut(strings.TrimSpace(line), " "); who != "" && who != "#" {
			verb, rest, _ := strings.Cut(does, " ")
			s.play(who, verb, rest)
		}
	}
	return s.script.String()
}

func (s *scene) play(who, verb, rest string) {
	key, c := keyOf(who), s.conns[who]
	ending := &client.Ending{Text: rest}
	switch {
	case who == "wait":
		d, err := time.ParseDuration(verb)
		if err != nil {
			s.t.Fatal(err)
		}
		s.wait(s.now.Add(d))
	case who == "operator" && verb == "quarantines":
		s.table.QuarantineByOperator(&client.Ending{Text: "an operator"}, s.now)
	case who == "operator":
		s.print("server ~ was quarantined: %t", s.table.ClearFailures())
	case who == "catalogue":
		s.timers = nil
		s.step(recovery.Event{Op: recovery.Restore})
	case who == "host":
		value := s.table.Save("id")
		s.table, s.timers, s.conns = recovery.New(), nil, map[string]*conn{}
		s.print("host < %s", value)
		if value == nil {
			return
		}
		if err := s.table.Restore("another", value, s.now); err == nil {
			s.t.Error("what was stored of another server is taken over")
		}
		if err := s.table.Restore("id", value, s.now); err != nil {
			s.t.Fatal(err)
		}
		s.step(recovery.Event{Op: recovery.Restore})
	case verb == "asks":
		s.ask(who)
	case verb == "ends":
		delete(s.conns, who)
		s.step(recovery.Event{Op: recovery.Gone, Key: key})
	case verb == "gives":
		delete(s.conns, who)
		s.step(recovery.Event{Op: recovery.Gone, Key: key})
		ending.Text = strings.TrimPrefix(rest, "up ")
		s.step(recovery.Event{Op: recovery.GiveUp, Key: key, Ending: ending})
	case c == nil:
		s.t.Fatalf("%s does not run", who)
	case verb == "is":
		s.reports(who, client.State(rest), nil, false)
	case verb == "fails":
		s.reports(who, client.Backoff, ending, false)
	case verb == "misses":
		s.reports(who, client.Backoff, &client.Ending{Text: "nobody there"}, true)
	case verb == "cannot":
		s.reports(who, client.Quarantined, &client.Ending{Text: "no program", Permanent: true}, false)
	default:
		s.t.Fatalf("no scenario has %q", who+" "+verb)
	}
}

func keyOf(who string) tenant.Key { return tenant.NewKey(tenant.ByPrincipal, who, "", 0) }

// seen is the current state of a connection.
func (s *scene) seen(who string) recovery.Seen {
	c := s.conns[who]
	trying := slices.ContainsFunc(slices.Collect(maps.Values(s.conns)), func(c *conn) bool {
		return c.state == client.Starting || c.state == client.Backoff
	})
	return recovery.Seen{There: c != nil, Ready: c != nil && c.state == client.Ready, Trying: trying}
}

func (s *scene) ask(who string) {
	key := keyOf(who)
	wait, refused, ending := s.table.Refused(key, s.seen(who), s.now)
	switch {
	case refused:
		if ending == nil {
			ending = s.table.Why(key)
		}
		text := ""
		if ending != nil {
			text = ": " + ending.Text
		}
		s.print("%s < refused for %v%s", who, wait, text)
	case s.conns[who] != nil:
		s.print("%s < its connection", who)
	default:
		if s.table.Closed(key, s.seen(who), s.now) {
			s.t.Errorf("%s may start it when it is closed", who)
		}
		s.table.SetProbe(key)
		s.conns[who] = &conn{state: client.Starting, since: s.now}
		s.print("%s < a new connection", who)
	}
}

func (s *scene) reports(who string, state client.State, ending *client.Ending, away bool) {
	c := s.conns[who]
	steady := c.state == client.Ready && state != client.Ready && s.now.Sub(c.since) >= recovery.Steady
	*c = conn{state, away, s.now}
	s.step(recovery.Event{
		Op: recovery.Report, Key: keyOf(who), State: state, Ending: ending, At: s.now, There: true,
		Away: away, Steady: steady,
	})
}

// wait advances the time and fires the timers.
func (s *scene) wait(until time.Time) {
	for {
		slices.SortStableFunc(s.timers, func(a, b timer) int { return a.at.Compare(b.at) })
		if len(s.timers) == 0 || s.timers[0].at.After(until) {
			s.now = until
			return
		}
		due := s.timers[0]
		s.timers, s.now = s.timers[1:], due.at
		if due.effect.Do == recovery.Wait {
			s.step(recovery.Event{Op: recovery.Due, Times: due.effect.Times})
			continue
		}
		if who := due.effect.Key.Principal; s.table.Wait(due.effect.Key, s.now) == 0 {
			s.print("%s may start", name(who))
		}
	}
}

func name(who string) string {
	if who == "" {
		return "server"
	}
	return who
}

func (s *scene) step(in recovery.Event) {
	for _, e := range s.table.Step(s.now, func(n time.Duration) time.Duration { return n - 1 }, in) {
		who := name(e.Key.Principal)
		switch e.Do {
		case recovery.Quarantined:
			begins := map[bool]string{true: ", of which sessions hear"}[e.First]
			s.print("%s ~ is quarantined for %v: %s%s", who, e.Wait, e.Ending.Text, begins)
		case recovery.CrashLoop:
			s.print("%s ~ is left alone for %v: %s", who, e.Wait, e.Ending.Text)
		case recovery.Released:
			s.print("server ~ is not quarantined any more")
		case recovery.Resume:
			s.print("server ~ is used again")
		case recovery.Retry, recovery.Wait:
			s.timers = append(s.timers, timer{s.now.Add(e.Wait), e})
		case recovery.Fail:
			delete(s.conns, e.Key.Principal)
			s.print("%s < ends", who)
			s.step(recovery.Event{Op: recovery.Gone, Key: e.Key})
			s.step(recovery.Event{Op: recovery.GiveUp, Key: e.Key, Ending: e.Ending})
		default:
			s.lead(e)
		}
	}
}

// lead tells connections how to deal with an unreachable server.
func (s *scene) lead(e recovery.Effect) {
	for _, who := range slices.Sorted(maps.Keys(s.conns)) {
		c, other := s.conns[who], keyOf(who) != e.Key
		switch {
		case e.Do == recovery.Check && other && c.state == client.Ready:
			s.print("%s < looks whether its server is there", who)
		case e.Do == recovery.Hold && !other, e.Do == recovery.HoldAll && c.away:
			s.print("%s < waits %v", who, e.Wait)
		case e.Do == recovery.Redial && other && c.away:
			s.print("%s < dials", who)
		case e.Do == recovery.Dial && c.away:
			s.print("%s < dials for all", who)
			s.table.SetProbe(keyOf(who))
			return
		}
	}
}

func (s *scene) print(format string, args ...any) {
	fmt.Fprintf(&s.script, "  "+format+"\n", args...)
}
