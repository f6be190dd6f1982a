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

// latencyFloor is the finest latency told apart. Loopback calls take some hundred microseconds, so a microsecond is below 1 %.
const latencyFloor = time.Microsecond

// latencyDigits are the significant digits of a latency: an error of at most 0.1 %.
const latencyDigits = 3

// newHistogram holds every latency a run can have: from due to done is at most For late plus Timeout, beyond which it is clamped.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(latencyFloor), int64(MaxTimeout), latencyDigits)
}

// Run makes calls until o.Calls were made, o.For has passed or ctx ends, waits for the calls under way, and returns what it saw. The
// end of ctx does not cut those short, since a call that we abandon is not one that the server lost. The only error is a mistake in
// the options; whatever the calls did is in the Result.
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
		workers[i] = worker{run: r, client: clients[i%len(clients)], latencies: &shared[i%len(shared)], errors: map[string]uint64{}}
		done.Go(func() { workers[i].work(ctx) })
	}
	done.Wait()

	result := Result{Options: o, Took: o.Clock.Now().Sub(start), Counts: r.ledger.Counts(), Latency: newHistogram(), Errors: map[string]uint64{}}
	for i := range workers {
		result.add(&workers[i])
	}
	for i := range shared {
		result.Latency.Merge(shared[i].all)
	}
	return result, nil
}

// run is what the workers of one run share.
type run struct {
	options Options
	pace    pace
	ledger  *Ledger
	next    atomic.Int64 // the call that the next free worker makes
}

// worker makes one call at a time and keeps its own account, so that measuring costs the callers no contention.
type worker struct {
	*run
	client    Client
	latencies *latencies
	late      time.Duration
	waited    uint64
	errors    map[string]uint64
}

// latencies are those of some workers. A histogram takes 184 KiB, too much for each of thousands of workers, and no more than one for each
// processor are written to at once.
type latencies struct {
	mu  sync.Mutex
	all *hdrhistogram.Histogram
}

func (l *latencies) add(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.all.RecordValue(int64(min(took, MaxTimeout))) // out of range is impossible: the histogram takes 0 as its floor
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
		// A saturated open loop is behind on every call; what is still due when the time is up stays unmade.
		if !ok || !o.Clock.Now().Before(end) {
			return
		}
		w.call(ctx, i, due, from)
	}
}

// await waits until call i is due and returns the moment from which its latency counts. A worker that was kept busy beyond the due time
// counts from that time. One that was free counts from when it woke: how late the machine wakes sleepers, a millisecond easily, is no
// latency of the server, and is told by itself.
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

// call makes call i and books it.
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
		o(Call{Due: due, From: from, Done: w.options.Clock.Now(), Outcome: is, Doubled: doubled, Err: err})
	}
	if is == OK && i >= w.options.Warmup {
		w.latencies.add(w.options.Clock.Now().Sub(from))
	}
}

// maxErrorTexts bounds the distinct errors a worker keeps: enough to see what is wrong, whatever the server writes into them.
const maxErrorTexts = 8

func (w *worker) note(err error) {
	text := err.Error()
	if _, known := w.errors[text]; !known && len(w.errors) >= maxErrorTexts {
		text = "other errors"
	}
	w.errors[text]++
}
