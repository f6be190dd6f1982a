package streamable

import (
	"errors"
	"net/http"
	"os"

	"mcpd/transport"
)

// Lend implements transport.Lender: the goroutine of net/http that waits for the outcome runs the
// errand until it has something else to do. It runs at most one errand.
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

// take returns the errand that waits to be run, or nil, and removes it.
func (r *reply) take() transport.Errand {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.errand
	r.errand = nil
	return e
}

// run runs the waiting errand, if there is one. Any signal to the goroutine recalls the errand.
func (r *reply) run() {
	e := r.take()
	if e == nil {
		return
	}
	r.out.errand = e
	r.out.lent.Store(true)
	defer r.out.lent.Store(false)
	if r.hasOtherWork() {
		e.Recall()
	}
	e.Run()
}

// hasOtherWork reports whether the goroutine has other work that was signalled before it started
// the errand. The same token may have signalled both.
func (r *reply) hasOtherWork() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.out.wake) > 0 || r.out.ticked.Load() || r.stream != nil || r.pending == 0
}

// passErrand runs the errand with an immediate recall, once nothing waits here any more.
func (r *reply) passErrand() {
	if e := r.take(); e != nil {
		e.Recall()
		e.Run()
	}
}

// lineOf returns the connection of an HTTP/1 request, which has the connection for itself and ends
// when the connection ends. It returns nil for any other request.
func lineOf(r *http.Request) *connection {
	c := connectionOf(r)
	if r.ProtoMajor != 1 || c == nil || c.disconnectUnknown {
		return nil
	}
	return c
}

// departure returns a channel that is closed when the client leaves. It returns nil if that event
// wakes the stream response of the reply instead, which saves a channel for each call: see await.
func (r *reply) departure(req *http.Request) <-chan struct{} {
	if r.line == nil {
		return req.Context().Done()
	}
	r.line.await(&r.out)
	return nil
}

// await makes the end of the connection wake o. A nil o cancels this. On a nil connection it does
// nothing.
func (c *connection) await(o *streamResponse) {
	if c == nil {
		return
	}
	if c.waiter.Store(o); o != nil && c.broken.Load() {
		o.signal()
	}
}

// ends records that a read has failed. If no stream response waits, a read that failed by a
// deadline does not mean that the client left: net/http ends its own reads in this way.
func (c *connection) ends(err error) {
	o := c.waiter.Load()
	if o != nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		c.broken.Store(true)
	}
	if o == nil { // a stream response may have been stored since, too early to see broken
		o = c.waiter.Load()
	}
	if o != nil {
		o.signal()
	}
}

// isBroken reports whether the client has left. A nil connection reports false.
func (c *connection) isBroken() bool { return c != nil && c.broken.Load() }
