package resilience

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"mcpd/internal/load"
	"mcpd/internal/mcptest"
)

// The reloads: a hundred a minute, beside calls to the servers that do not change.
const (
	steadyServers = 3
	reloadEvery   = 600 * time.Millisecond
)

// pids returns the process ids of the servers of the sessions.
func pids(t *testing.T, sessions []*load.Session) (all []string) {
	t.Helper()
	for _, s := range sessions {
		pid, err := s.Ask(t.Context(), "tools/call", `{"name":"`+self+`","arguments":{"text":"-"}}`)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	return all
}

// The configuration is reloaded over and over, and each time one of several servers changes.
// Clients of the other servers get no error, and those servers keep their processes. Clients of
// the changed server get no error either. A run of calls without reloads is measured beside each
// run with reloads.
func reloads(t *testing.T, r *table) {
	h := prepare(t)
	version := 0
	change := func() {
		version++
		servers := ""
		for i := range steadyServers {
			servers += fmt.Sprintf("s%d: %s, ", i, h.smallServer(plainCommand))
		}
		// Each change makes it another program, so the earlier process ends.
		h.configure("tenants: {default: {servers: {" + servers + "small: " +
			h.smallServer(plainCommand, fmt.Sprintf("args: [v%d]", version)) + "}}}")
	}
	change()
	h.launch(mcptest.HostOptions{})
	paths := []string{"/small/mcp"}
	for i := range steadyServers {
		paths = append(paths, fmt.Sprintf("/s%d/mcp", i))
	}
	before := h.baselineOf(paths...)
	var steady []*load.Session
	for _, path := range paths[1:] {
		steady = append(steady, h.open(2, path, load.SessionOptions{Tool: note, Argument: "text"})...)
	}
	theirs := pids(t, steady)
	changing := h.sessions(1, note)
	reload := func() (took time.Duration, err error) {
		change()
		at := time.Now()
		err = h.reload()
		took = time.Since(at)
		if err == nil {
			_, err = changing[0].Call(t.Context(), load.Nonce(fmt.Sprintf("version-%d", version)))
		}
		return took, err
	}
	// A first reload, so that everything has been used and changed before the measurement.
	if _, err := reload(); err != nil {
		t.Fatal(err)
	}
	var took []time.Duration
	runs, seconds := uint64(0), fullOrShort(10, 2)
	rate := fullOrShort(500.0, 100)
	measure := func(reloading bool) (float64, error) {
		runs++
		o := options(runs, 16, int(rate)*seconds)
		o.Rate = rate
		ended := make(chan error, 1)
		var result load.Result
		go func() { // ends with its calls; awaited below
			var err error
			result, err = load.Run(t.Context(), clients(steady), o)
			ended <- err
		}()
		for end, next := time.Now().Add(time.Duration(seconds)*time.Second), time.Now(); reloading &&
			next.Before(end); {
			time.Sleep(time.Until(next))
			next = next.Add(reloadEvery)
			one, err := reload()
			if err != nil {
				return 0, err
			}
			took = append(took, one)
		}
		if err := <-ended; err != nil {
			return 0, err
		}
		if !result.Clean() {
			return 0, fmt.Errorf("calls to servers that stay: %+v, errors %v", result.Counts, result.Errors)
		}
		return milliseconds(result.Quantile(0.99)), nil
	}
	r.compareDisturbed(t, "calls to servers that stay", "reloaded 100 times a minute",
		"not reloaded", 0, measure)
	if now := pids(t, steady); !slices.Equal(now, theirs) {
		t.Errorf("the servers that stay were %v and are %v", theirs, now)
	}
	if n := len(h.events("child_crashed")); n > 0 {
		t.Errorf("%d crashes", n)
	}
	checkOnce(t, h.effects)
	closeSessions(t, append(steady, changing...))
	r.times("configuration reloaded: back at the baseline after", []time.Duration{
		h.timeToBaseline(before),
	},
		baselineGoal)
	r.times("reload of one server of several", took, 0)
}
