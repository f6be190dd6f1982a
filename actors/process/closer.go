package process

import (
	"context"
	"sync"
)

// Closer closes transports that no manager closes, because the manager crashed on them or is gone.
// Its creator stops it after everything else has stopped.
type Closer struct {
	ctx    context.Context
	cancel context.CancelFunc
	ends   sync.WaitGroup
	inline bool
}

// NewCloser makes a Closer with nothing to do. If inline is set, it closes a transport before it
// returns. That is for a simulation, in which nothing runs outside its schedule.
func NewCloser(inline bool) *Closer {
	l := &Closer{inline: inline}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// end runs stop in the background, within CloseTimeout.
func (l *Closer) end(stop func(context.Context) error) {
	run := l.ends.Go
	if l.inline {
		run = func(f func()) { f() }
	}
	run(func() {
		ctx, cancel := context.WithTimeout(l.ctx, CloseTimeout)
		defer cancel()
		_ = stop(ctx)
	})
}

// Stop cancels the closings that still run, and waits for them.
func (l *Closer) Stop() {
	l.cancel()
	l.ends.Wait()
}
