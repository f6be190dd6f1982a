package bench

import (
	"fmt"
	"testing"

	"mcpd/internal/load"
)

// warmSessions are opened before the first measurement, so that what is made once is not divided among the sessions.
const warmSessions = 64

// memoryConfig is a host with its built-in server.
const memoryConfig = `{listen: "127.0.0.1:0", admin: {listen: "127.0.0.1:0"}, tenants: {default: {servers: {demo: {builtin: demo}}}}}`

// share is what one session costs a process: as it is found after all were opened, and when the collector has run.
type share struct{ found, collected usage }

// TestIdleSessionMemory measures what idle legacy sessions cost beyond a bare net/http server that holds as many connections: each is
// initialized over a connection of its own, which stays open, without and with a GET stream on it.
func TestIdleSessionMemory(t *testing.T) {
	unraced(t)
	if resident() == 0 {
		t.Skip("this system does not say what is resident")
	}
	n := affordable(t, either(10_000, 500))
	rounds := either(3, load.MinPairs)
	report := load.Report{Title: fmt.Sprintf("An idle session, %d at a time", n)}
	for _, kind := range []struct {
		name string
		use  use
		goal float64 // bytes beyond the bare server; 0 for none
	}{
		{"session", use{}, sessionGoal},
		{"session with GET stream", use{stream: true}, sessionGoal},
		// By default a legacy session has a connection to the built-in server of its own from its first call on.
		{"session that has called", use{call: true}, 0},
	} {
		var bare, host []share
		for round := range rounds {
			t.Run(fmt.Sprintf("%s %d bare", kind.name, round), func(t *testing.T) {
				bare = append(bare, shareOf(t, start(t, "bare"), n, kind.use))
			})
			t.Run(fmt.Sprintf("%s %d host", kind.name, round), func(t *testing.T) {
				host = append(host, shareOf(t, start(t, "host", configVariable+"="+memoryConfig), n, kind.use))
			})
		}
		if t.Failed() {
			return
		}
		report.Figures = append(report.Figures, memoryFigures(kind.name, kind.goal, bare, host)...)
		// Each collected, so that the ratio says something of a few hundred sessions too.
		floors, subjects := make([]float64, rounds), make([]float64, rounds)
		for i := range rounds {
			floors[i], subjects[i] = bare[i].collected.inUse()+kind.goal, host[i].collected.inUse()
		}
		if kind.goal > 0 && rounds >= load.MinPairs {
			ratio, err := load.Ratio(floors, subjects, 1)
			if err != nil {
				t.Fatal(err)
			}
			report.Comparisons = append(report.Comparisons, load.Compare(kind.name+" / (bare connection + goal)", ratio, sessionLimit))
		}
	}
	publish(t, "memory", report)
}

// inUse is what a process has allocated: its heap and its stacks.
func (u usage) inUse() float64 { return u.Heap + u.Stacks }

// shareOf opens n sessions with a process and returns what each cost it.
func shareOf(t *testing.T, p *process, n int, u use) (s share) {
	t.Helper()
	holdSessions(t, p.URL, warmSessions, u)
	before := p.now(true)
	holdSessions(t, p.URL, n, u)
	s.found = p.now(false).minus(before, float64(n))
	s.collected = p.now(true).minus(before, float64(n))
	return s
}

// memoryFigures are KiB a session: of both processes, and of the host beyond the bare one.
func memoryFigures(name string, limit float64, bare, host []share) (figures []load.Figure) {
	const kib = 1 << 10
	for _, row := range []struct {
		name string
		of   func(share) float64
		goal float64
	}{
		{"RSS as found", func(s share) float64 { return s.found.RSS }, goal(limit / kib)},
		{"RSS after collection", func(s share) float64 { return s.collected.RSS }, 0},
		{"heap after collection", func(s share) float64 { return s.collected.Heap }, 0},
		{"stacks after collection", func(s share) float64 { return s.collected.Stacks }, 0},
	} {
		var bares, hosts, beyond []float64
		for i := range bare {
			b, h := row.of(bare[i])/kib, row.of(host[i])/kib
			bares, hosts, beyond = append(bares, b), append(hosts, h), append(beyond, h-b)
		}
		figures = append(figures,
			load.NewFigure(name+": "+row.name+", bare", "KiB", bares, 0),
			load.NewFigure(name+": "+row.name+", host", "KiB", hosts, 0),
			load.NewFigure(name+": "+row.name+", beyond bare", "KiB", beyond, row.goal))
	}
	return figures
}
