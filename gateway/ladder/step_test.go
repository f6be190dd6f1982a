package ladder

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// TestScenarios replays testdata. Each ">" line is an event, after a pause if it names one. The
// lines below it are the standing of the tenant after the event, and the effects.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
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
				if err := os.WriteFile(f, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if got != string(data) {
				t.Errorf("got\n%s\nwant\n%s", got, data)
			}
		})
	}
}

func replay(t *testing.T, text string) string {
	var out strings.Builder
	var s Standing
	begin := time.Unix(0, 0)
	now := begin
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, ">") {
			if strings.HasPrefix(line, "#") {
				out.WriteString(line)
			}
			continue
		}
		out.WriteString(line)
		words := strings.Fields(line)[1:]
		if d, err := time.ParseDuration(words[0]); err == nil {
			now, words = now.Add(d), words[1:]
		}
		var e Event
		switch words[0] {
		case "ended":
			e = Ended{Why{"crash", "i1"}}
		case "charged":
			e = CrashCharged{Why{"poison", "i2"}}
		case "passed":
			e = Passed{}
		default:
			e = Operated{Verb(words[0]), Why{"an operator", "i3"}}
		}
		var effects []Effect
		s, effects = Step(s, now, e)
		fmt.Fprintf(&out, "  %s, %d in a row", s.State, s.Ends)
		if !s.Until.IsZero() {
			fmt.Fprintf(&out, ", %s", s.Until.Sub(now))
		}
		if s.Cause != "" {
			fmt.Fprintf(&out, ": %s", s.Cause)
		}
		for _, x := range effects {
			fmt.Fprintf(&out, "; %s", x)
		}
		out.WriteString("\n")
	}
	return out.String()
}

// After any sequence of events, a tenant that does not run has a way back. A tenant that runs is
// not started, and a tenant that does not run is not stopped.
func TestEveryStandingHasAWayBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Standing
		now, runs := time.Unix(0, 0), true
		for range rapid.IntRange(1, 100).Draw(t, "events") {
			now = now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, 30 * time.Second,
				20 * time.Minute}).Draw(t, "pause"))
			e := rapid.SampledFrom([]Event{Ended{}, CrashCharged{}, Passed{}, Operated{Verb: Restart},
				Operated{Verb: Quarantine}, Operated{Verb: Release}}).Draw(t, "event")
			if _, ended := e.(Ended); ended && !runs {
				continue
			} else if ended {
				runs = false
			}
			var effects []Effect
			s, effects = Step(s, now, e)
			for _, x := range effects {
				switch x {
				case Stop:
					if !runs {
						t.Fatalf("stopped, and does not run: %+v", s)
					}
					runs = false
				case Start:
					if runs {
						t.Fatalf("started, and runs: %+v", s)
					}
					runs = true
				}
			}
			if s.Runs() != runs {
				t.Fatalf("runs is %t, the standing says %+v", runs, s)
			}
			if !s.Operator && !runs && (s.Until.IsZero() || s.Wait(now) > LastProbe) {
				t.Fatalf("no way back: %+v", s)
			}
			if !s.Clean() && !s.Operator && s.Next().IsZero() {
				t.Fatalf("nothing ends this: %+v", s)
			}
		}
	})
}
