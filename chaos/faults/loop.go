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
	over sync.WaitGroup
	hits atomic.Int64

	mu    sync.Mutex // guards the fields below
	err   error      // the first
	wrong error      // the first of those that are wrong whatever else was right
}

// errWrong is wrapped by what a host must never do. One such answer is enough, however many were right.
var errWrong = errors.New("the host is wrong")

// begin starts a loop with so many hands. Each does it, waits, and does it again; what it returns is how often that has struck. It ends by heal
// alone, or when the fault's time is twice over, should nobody heal it.
func begin(ctx context.Context, s *Site, hands int, wait time.Duration, do func(ctx context.Context, hand int) (hits int, err error)) *loop {
	return beginApart(ctx, s, hands, wait, 0, do)
}

// beginApart is begin with hands that are not in step: each starts so much later than the one before.
func beginApart(ctx context.Context, s *Site, hands int, wait, apart time.Duration, do func(ctx context.Context, hand int) (hits int, err error)) *loop {
	l := &loop{}
	ctx, l.stop = context.WithTimeout(context.WithoutCancel(ctx), 2*s.For)
	for hand := range hands {
		l.over.Go(func() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Duration(hand) * apart):
			}
			pause := time.NewTicker(wait)
			defer pause.Stop()
			for {
				n, err := do(ctx, hand)
				l.hits.Add(int64(n))
				if errors.Is(err, errWrong) || ctx.Err() == nil { // what it was doing at the end has been cut short
					l.note(err)
				}
				if ctx.Err() != nil {
					return
				}
				select {
				case <-ctx.Done():
					return
				case <-pause.C:
				}
			}
		})
	}
	return l
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
	l.over.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hits.Load() > 0 {
		return nil
	}
	return l.err
}

// injected is the loop as a fault.
func (l *loop) injected(target string) Injected {
	return Injected{Target: target, Heal: l.heal, Hits: l.struck}
}
