package resilience

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/load"
	"mcpd/internal/mcptest"
)

// The calls to a server that hangs.
const (
	hangTimeout = 700 * time.Millisecond // call time-out of its tenant
	hangCalls   = 50                     // concurrent calls
)

// stopProcess stops a process with SIGSTOP and returns once it has stopped.
func stopProcess(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "stopped", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && strings.Contains(string(stat), ") T ")
	})
}

// A server hangs. Its callers are answered at their deadline, another tenant notices nothing, and
// the host does not touch the server: when the server goes on, it is the same process. Each stop
// is shorter than the time after which the host gives up a silent server, which is more than
// stdio.QuietTime. Each round is measured beside a round with the same calls to the same server,
// which then answers them. So the cost of the calls is not taken for the effect of the hang.
func serverHangs(t *testing.T, r *table) {
	h := prepare(t)
	h.configure(fmt.Sprintf("tenants: {default: {servers: {small: %s}}, slow: {limits: "+
		"{call_timeout: %v}, servers: {small: %s}}}",
		h.smallServer(plainCommand), hangTimeout, h.smallServer(plainCommand)))
	h.launch(mcptest.HostOptions{})
	before := h.baselineOf("/small/mcp", "/t/slow/small/mcp")
	users := h.sessions(8, note)
	stuck := h.open(1, "/t/slow/small/mcp", load.SessionOptions{Tool: note, Argument: "text"})
	pid := pids(t, stuck)[0]
	subscribe(t, stuck[0])
	server, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	var over []time.Duration
	runs, seconds := uint64(0), fullOrShort(10, 3)
	rate := fullOrShort(1000.0, 100)
	measure := func(hangs bool) (float64, error) {
		runs += 2
		o := options(runs, 32, int(rate)*seconds)
		o.Rate = rate
		ended := make(chan error, 1)
		var result load.Result
		go func() { // ends with its calls; awaited below
			var err error
			result, err = load.Run(t.Context(), clients(users), o)
			ended <- err
		}()
		for end, n := time.Now().Add(time.Duration(seconds)*time.Second-
			2*hangTimeout), 0; time.Now().Before(end); n++ {
			again := time.Now().Add(hangTimeout)
			batch := 1_000_000*runs + uint64(n)
			if !hangs {
				if result := <-h.run(stuck[0], batch, hangCalls); !result.Clean() {
					return 0, fmt.Errorf("calls to a server that does not hang: %+v, errors %v", result.Counts,
						result.Errors)
				}
				time.Sleep(time.Until(again))
				continue
			}
			late, err := callHung(h, stuck[0], server, batch)
			if err != nil {
				return 0, err
			}
			over = append(over, late)
			h.next(fmt.Sprintf("goes-on-%d-%d", runs, n), stuck[0])
		}
		if err := <-ended; err != nil {
			return 0, err
		}
		if !result.Clean() {
			return 0, fmt.Errorf("calls of another tenant: %+v, errors %v", result.Counts, result.Errors)
		}
		return milliseconds(result.Quantile(0.99)), nil
	}
	r.compareDisturbed(t, "calls of another tenant", "a server hangs", "none hangs",
		crashLimit, measure)
	if now := pids(t, stuck)[0]; now != pid {
		t.Errorf("the server that hung was %s and is %s", pid, now)
	}
	closeSessions(t, append(users, stuck...))
	r.times("server hung: back at the baseline after", []time.Duration{h.timeToBaseline(before)},
		baselineGoal)
	r.times(fmt.Sprintf("server hangs: last of %d calls answered after its deadline by", hangCalls),
		over, overGoal)
}

// callHung stops a server, makes hangCalls calls to it and lets it go on once all calls are
// answered. It returns how long after the deadline the last answer came.
func callHung(h *host, client load.Client, server int, batch uint64) (late time.Duration,
	err error) {
	stopProcess(h.t, server)
	timed := &outcomeRecorder{Client: client}
	at := time.Now()
	result := <-h.run(timed, batch, hangCalls)
	if result.Counts != (load.Counts{Sent: hangCalls, Failed: hangCalls}) {
		return 0, fmt.Errorf("calls to a server that hangs: %+v, errors %v; want an error each",
			result.Counts, result.Errors)
	}
	for nonce, err := range timed.errs {
		if e, ok := errors.AsType[*load.CallError](err); !ok || !maybeExecuted(e) {
			return 0, fmt.Errorf(
				"call %s to a server that hangs: %v, want one that says that it may have been executed", nonce,
				err,
			)
		}
	}
	if early := timed.first.Sub(at); early < hangTimeout {
		return 0, fmt.Errorf("a call was given up after %v", early)
	}
	return timed.last.Sub(at) - hangTimeout, syscall.Kill(server, syscall.SIGCONT)
}

// A server that is busy with one call, and reads nothing meanwhile, is not taken for dead. It
// answers that call and the calls that waited.
func serverBusy(t *testing.T) {
	h := start(t, plainCommand)
	s := append(h.sessions(1, busy), h.sessions(1, note)...)
	pid := pids(t, s[:1])[0]
	calls := fullOrShort(30, 3)
	o := options(1, 1, calls)
	working := make(chan load.Result, 1)
	go func() { // ends with its calls; awaited below
		result, err := load.Run(t.Context(), clients(s[:1]), o)
		if err != nil {
			panic(err) // a mistake in the options
		}
		working <- result
	}()
	waited, err := load.Run(t.Context(), clients(s[1:]), options(2, 4, 4*calls))
	if err != nil {
		t.Fatal(err)
	}
	if result := <-working; !result.Clean() || !waited.Clean() {
		t.Errorf("busy: %+v, %v; others: %+v, %v", result.Counts, result.Errors, waited.Counts,
			waited.Errors)
	}
	if now := pids(t, s[:1])[0]; now != pid {
		t.Errorf("the server that was busy was %s and is %s", pid, now)
	}
	checkOnce(t, h.effects)
	closeSessions(t, s)
}
