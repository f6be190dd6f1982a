package faults

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// loop runs a function again and again on several workers until it is healed.
type loop struct {
	stop    context.CancelFunc
	running sync.WaitGroup // the runs in progress
	hits    atomic.Int64

	mu      sync.Mutex    // guards the fields below
	healed  bool          // no run begins any more
	waiting []*time.Timer // one per worker
	err     error         // the first error
	// the first error that wraps errViolation, which counts even if other runs succeeded
	wrong error
}

// errViolation is wrapped by errors about something that a host must never do. One such error fails
// the run, however many answers were right.
var errViolation = errors.New("the host is wrong")

// begin starts a loop with that many workers. Each worker calls do, waits, and calls it again; do
// returns how often that call has struck. The loop ends by heal, or after twice the fault's
// duration if nobody heals it.
func begin(ctx context.Context, s *Site, workers int, wait time.Duration,
	do func(ctx context.Context, worker int) (hits int, err error)) *loop {
	return beginApart(ctx, s, workers, wait, 0, do)
}

// beginApart is begin with staggered workers. The parameter apart is the time between the starts of
// two workers.
//
// A waiting worker is a timer and not a goroutine. A fault may have many thousands of workers in
// the process that measures the host, and each garbage collection scans the stack of every
// goroutine.
func beginApart(ctx context.Context, s *Site, workers int, wait, apart time.Duration,
	do func(ctx context.Context, worker int) (hits int, err error)) *loop {
	l := &loop{waiting: make([]*time.Timer, workers)}
	ctx, l.stop = context.WithTimeout(context.WithoutCancel(ctx), 2*s.Duration)
	begun := time.Now()
	for worker := range workers {
		l.later(ctx, worker, begun.Add(time.Duration(worker)*apart), wait, do)
	}
	return l
}

// later schedules a run of a worker for the time due, and its next run after wait.
func (l *loop) later(ctx context.Context, worker int, due time.Time, wait time.Duration,
	do func(ctx context.Context, worker int) (int, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.healed {
		return
	}
	l.waiting[worker] = time.AfterFunc(time.Until(due), func() {
		if !l.enter(ctx) {
			return
		}
		defer l.running.Done()
		n, err := do(ctx, worker)
		l.hits.Add(int64(n))
		// an error after the end is only the run being cut short
		if errors.Is(err, errViolation) || ctx.Err() == nil {
			l.note(err)
		}
		next := due.Add(wait)
		if now := time.Now(); next.Before(now) { // missed runs are not made up for
			next = now
		}
		l.later(ctx, worker, next, wait, do)
	})
}

// enter registers a run in progress and reports whether the run may begin.
func (l *loop) enter(ctx context.Context) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.healed || ctx.Err() != nil {
		return false
	}
	l.running.Add(1)
	return true
}

func (l *loop) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
	if l.wrong == nil && errors.Is(err, errViolation) {
		l.wrong = err
	}
}

// hitCount returns how often the loop has struck, and the first error that wraps errViolation.
func (l *loop) hitCount(context.Context) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.hits.Load()), l.wrong
}

// heal ends the loop. It returns the first error only if nothing has ever struck: an occasional
// refusal by a host is no error.
func (l *loop) heal(context.Context) error {
	l.stop()
	l.prevent()
	l.running.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hits.Load() > 0 {
		return nil
	}
	return l.err
}

// prevent prevents any further run.
func (l *loop) prevent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.healed = true
	for _, t := range l.waiting {
		t.Stop()
	}
}

// injected returns the loop as a fault.
func (l *loop) injected(target string) Injected {
	return Injected{Target: target, Heal: l.heal, Hits: l.hitCount}
}
