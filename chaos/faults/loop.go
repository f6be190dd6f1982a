package faults

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// loop does one thing again and again until it is healed.
type loop struct {
	stop context.CancelFunc
	over sync.WaitGroup // of the hands that are at work
	hits atomic.Int64

	mu      sync.Mutex    // guards the fields below
	healed  bool          // no hand begins any more
	waiting []*time.Timer // of each hand
	err     error         // the first
	wrong   error         // the first of those that are wrong whatever else was right
}

// errWrong is wrapped by what a host must never do. One such answer is enough, however many were right.
var errWrong = errors.New("the host is wrong")

// begin starts a loop with so many hands. Each does it, waits, and does it again; what it returns is how often that has struck. It ends by heal
// alone, or when the fault's time is twice over, should nobody heal it.
func begin(ctx context.Context, s *Site, hands int, wait time.Duration, do func(ctx context.Context, hand int) (hits int, err error)) *loop {
	return beginApart(ctx, s, hands, wait, 0, do)
}

// beginApart is begin with hands that are not in step: each starts so much later than the one before.
//
// A hand that waits is a timer and not a goroutine. A fault may have many thousands of them, in the
// process that measures the host, and every collection there looks at the stack of each goroutine.
func beginApart(ctx context.Context, s *Site, hands int, wait, apart time.Duration, do func(ctx context.Context, hand int) (hits int, err error)) *loop {
	l := &loop{waiting: make([]*time.Timer, hands)}
	ctx, l.stop = context.WithTimeout(context.WithoutCancel(ctx), 2*s.For)
	begun := time.Now()
	for hand := range hands {
		l.later(ctx, hand, begun.Add(time.Duration(hand)*apart), wait, do)
	}
	return l
}

// later has a hand do it when it is due, and again each wait after that.
func (l *loop) later(ctx context.Context, hand int, due time.Time, wait time.Duration, do func(ctx context.Context, hand int) (int, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.healed {
		return
	}
	l.waiting[hand] = time.AfterFunc(time.Until(due), func() {
		if !l.enter(ctx) {
			return
		}
		defer l.over.Done()
		n, err := do(ctx, hand)
		l.hits.Add(int64(n))
		if errors.Is(err, errWrong) || ctx.Err() == nil { // what it was doing at the end has been cut short
			l.note(err)
		}
		next := due.Add(wait)
		if now := time.Now(); next.Before(now) { // what was missed is not made up for
			next = now
		}
		l.later(ctx, hand, next, wait, do)
	})
}

// enter takes note that a hand is at work, and reports whether it may be.
func (l *loop) enter(ctx context.Context) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.healed || ctx.Err() != nil {
		return false
	}
	l.over.Add(1)
	return true
}

func (l *loop) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
	if l.wrong == nil && errors.Is(err, errWrong) {
		l.wrong = err
	}
}

// struck is how often it has, and what was wrong.
func (l *loop) struck(context.Context) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.hits.Load()), l.wrong
}

// heal ends the loop. It tells the first mistake when nothing has ever struck: what a host refuses now and then is no mistake.
func (l *loop) heal(context.Context) error {
	l.stop()
	l.rest()
	l.over.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hits.Load() > 0 {
		return nil
	}
	return l.err
}

// rest has no hand begin any more.
func (l *loop) rest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.healed = true
	for _, t := range l.waiting {
		t.Stop()
	}
}

// injected is the loop as a fault.
func (l *loop) injected(target string) Injected {
	return Injected{Target: target, Heal: l.heal, Hits: l.struck}
}
