package streamable

import (
	"context"
	"errors"
	"net/http"
	"os"

	"mcpd/transport"
)

// Lend implements transport.Lender: the goroutine of net/http that waits for the outcome carries the
// request, until there is something else to do. It runs one errand.
func (r *reply) Lend(e transport.Errand) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.line == nil || r.lent || r.decided || r.left || r.stream != nil {
		return false
	}
	r.errand, r.lent = e, true
	r.out.signal()
	return true
}

// take takes the errand that waits to be run; nil is none.
func (r *reply) take() transport.Errand {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.errand
	r.errand = nil
	return e
}

// run runs the errand, if there is one. Whatever wakes the goroutine recalls it, and so does the end of
// the connection.
func (r *reply) run(ctx context.Context) {
	e := r.take()
	if e == nil {
		return
	}
	r.out.errand = e
	r.out.lent.Store(true)
	r.line.waiter.Store(&r.out)
	defer func() {
		r.line.waiter.Store(nil)
		r.out.lent.Store(false)
	}()
	if len(r.out.wake) > 0 || r.line.broken.Load() || ctx.Err() != nil { // before that was said
		e.Recall()
	}
	e.Run()
}

// pass has the errand run in its own time, when nobody waits here any more.
func (r *reply) pass() {
	if e := r.take(); e != nil {
		e.Recall()
		e.Run()
	}
}

// lineOf is the connection of a request that is the only one there; nil for any other.
func lineOf(r *http.Request) *connection {
	if r.ProtoMajor != 1 {
		return nil
	}
	return connectionOf(r)
}

// ends notes that a read has failed. One that was ended by a deadline says nothing of the client: it is
// how net/http ends its own.
func (c *connection) ends(err error) {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		c.broken.Store(true)
	}
	if o := c.waiter.Load(); o != nil {
		o.signal()
	}
}
