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
		if addr := os.Getenv(remoteVariable); addr != "" {
			fmt.Fprintln(os.Stderr, serveRemote(addr, effects))
			os.Exit(1)
		}
		serveStdio(effects)
		os.Exit(0)
	}
	mcptest.Main(m)
}

// fullOrShort returns the first value in the full form and the second in the short form.
func fullOrShort[T any](inFull, inShort T) T {
	if *full {
		return inFull
	}
	return inShort
}

// The goals. Only the full form checks them: they are times on a machine without other load.
const (
	seenGoal     = 10 * time.Millisecond  // from the death of a server to the event in the log
	shareGoal    = 10 * time.Millisecond  // added by the host to the start of a server that died
	answerGoal   = 50 * time.Millisecond  // from the death of a server to the last answer to its calls
	overGoal     = 250 * time.Millisecond // last answer after the deadline of calls to a hung server
	readyGoal    = 300 * time.Millisecond // from the death of the host until it is ready again
	orphansGoal  = time.Second            // from the host's death to the end of its last child process
	baselineGoal = 10 * time.Second       // from the last use until the host holds what it held before
	crashLimit   = 1.1                    // ratio of the 99th percentiles, with and without a crash
)

// recoveryLimit bounds the ratio of a recovery to the time that the same program takes by itself,
// from its start to its first answer. Both forms check it. The two times are measured in turns,
// so the ratio is the same on any machine. It is not checked with the race detector, which slows
// the host and the program down by different factors.
const recoveryLimit = 2

// shortPairs is how often the short form measures a recovery beside a bare start.
const shortPairs = 8

// Rounds of a disturbance beside other calls. A pair takes some seconds.
const (
	fullRounds  = 8
	shortRounds = 2
)

// patience bounds every wait. Most waits take milliseconds. The rest is for a machine that runs
// other tests too.
const patience = 60 * time.Second

// table is the report of all cases.
type table struct{ load.Report }

// times adds a figure in milliseconds.
func (r *table) times(name string, samples []time.Duration, goal time.Duration) {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = milliseconds(s)
	}
	r.Figures = append(r.Figures,
		load.NewFigure(name, "ms", values, fullOrShort(milliseconds(goal), 0)))
}

// compareDisturbed measures the 99th percentile of calls during a disturbance and without it, in
// turns. If limit is 0, the ratio is only reported. The short form goes through the disturbance and
// compares nothing.
func (r *table) compareDisturbed(t *testing.T, calls, with, without string, limit float64,
	measure func(troubled bool) (float64, error)) {
	t.Helper()
	if !*full {
		for range shortRounds {
			if _, err := measure(true); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	calm, troubled, err := load.Alternate(fullRounds,
		func(int) (float64, error) {
			return measure(false)
		}, func(int) (float64, error) { return measure(true) })
	if err != nil {
		t.Fatal(err)
	}
	ratio, err := load.Ratio(calm, troubled)
	if err != nil {
		t.Fatal(err)
	}
	r.Figures = append(r.Figures,
		load.NewFigure(fmt.Sprintf("p99 of %s, %s", calls, without), "ms", calm, 0),
		load.NewFigure(fmt.Sprintf("p99 of %s, %s", calls, with), "ms", troubled, 0))
	c := load.Comparison{
		Name: fmt.Sprintf("p99 of %s, %s / %s", calls, with, without), Estimate: ratio,
	}
	if limit > 0 {
		c = load.Compare(c.Name, ratio, load.AtMost(limit))
	}
	r.Comparisons = append(r.Comparisons, c)
}

// addShare adds both start times and the time that the host adds to the start of a server.
func (r *table) addShare(t *testing.T, name string, bare, next []time.Duration) {
	t.Helper()
	r.times(name, next, 0)
	r.times("start of the same server without a host, to its first answer", bare, 0)
	of := func(all []time.Duration) (values []float64) {
		for _, d := range all {
			values = append(values, milliseconds(d))
		}
		return values
	}
	r.Figures = append(r.Figures,
		load.NewDifference("the host's share of that", "ms", of(bare), of(next),
			fullOrShort(milliseconds(shareGoal), 0)))
	r.judgeRecovery(t, name, of(bare), of(next))
}

// judgeRecovery judges a recovery by its ratio to the program's bare start, measured in turns.
// Fewer turns than load.MinPairs have no confidence interval and are not judged.
func (r *table) judgeRecovery(t *testing.T, name string, bare, next []float64) {
	t.Helper()
	if len(bare) < load.MinPairs {
		return
	}
	ratio, err := load.Ratio(bare, next)
	if err != nil {
		t.Fatal(err)
	}
	c := load.Comparison{Name: name + " / bare start", Estimate: ratio}
	if !mcptest.RaceEnabled {
		c = load.Compare(c.Name, ratio, load.AtMost(recoveryLimit))
	}
	r.Comparisons = append(r.Comparisons, c)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// If something dies, only its calls in flight are affected, and each of them gets an error.
func TestResilience(t *testing.T) {
	r := &table{
		load.Report{Title: "What is lost when something dies, " + fullOrShort("in full", "in short")},
	}
	t.Run("a server is killed", func(t *testing.T) { serverKilled(t, r) })
	t.Run("a request manager crashes", func(t *testing.T) {
		actorCrashes(t, r, "request_manager", "*request.Submit", 1)
	})
	t.Run("a notification dispatcher crashes", func(t *testing.T) {
		actorCrashes(t, r, "notification_dispatcher", "*notification.Dispatch", 0)
	})
	t.Run("the host is killed", func(t *testing.T) { hostKilled(t, r) })
	t.Run("the host is killed with tasks", hostKilledWithTasks)
	t.Run("the host is killed with answers", hostKilledWithAnswers)
	t.Run("the configuration is reloaded", func(t *testing.T) { reloads(t, r) })
	t.Run("a server with a URL forgets its sessions", func(t *testing.T) { remoteForgets(t, r) })
	t.Run("a server hangs", func(t *testing.T) { serverHangs(t, r) })
	t.Run("a server is busy", serverBusy)
	t.Run("servers behind npx", func(t *testing.T) { launchers(t, r) })
	t.Run("the host is told to stop", func(t *testing.T) { hostStopped(t, r) })
	fmt.Println(r.Markdown())
	if *full {
		if err := r.Write("results", "resilience"); err != nil {
			t.Error(err)
		}
	}
	if r.Failed() {
		t.Error("a goal was missed; see the table")
	}
}

// A recovery fails if its whole confidence interval lies beyond the limit, also in the short
// form. An interval that contains the limit does not fail. Too few turns are not judged.
func TestRecoveryIsJudgedByItsRatioToABareStart(t *testing.T) {
	bare := []float64{10, 11, 9, 10, 12, 10, 9, 11}
	times := func(n float64) (next []float64) {
		for i, b := range bare {
			next = append(next, b*n*(1+0.05*float64(i%3-1)))
		}
		return next
	}
	for name, c := range map[string]struct {
		bare, next []float64
		fails      bool
	}{
		"as long":       {bare, times(1.1), false},
		"too long":      {bare, times(3), !mcptest.RaceEnabled},
		"uncertain":     {bare, []float64{8, 90, 9, 15, 80, 10, 30, 9}, false},
		"too few turns": {bare[:3], times(9)[:3], false},
	} {
		r := &table{}
		r.judgeRecovery(t, name, c.bare, c.next)
		if r.Failed() != c.fails {
			t.Errorf("%s: failed is %t: %+v", name, r.Failed(), r.Comparisons)
		}
	}
}
