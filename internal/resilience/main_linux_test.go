package resilience

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"mcpd/internal/load"
	"mcpd/internal/mcptest"
)

// full selects the full form.
var full = flag.Bool("full", false, "measure in full and hold the goals")

func TestMain(m *testing.M) {
	if effects := os.Getenv(effectsVariable); effects != "" {
		serve(effects)
		os.Exit(0)
	}
	mcptest.Main(m)
}

// either is the first value in the full form and the second in the short one.
func either[T any](inFull, inShort T) T {
	if *full {
		return inFull
	}
	return inShort
}

// The goals, which only the full form holds: they are times, and of a machine that does nothing else.
const (
	seenGoal     = 10 * time.Millisecond  // from the death of a server to the event that tells of it
	shareGoal    = 10 * time.Millisecond  // what the host adds to the start of a server that died
	answerGoal   = 50 * time.Millisecond  // from the death of a server to the last answer to what it had in hand
	readyGoal    = 300 * time.Millisecond // from the death of the host to its being ready again
	orphansGoal  = time.Second            // from the death of the host to that of the last of its child processes
	baselineGoal = 10 * time.Second       // from the last use to holding what was held before
	crashLimit   = 1.1                    // the 99th percentile of calls beside a crash, beside that without one
)

// patience bounds every wait. What is waited for takes milliseconds; the rest is for a machine that runs other tests too.
const patience = 60 * time.Second

// table is the report of all cases.
type table struct{ load.Report }

// times adds a figure in milliseconds.
func (r *table) times(name string, samples []time.Duration, goal time.Duration) {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = milliseconds(s)
	}
	r.Figures = append(r.Figures, load.NewFigure(name, "ms", values, either(milliseconds(goal), 0)))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// What dies is missed by nobody but the calls that it had in hand, and each of those is told.
func TestResilience(t *testing.T) {
	r := &table{load.Report{Title: "What is lost when something dies, " + either("in full", "in short")}}
	t.Run("a server is killed", func(t *testing.T) { serverKilled(t, r) })
	t.Run("a request manager crashes", func(t *testing.T) { actorCrashes(t, r, "request_manager", "*request.Submit", 1) })
	t.Run("a notification dispatcher crashes", func(t *testing.T) {
		actorCrashes(t, r, "notification_dispatcher", "*notification.Dispatch", 0)
	})
	t.Run("the host is killed", func(t *testing.T) { hostKilled(t, r) })
	fmt.Println(r.Markdown())
	if r.Failed() {
		t.Error("a goal was missed; see the table")
	}
}
