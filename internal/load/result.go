package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is the result of a run.
type Result struct {
	Options Options
	// Took is the time from the start of the run to the end of its last call.
	Took   time.Duration
	Counts Counts
	// Latency has the latencies of the calls that were OK, without the warm-up, in nanoseconds. In an
	// open loop, the latency of a call that had to wait for a worker counts from the time when the
	// call was due.
	Latency *hdrhistogram.Histogram
	// Waited is how many calls of an open loop were due while every worker was busy. If it is not
	// small, the server, or the number of workers, could not sustain the rate.
	Waited uint64
	// Late is the longest delay of a call of an open loop after it was due although a worker was free.
	// It is the machine's own delay and not part of Latency. If it is large, the machine was too busy
	// for measurements.
	Late time.Duration
	// Errors counts the errors of calls by their text. Beyond a few texts, further errors count as
	// "other errors".
	Errors map[string]uint64
}

func (r *Result) add(w *worker) {
	r.Late = max(r.Late, w.late)
	r.Waited += w.waited
	for text, n := range w.errors {
		r.Errors[text] += n
	}
}

// Throughput returns the OK calls a second over the whole run.
func (r Result) Throughput() float64 {
	if r.Took <= 0 {
		return 0
	}
	return float64(r.Counts.OK) / r.Took.Seconds()
}

// Quantile returns the latency that the share q of the calls, from 0 to 1, did not exceed. It is 0
// for a run without a timed call.
func (r Result) Quantile(q float64) time.Duration {
	return time.Duration(r.Latency.ValueAtQuantile(q * 100))
}

// Clean reports whether every call was answered exactly once with its own reply.
func (r Result) Clean() bool {
	return r.Counts == Counts{Sent: r.Counts.OK, OK: r.Counts.OK}
}
