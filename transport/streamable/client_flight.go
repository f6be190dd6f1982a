package streamable

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"mcpd/protocol/jsonrpc"
)

// inFlight is an in-flight request, and the context of the code that carries it. The Client itself
// cancels its in-flight requests, so a flight is not registered with a parent context. A connection
// that carries the request is registered here. A context of package context is created only if
// other code waits for its end, because that is costly.
type inFlight struct {
	// older is an earlier request with the same id, which the caller reused too soon; nil for most.
	older *inFlight
	// it waits for its answer on the standalone stream; guarded by the Client's mutex
	waits    bool
	answered bool        // its answer arrived on that stream; likewise
	late     *time.Timer // cancels it answeredTime after that; likewise, nil for most
	// sent is the request, until its response is read; only the carrying goroutine uses it.
	sent sentRequest

	mu             sync.Mutex // guards the rest
	err            error
	wire           *upstreamConn   // cut when the flight ends; may be nil
	lent, recalled bool            // it is carried by an errand, and that was recalled
	full           context.Context // nil until something waits
	end            context.CancelFunc
}

var _ context.Context = (*inFlight)(nil)

// cancel ends the flight. It is idempotent.
func (f *inFlight) cancel() {
	f.mu.Lock()
	if f.err != nil {
		f.mu.Unlock()
		return
	}
	f.err = context.Canceled
	w, end := f.wire, f.end
	f.mu.Unlock()
	if end != nil {
		end()
	}
	if w != nil {
		w.cut()
	}
}

// Deadline implements context.Context.
func (f *inFlight) Deadline() (time.Time, bool) { return time.Time{}, false }

// Err implements context.Context.
func (f *inFlight) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Done implements context.Context.
func (f *inFlight) Done() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full == nil {
		f.full, f.end = context.WithCancel(context.Background())
		if f.err != nil {
			f.end()
		}
	}
	return f.full.Done()
}

// Value implements context.Context. Package context finds its own context with it, after a call of
// Done.
func (f *inFlight) Value(key any) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full == nil {
		return nil
	}
	return f.full.Value(key)
}

// cutAtEnd registers a connection to be cut when the flight ends.
func (f *inFlight) cutAtEnd(w *upstreamConn) {
	f.mu.Lock()
	f.wire = w
	over := f.err != nil
	f.mu.Unlock()
	if over {
		w.cut()
	}
}

// uncut unregisters the connection. It returns false if the connection has been cut.
func (f *inFlight) uncut() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wire = nil
	return f.err == nil
}

// lend records that an errand carries the request. It returns false if the errand was already
// recalled.
func (f *inFlight) lend() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lent = !f.recalled
	return f.lent
}

// unlend records that the errand can no longer be recalled.
func (f *inFlight) unlend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lent = false
}

// recall interrupts the wait of the errand that carries the request.
func (f *inFlight) recall() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.recalled = true; f.lent && f.wire != nil {
		// An error means that the connection is closed and nothing waits.
		_ = f.wire.conn.SetReadDeadline(past)
	}
}

// arrives waits for the response. It returns false if the errand was recalled before the response
// is there, or if there will be none.
func (f *inFlight) arrives() bool {
	f.mu.Lock()
	wait := f.sent.err == nil && !(f.lent && f.recalled)
	f.mu.Unlock()
	var err error
	if wait {
		err = f.sent.w.await()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	recalled := f.lent && f.recalled
	if recalled && f.err == nil {
		_ = f.sent.w.conn.SetReadDeadline(time.Time{}) // an error means that the connection is closed
	}
	f.lent = false
	if recalled && errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	if err != nil {
		f.sent.err = err
	}
	return wait && err == nil
}

// cutGuard is the registration of a connection that is cut when a context ends.
type cutGuard struct {
	flight *inFlight   // set if the context is a flight
	stop   func() bool // set for any other context
}

// guardCut cuts a connection when a context ends.
func guardCut(ctx context.Context, w *upstreamConn) cutGuard {
	if f, ok := ctx.(*inFlight); ok {
		f.cutAtEnd(w)
		return cutGuard{flight: f}
	}
	return cutGuard{stop: context.AfterFunc(ctx, w.cut)}
}

// release reverts guardCut, and returns false if the connection has been cut.
func (g cutGuard) release() bool {
	if g.flight != nil {
		return g.flight.uncut()
	}
	return g.stop()
}

// settle removes a request whose answer has been delivered. Another request may already use the
// same id. The last request ends a connection whose session is lost.
func (c *Client) settle(id jsonrpc.ID, f *inFlight) {
	f.forget()
	c.mu.Lock()
	defer c.mu.Unlock()
	f.cancel()
	if f.late != nil {
		f.late.Stop()
	}
	switch last := c.inFlight[id]; {
	case last != f:
		for ; last != nil; last = last.older {
			if last.older == f {
				last.older = f.older
			}
		}
	case f.older != nil:
		c.inFlight[id] = f.older
	default:
		delete(c.inFlight, id)
	}
	if c.lost != nil && len(c.inFlight) == 0 {
		c.lost.Reset(0)
	}
}

// cancel stops a request without a notification.
func (c *Client) cancel(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.inFlight[id]; f != nil {
		f.cancel()
	}
}

// cancelAll cancels requests and streams. The mutex is held.
func (c *Client) cancelAll() {
	c.endCalls()
	for _, f := range c.inFlight {
		for ; f != nil; f = f.older {
			f.cancel()
		}
	}
}

// forget closes the connection of the request if its response was not read.
func (f *inFlight) forget() {
	if f.sent.w != nil {
		f.sent.abandon()
		f.sent = sentRequest{}
	}
}
