package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what a run saw.
type Result struct {
	Options Options
	// Took is from the start of the run to the end of its last call.
	Took   time.Duration
	Counts Counts
	// Latency holds the calls that were OK, without the warm-up, in nanoseconds. In an open loop a call that had to wait for a worker
	// counts from when it was due.
	Latency *hdrhistogram.Histogram
	// Waited is how many calls of an open loop were due while every worker was busy. When it is not small, the server, or the number of
	// workers, did not hold the rate.
	Waited uint64
	// Late is the longest that a call of an open loop was made after it was due although a worker was free: the machine's own delay,
	// which is not in Latency. When it is large, the machine was too busy to measure on.
	Late time.Duration
	// Errors counts the errors of calls by their text, with what is beyond a few texts under "other errors".
	Errors map[string]uint64
}

func (r *Result) add(w *worker) {
	r.Late = max(r.Late, w.late)
	r.Waited += w.waited
	for text, n := range w.errors {
		r.Errors[text] += n
	}
}

// Throughput is the OK calls a second over the whole run.
func (r Result) Throughput() float64 {
	if r.Took <= 0 {
		return 0
	}
	return float64(r.Counts.OK) / r.Took.Seconds()
}

// Quantile returns the latency that the share q of the calls, 0 to 1, did not exceed. A run without a timed call has 0.
func (r Result) Quantile(q float64) time.Duration {
	return time.Duration(r.Latency.ValueAtQuantile(q * 100))
}

// Clean reports whether every call that was made was answered, once, with its own reply.
func (r Result) Clean() bool {
	return r.Counts == Counts{Sent: r.Counts.OK, OK: r.Counts.OK}
}
