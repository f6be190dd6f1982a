package load

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// latencyFloor is the resolution of latencies. Loopback calls take some hundred microseconds, so
// that a microsecond is below 1 %.
const latencyFloor = time.Microsecond

// latencyDigits is the number of significant digits of a latency: an error of at most 0.1 %.
const latencyDigits = 3

// newHistogram returns a histogram for the latencies of a run. A latency is at most For plus
// Timeout; larger values than the histogram's maximum are clamped.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(latencyFloor), int64(MaxTimeout), latencyDigits)
}

// Run makes calls until o.Calls were made, o.For has passed or ctx ends. Then it waits for the
// calls in flight and returns the result. The end of ctx does not cancel calls in flight, since a
// call that we abandon is not a call that the server lost. The only error is a mistake in the
// options; all outcomes of calls are in the Result.
func Run(ctx context.Context, clients []Client, o Options) (Result, error) {
	if err := o.check(len(clients)); err != nil {
		return Result{}, fmt.Errorf("load options: %w", err)
	}
	start := o.Clock.Now()
	r := &run{options: o, pace: pace{start: start, rate: o.Rate}, ledger: NewLedger(o.Run)}
	shared := make([]latencies, min(o.Workers, runtime.GOMAXPROCS(0)))
	for i := range shared {
		shared[i].all = newHistogram()
	}
	workers := make([]worker, o.Workers)
	var done sync.WaitGroup
	for i := range workers {
		workers[i] = worker{
			run: r, client: clients[i%len(clients)], latencies: &shared[i%len(shared)],
			errors: map[string]uint64{},
		}
		done.Go(func() { workers[i].work(ctx) })
	}
	done.Wait()

	result := Result{
		Options: o, Took: o.Clock.Now().Sub(start), Counts: r.ledger.Counts(), Latency: newHistogram(),
		Errors: map[string]uint64{},
	}
	for i := range workers {
		result.add(&workers[i])
	}
	for i := range shared {
		result.Latency.Merge(shared[i].all)
	}
	return result, nil
}

// run is shared by the workers of one run.
type run struct {
	options Options
	pace    pace
	ledger  *Ledger
	next    atomic.Int64 // the call that the next free worker makes
}

// worker makes one call at a time and keeps its own counts, so that measuring causes no contention
// between callers.
type worker struct {
	*run
	client    Client
	latencies *latencies
	late      time.Duration
	waited    uint64
	errors    map[string]uint64
}

// latencies is a histogram that several workers share. It takes 184 KiB, too much for each of
// thousands of workers. One histogram for each processor suffices, because no more are written to
// at once.
type latencies struct {
	mu  sync.Mutex
	all *hdrhistogram.Histogram
}

func (l *latencies) add(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// cannot be out of range: the histogram takes 0 as its floor
	_ = l.all.RecordValue(int64(min(took, MaxTimeout)))
}

func (w *worker) work(ctx context.Context) {
	o := w.options
	end := w.pace.start.Add(o.For)
	for {
		i := int(w.next.Add(1) - 1)
		if i >= o.Calls {
			return
		}
		due, from, ok := w.await(ctx, i)
		// A saturated open loop is behind on every call. Calls that are still due when the time is up
		// are not made.
		if !ok || !o.Clock.Now().Before(end) {
			return
		}
		w.call(ctx, i, due, from)
	}
}

// await waits until call i is due and returns the moment from which its latency counts. If the
// worker was busy at the due time, latency counts from the due time. If it was free, latency counts
// from when the worker woke up: the machine's delay in waking a sleeper, easily a millisecond, is
// no latency of the server, and is reported separately.
func (w *worker) await(ctx context.Context, i int) (due, from time.Time, ok bool) {
	now := w.options.Clock.Now()
	due, paced := w.pace.due(i)
	switch {
	case !paced:
		return now, now, ctx.Err() == nil
	case due.Before(now):
		w.waited++
		return due, due, ctx.Err() == nil
	}
	if !due.Before(w.pace.start.Add(w.options.For)) || sleepUntil(ctx, w.options.Clock, due) != nil {
		return due, due, false
	}
	now = w.options.Clock.Now()
	w.late = max(w.late, now.Sub(due))
	return due, now, true
}

// call makes call i and records it.
func (w *worker) call(ctx context.Context, i int, due, from time.Time) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.options.Timeout)
	defer cancel()
	sent := w.ledger.Issue()
	got, err := w.client.Call(limited, sent)
	is, doubled := w.ledger.Settle(sent, got, err)
	if err != nil {
		w.note(err)
	}
	if o := w.options.Observe; o != nil {
		o(Call{
			Due: due, From: from, Done: w.options.Clock.Now(), Outcome: is, Doubled: doubled, Err: err,
		})
	}
	if is == OK && i >= w.options.Warmup {
		w.latencies.add(w.options.Clock.Now().Sub(from))
	}
}

// maxErrorTexts bounds the distinct errors that a worker keeps. It is enough to see the problem,
// whatever the server writes into them.
const maxErrorTexts = 8

func (w *worker) note(err error) {
	text := err.Error()
	if _, known := w.errors[text]; !known && len(w.errors) >= maxErrorTexts {
		text = "other errors"
	}
	w.errors[text]++
}
