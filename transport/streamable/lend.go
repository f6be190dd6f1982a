package streamable

import (
	"errors"
	"net/http"
	"os"

	"mcpd/transport"
)

// Lend implements transport.Lender: the goroutine of net/http that waits for the outcome carries
// the request, until there is something else to do. It runs one errand.
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

// run runs the errand, if there is one. Whatever wakes the goroutine recalls it.
func (r *reply) run() {
	e := r.take()
	if e == nil {
		return
	}
	r.out.errand = e
	r.out.lent.Store(true)
	defer r.out.lent.Store(false)
	if r.pressing() {
		e.Recall()
	}
	e.Run()
}

// pressing reports whether there is something to do for the goroutine that was said before it
// carries anything, maybe by the same token that told it of the errand.
func (r *reply) pressing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.out.wake) > 0 || r.out.ticked.Load() || r.stream != nil || r.pending == 0
}

// pass has the errand run in its own time, when nobody waits here any more.
func (r *reply) pass() {
	if e := r.take(); e != nil {
		e.Recall()
		e.Run()
	}
}

// lineOf is the connection of a request that is the only one there, and ends with it; nil for any
// other.
func lineOf(r *http.Request) *connection {
	c := connectionOf(r)
	if r.ProtoMajor != 1 || c == nil || c.outlived {
		return nil
	}
	return c
}

// departure is closed when the client leaves. It is nil where that wakes the outlet of the reply
// instead, which spares a channel for each call: see await.
func (r *reply) departure(req *http.Request) <-chan struct{} {
	if r.line == nil {
		return req.Context().Done()
	}
	r.line.await(&r.out)
	return nil
}

// await has the end of the connection wake an outlet; nil is none. Nil awaits nothing.
func (c *connection) await(o *outlet) {
	if c == nil {
		return
	}
	if c.waiter.Store(o); o != nil && c.broken.Load() {
		o.signal()
	}
}

// ends notes that a read has failed. Where nobody waits, one that was ended by a deadline says
// nothing of the client: it is how net/http ends its own.
func (c *connection) ends(err error) {
	o := c.waiter.Load()
	if o != nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		c.broken.Store(true)
	}
	if o == nil { // or it has come meanwhile, and looks at broken
		o = c.waiter.Load()
	}
	if o != nil {
		o.signal()
	}
}

// isBroken reports whether the client has left. Nil is known not to.
func (c *connection) isBroken() bool { return c != nil && c.broken.Load() }
