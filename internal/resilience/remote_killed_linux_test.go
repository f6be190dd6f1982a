package resilience

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/load"
	"mcpd/internal/mcptest"
)

// remote is a server with a URL, in a process of its own.
type remote struct {
	*exec.Cmd
	t       *testing.T
	addr    string // start replaces the port 0 by the chosen one
	effects string
}

// start starts the server at its address and returns when the server listens.
func (r *remote) start() {
	r.t.Helper()
	path, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	r.Cmd = exec.Command(path)
	r.Env = append(os.Environ(), append(environment(r.effects), remoteVariable+"="+r.addr)...)
	r.Stderr = os.Stderr
	out, err := r.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		r.t.Fatal(err)
	}
	if _, err := fmt.Fscanln(out, &r.addr); err != nil {
		r.t.Fatal(err)
	}
}

// end kills the server.
func (r *remote) end() {
	_ = r.Process.Signal(syscall.SIGKILL) // an error means that it has ended already
	_ = r.Wait()                          // its error only reports the signal
}

// bareRemote returns how long a server with a URL takes without a host, from its start to its
// first answer to a call.
func bareRemote(t *testing.T, effects string) time.Duration {
	t.Helper()
	s := &remote{t: t, addr: "127.0.0.1:0", effects: effects}
	at := time.Now()
	s.start()
	defer s.end()
	c, err := load.Connect(t.Context(), load.SessionOptions{
		URL: "http://" + s.addr + "/mcp", Tool: note, Argument: "text",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"tools/list", "resources/list", "resources/templates/list"} {
		if _, err := c.Ask(t.Context(), list, "{}"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Call(t.Context(), "bare"); err != nil {
		t.Fatal(err)
	}
	took := time.Since(at)
	closeSessions(t, []*load.Session{c})
	return took
}

// A server with a URL forgets its sessions, and it is killed and started again on its port.
// Clients with calls in flight at the kill get an error. No other client notices anything. If
// many clients notice the lost session at once, the host opens one new session for all of them.
func remoteForgets(t *testing.T, r *table) {
	h := prepare(t)
	s := &remote{t: t, addr: "127.0.0.1:0", effects: h.effects}
	s.start()
	defer func() { s.end() }()
	h.configure(fmt.Sprintf("tenants: {default: {servers: {small: %s}}}",
		declare(fmt.Sprintf("url: 'http://%s/mcp'", s.addr))))
	h.launch(mcptest.HostOptions{})
	before := h.baselineOf("/small/mcp")
	users := h.sessions(fullOrShort(50, 8), note)
	holder := h.sessions(1, hold)
	bareEffects := filepath.Join(t.TempDir(), "bare")
	run := uint64(0)
	var bare, next []time.Duration
	var forgotten []float64
	crowd := func() {
		t.Helper()
		run++
		result, err := load.Run(t.Context(), clients(users), options(run, len(users), 4*len(users)))
		if err != nil {
			t.Fatal(err)
		}
		if !result.Clean() {
			t.Errorf("calls to a server that forgot its session: %+v, errors %v", result.Counts,
				result.Errors)
		}
	}
	crowd()
	for round := range fullOrShort(20, shortPairs) {
		// The server forgets its sessions.
		opened := openedSessions(t, h.effects)
		if err := s.Process.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		eventually(t, "forgotten", func() bool { return forgottenCount(t, h.effects) == round+1 })
		crowd()
		forgotten = append(forgotten, float64(openedSessions(t, h.effects)-opened))

		// The server dies with calls in flight and starts again.
		run++
		o := &outcomeRecorder{Client: holder[0]}
		ended := h.holdCalls(o, run, callsInFlight)
		s.end()
		if result := <-ended; result.Counts != (load.Counts{Sent: callsInFlight, Failed: callsInFlight}) {
			t.Errorf("calls in hand: %+v, errors %v; want one error each", result.Counts, result.Errors)
		}
		for _, err := range o.errs {
			if !maybeExecuted(err) {
				t.Errorf("call in hand: %v, want one that says that it may have been executed", err)
			}
		}
		bare = append(bare, bareRemote(t, bareEffects))
		at := time.Now()
		s.start()
		h.next(fmt.Sprintf("back-%d", round), users[0])
		next = append(next, time.Since(at))
		crowd()
	}
	for i, n := range forgotten {
		if n != 1 {
			t.Errorf("round %d: %v sessions were opened with a server that forgot one", i, n)
		}
	}
	checkOnce(t, h.effects)
	s.end() // also ends the crowd's connections, which would stay a while
	s.start()
	h.next("last", users[0])
	closeSessions(t, append(users, holder...))
	r.times("remote server killed: back at the baseline after", []time.Duration{
		h.timeToBaseline(before),
	},
		baselineGoal)
	r.Figures = append(r.Figures,
		load.NewFigure(fmt.Sprintf("remote server forgot its session, %d clients: sessions opened",
			len(users)), "sessions", forgotten, fullOrShort(1.0, 0)))
	r.addShare(t, "remote server killed and started again: next call answered after its start", bare,
		next)
}
