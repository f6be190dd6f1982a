package process

import (
	"context"
	"sync"
)

// Last closes transports that no manager closes, because it crashed on them or is gone. Whoever made
// it stops it when everything else has stopped.
type Last struct {
	ctx    context.Context
	cancel context.CancelFunc
	ends   sync.WaitGroup
	inline bool
}

// NewLast makes one that has nothing to do yet. One that is inline closes a transport before it
// returns, for a simulation, in which nothing runs beside its schedule.
func NewLast(inline bool) *Last {
	l := &Last{inline: inline}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// end gives stop its time and no more.
func (l *Last) end(stop func(context.Context) error) {
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

// Stop hurries what is still ending, and waits for it.
func (l *Last) Stop() {
	l.cancel()
	l.ends.Wait()
}
