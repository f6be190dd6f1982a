package load

import (
	"errors"
	"fmt"
	"time"

	"mcpd/internal/clock"
)

// Bounds of a run.
const (
	// MaxWorkers bounds goroutines and histograms (some 230 KB each) at about 1 GB.
	MaxWorkers = 4096
	// MaxCalls bounds the ledger, which keeps a byte a call, at 64 MiB.
	MaxCalls = 1 << 26
	// MaxFor bounds a forgotten run: the longest soak is eight hours.
	MaxFor = 24 * time.Hour
	// MaxTimeout is the longest call the histogram can hold, and longer than any limit a call of ours has (15 min).
	MaxTimeout = 20 * time.Minute
)

// Options say how a run puts its calls. Calls, For, Timeout and Workers have no defaults: a run without bounds is a mistake.
type Options struct {
	// Clock paces and measures.
	Clock clock.Clock
	// Run numbers the nonces.
	Run uint64
	// Workers is how many calls may be under way at once. Worker w uses client w modulo the number of clients.
	Workers int
	// Rate, in calls a second, makes the loop open: call i is due at start + i/Rate whatever became of the calls before it, and when
	// every worker is busy then, its latency counts from there, so that a server that stalls cannot hide the calls it kept waiting. 0 makes the loop
	// closed: every worker calls again as soon as its last call ended, and latency counts from the call.
	Rate float64
	// Calls ends the run after so many calls.
	Calls int
	// For ends the run's issuing of calls after this time; calls under way still end by themselves or by Timeout.
	For time.Duration
	// Timeout is how long one call may last before it counts as lost.
	Timeout time.Duration
	// Warmup is how many of the first calls are made and checked but not timed.
	Warmup int
	// Observe, if there is one, is told of every call as soon as it is settled, by the worker that made it: it must be safe for concurrent use
	// and return soon, since the worker's next call waits for it.
	Observe func(Call)
}

// Call is one settled call.
type Call struct {
	Due     time.Time // by the schedule of an open loop, else when it was made
	From    time.Time // its latency counts from there
	Done    time.Time
	Outcome Outcome
	Doubled bool  // there was more than one outcome
	Err     error // of what failed or was lost
}

// check names every mistake.
func (o Options) check(clients int) error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	want(o.Clock != nil, "clock: missing")
	want(clients > 0, "clients: none")
	want(o.Workers >= 1 && o.Workers <= MaxWorkers, "workers: %d, want 1 to %d", o.Workers, MaxWorkers)
	want(o.Rate >= 0 && o.Rate <= 1e9, "rate: %v a second, want 0 (closed loop) to 1e9", o.Rate) // refuses NaN too
	want(o.Calls >= 1 && o.Calls <= MaxCalls, "calls: %d, want 1 to %d", o.Calls, MaxCalls)
	want(o.For > 0 && o.For <= MaxFor, "for: %v, want up to %v", o.For, MaxFor)
	want(o.Timeout > 0 && o.Timeout <= MaxTimeout, "timeout: %v, want up to %v", o.Timeout, MaxTimeout)
	want(o.Warmup >= 0 && o.Warmup < o.Calls, "warmup: %d, want 0 to fewer than the %d calls", o.Warmup, o.Calls)
	return errors.Join(errs...)
}
