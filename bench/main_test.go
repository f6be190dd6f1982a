package bench

import (
	"flag"
	"fmt"
	"testing"

	"mcpd/bench/kit"
	"mcpd/internal/load"
	"mcpd/internal/mcptest"
)

// full selects the full form of what is no scenario yet: as many samples as the goals ask for, absolute goals held, results written.
var full = flag.Bool("full", false, "measure in full, hold the absolute goals and write bench/results")

// results is where the full form writes.
const results = "results"

func TestMain(m *testing.M) {
	kit.Act(Roles)
	mcptest.Main(m)
}

// either is the first value in the full form and the second in the short one.
func either[T any](inFull, inShort T) T {
	if *full {
		return inFull
	}
	return inShort
}

// goal is an absolute goal, which the short form does not hold.
func goal(g float64) float64 { return either(g, 0) }

// publish prints a report, writes it in the full form, and fails the test when the report says so.
func publish(t *testing.T, name string, r load.Report) {
	t.Helper()
	fmt.Println(r.Markdown())
	if r.Failed() {
		t.Errorf("%s: a gate failed, a goal was missed or a reply was lost; see the tables", name)
	}
	if !*full {
		return
	}
	if err := r.Write(results, name); err != nil {
		t.Fatal(err)
	}
}

// unraced skips a measurement under the race detector, which would be most of what is measured.
func unraced(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("under the race detector there is nothing to measure")
	}
}
