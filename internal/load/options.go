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
	// MaxCalls bounds the ledger, which keeps a byte for each call, at 64 MiB.
	MaxCalls = 1 << 26
	// MaxFor bounds a forgotten run. The longest soak takes eight hours.
	MaxFor = 24 * time.Hour
	// MaxTimeout is the longest latency that the histogram can hold. It is longer than any time limit
	// of a call in the host (15 min).
	MaxTimeout = 20 * time.Minute
)

// Options are the options of a run. Calls, For, Timeout and Workers have no defaults: a run without
// bounds is a mistake.
type Options struct {
	// Clock is used to schedule and to measure.
	Clock clock.Clock
	// Run is the number of the run in its nonces.
	Run uint64
	// Workers is the number of concurrent calls. Worker w uses client w modulo the number of clients.
	Workers int
	// Rate, in calls a second, makes the loop open: call i is due at start + i/Rate, whatever happens
	// to the calls before it. If every worker is busy then, the latency of the call still counts from
	// the time when it was due. So a stalled server cannot hide the calls that had to wait
	// (coordinated omission). With 0 the loop is closed: every worker makes its next call as soon as
	// its last call has ended, and latency counts from the start of the call.
	Rate float64
	// Calls ends the run after that many calls.
	Calls int
	// For is the time after which the run makes no new calls. Calls in flight still end by themselves
	// or by Timeout.
	For time.Duration
	// Timeout is how long one call may last before it counts as lost.
	Timeout time.Duration
	// Warmup is how many of the first calls are made and checked but not timed.
	Warmup int
	// Observe, if it is set, is called with every call as soon as the call is settled, by the worker
	// that made it. It must be safe for concurrent use and return soon, since the worker's next call
	// waits for it.
	Observe func(Call)
}

// Call is one settled call.
type Call struct {
	Due     time.Time // by the schedule of an open loop, else when it was made
	From    time.Time // the start of its latency
	Done    time.Time
	Outcome Outcome
	Doubled bool  // there was more than one outcome
	Err     error // of a failed or lost call
}

// check returns all mistakes in the options.
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
	// also refuses NaN
	want(o.Rate >= 0 && o.Rate <= 1e9, "rate: %v a second, want 0 (closed loop) to 1e9", o.Rate)
	want(o.Calls >= 1 && o.Calls <= MaxCalls, "calls: %d, want 1 to %d", o.Calls, MaxCalls)
	want(o.For > 0 && o.For <= MaxFor, "for: %v, want up to %v", o.For, MaxFor)
	want(o.Timeout > 0 && o.Timeout <= MaxTimeout, "timeout: %v, want up to %v", o.Timeout, MaxTimeout)
	want(o.Warmup >= 0 && o.Warmup < o.Calls, "warmup: %d, want 0 to fewer than the %d calls",
		o.Warmup, o.Calls)
	return errors.Join(errs...)
}
