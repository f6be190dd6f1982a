package process

import (
	"context"
	"sync"
)

// Last ends what no manager will any more, because it crashed on it or is gone. Whoever made it stops it when everything else has stopped.
type Last struct {
	ctx    context.Context
	cancel context.CancelFunc
	ends   sync.WaitGroup
}

// NewLast makes one that has nothing to do yet.
func NewLast() *Last {
	l := &Last{}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// end gives stop its time and no more.
func (l *Last) end(stop func(context.Context) error) {
	l.ends.Go(func() {
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
