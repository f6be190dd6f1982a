package streamable

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"mcpd/protocol/jsonrpc"
)

// flight is a request on its way, and the context of what carries it. The Client ends those that it has on their way itself, so that none is
// registered with a context above, and a connection that carries one is registered here: only where somebody else waits for its end is there a
// context of package context, with what that costs.
type flight struct {
	older *flight     // with the same id, which somebody uses again too soon; nil for most
	waits bool        // for its answer on the standing stream; guarded by the Client's mutex
	there bool        // its answer has come by that; likewise
	late  *time.Timer // ends it a moment after that; likewise, nil for most
	sent  sent        // the request, while nobody has read its response; only who carries it uses this

	mu             sync.Mutex // guards what follows
	err            error
	wire           *wire           // what is cut when it ends; nil while nothing is
	lent, recalled bool            // somebody carries it who may be recalled, and was
	full           context.Context // nil until somebody waits
	end            context.CancelFunc
}

var _ context.Context = (*flight)(nil)

// cancel ends it. It is idempotent.
func (f *flight) cancel() {
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
func (f *flight) Deadline() (time.Time, bool) { return time.Time{}, false }

// Err implements context.Context.
func (f *flight) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Done implements context.Context.
func (f *flight) Done() <-chan struct{} {
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

// Value implements context.Context: package context finds its own by it, once it has asked for Done.
func (f *flight) Value(key any) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full == nil {
		return nil
	}
	return f.full.Value(key)
}

// cuts has a connection cut when it ends.
func (f *flight) cuts(w *wire) {
	f.mu.Lock()
	f.wire = w
	over := f.err != nil
	f.mu.Unlock()
	if over {
		w.cut()
	}
}

// lets go of that connection, and reports false when it has been cut.
func (f *flight) lets() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wire = nil
	return f.err == nil
}

// lend notes that somebody carries it who may be recalled. It reports false when he was.
func (f *flight) lend() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lent = !f.recalled
	return f.lent
}

// unlend notes that who carries it is not recalled any more.
func (f *flight) unlend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lent = false
}

// recall ends the wait of who carries it.
func (f *flight) recall() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.recalled = true; f.lent && f.wire != nil {
		_ = f.wire.conn.SetReadDeadline(past) // one that is closed is waited for no more
	}
}

// arrives waits for the response, and reports false when it was recalled before that is there, or
// there will be none.
func (f *flight) arrives() bool {
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
		_ = f.sent.w.conn.SetReadDeadline(time.Time{}) // likewise
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

// grip is that a connection is cut when a context ends.
type grip struct {
	flight *flight     // of it; nil for any other context
	stop   func() bool // of any other
}

// cutAtEnd has a connection cut when a context ends.
func cutAtEnd(ctx context.Context, w *wire) grip {
	if f, ok := ctx.(*flight); ok {
		f.cuts(w)
		return grip{flight: f}
	}
	return grip{stop: context.AfterFunc(ctx, w.cut)}
}

// release undoes that, and reports false when it is too late.
func (g grip) release() bool {
	if g.flight != nil {
		return g.flight.lets()
	}
	return g.stop()
}

// settle forgets a request, whose id may be another's by now: its answer has been delivered. The last one ends a connection whose session is
// lost.
func (c *Client) settle(id jsonrpc.ID, f *flight) {
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

// cancel stops a request without a word.
func (c *Client) cancel(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.inFlight[id]; f != nil {
		f.cancel()
	}
}

// giveUp ends requests and streams. The mutex is held.
func (c *Client) giveUp() {
	c.endCalls()
	for _, f := range c.inFlight {
		for ; f != nil; f = f.older {
			f.cancel()
		}
	}
}

// forget closes the connection on which the request is, if nobody has read the response.
func (f *flight) forget() {
	if f.sent.w != nil {
		f.sent.abandon()
		f.sent = sent{}
	}
}
