package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpd/internal/load"
	"mcpd/internal/mcptest"
)

// serverCount is how many servers the goal of a start is about.
const serverCount = 100

// TestServeReadyWithManyServers measures from the start of `mcpd serve` to the first 200 of /readyz, with a hundred configured servers of
// every kind, one of which never answers, and with one. It tells ten milliseconds apart, which is how often readiness is asked for.
func TestServeReadyWithManyServers(t *testing.T) {
	unraced(t)
	mcptest.Mcpd(t) // built before the clock runs
	rounds := either(20, load.MinPairs)
	many, one := manyServers(serverCount), manyServers(1)
	ready := func(config string) func(int) (float64, error) {
		return func(round int) (took float64, _ error) {
			t.Run(fmt.Sprint("start ", round), func(t *testing.T) {
				begin := time.Now()
				mcptest.Start(t, mcptest.HostOptions{Config: config})
				took = float64(time.Since(begin)) / float64(time.Millisecond)
			})
			return took, nil
		}
	}
	ones, manies, err := load.Alternate(rounds, ready(one), ready(many))
	if err != nil {
		t.Fatal(err)
	}
	if t.Failed() {
		return
	}
	ratio, err := load.Ratio(ones, manies, 1)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, "start", load.Report{
		Title: "From exec to ready",
		Figures: []load.Figure{
			load.NewFigure("1 server", "ms", ones, 0),
			load.NewFigure(fmt.Sprint(serverCount, " servers"), "ms", manies, goal(float64(startGoal/time.Millisecond))),
		},
		Comparisons: []load.Comparison{load.Compare(fmt.Sprint(serverCount, " servers / 1 server"), ratio, startLimit)},
	})
}

// manyServers is a configuration with n servers: programs, addresses and built-in ones in turn.
func manyServers(n int) string {
	kinds := []string{
		`{command: /bin/sleep, args: ["3600"]}`, // starts and never answers
		`{url: "http://127.0.0.1:9/mcp"}`,       // nobody is there
		`{builtin: demo}`,
		`{command: no-such-program}`,
	}
	var b strings.Builder
	b.WriteString("tenants:\n  default:\n    servers:\n")
	for i := range n {
		fmt.Fprintf(&b, "      server-%d: %s\n", i, kinds[i%len(kinds)])
	}
	return b.String()
}
