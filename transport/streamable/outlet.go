package streamable

import (
	"sync/atomic"
	"time"

	"mcpd/transport"
)

// outlet is one HTTP response through which a stream flows, or may come to flow: where the stream stands for this client, and what wakes
// the goroutine that writes. That goroutine is net/http's; an outlet starts none.
type outlet struct {
	wake    chan struct{} // holds one token: there is something to look at
	ticked  atomic.Bool   // a keep-alive period has passed
	parted  atomic.Bool   // its connection is needed for others: the client shall come back later
	crowded atomic.Bool   // with parted: for other tabs of its browser
	lent    atomic.Bool   // the goroutine runs the errand
	errand  transport.Errand

	// Set when the outlet is put on its stream, before it is written to; but for done.
	nonce  string     // of the session; empty where events have no ids
	asks   string     // of the request that the stream replies to, in the ids
	number uint32     // of the stream, in the ids
	kind   streamKind // of the ids
	blind  bool       // of a channel whose client did not say what it has
	done   bool       // all of a stream that is complete was written; whoever writes says so, before it detaches

	// The Streams' mutex guards the rest, except that next is only changed by the goroutine that writes.
	get    bool          // counts against the GETs of the session
	phase  phase         // live until somebody ends it
	stream *stream       // nil until there is one
	sure   uint64        // of a blind one: before this place it is given answers only, which a client takes once
	next   uint64        // the place to look at next
	retry  time.Duration // with hungUp: how long the client shall wait
}

// phase is what became of an outlet.
type phase uint8

const (
	live      phase = iota
	completed       // every answer was taken: the response may end
	hungUp          // the exchange asked for a reconnect
	replaced        // the client came back on another connection before the loss of this one was noticed
	over            // the session ended
)

func makeOutlet() outlet { return outletOver(nil) }

// outletOver is an outlet for the one request of a connection; nil for any other.
func outletOver(line *connection) outlet { return outlet{wake: line.wakes()} }

// wakes is what wakes the outlet of the connection's request. It is that of the request before, of
// whose outlet a late word may come: that wakes for nothing.
func (c *connection) wakes() chan struct{} {
	if c == nil {
		return make(chan struct{}, 1)
	}
	if c.wake == nil {
		c.wake = make(chan struct{}, 1)
	}
	select {
	case <-c.wake:
	default:
	}
	return c.wake
}

// signal wakes the writer. It never blocks, and may be called with or without the mutex.
func (o *outlet) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
	if o.lent.Load() {
		o.errand.Recall()
	}
}

// tick is what the keep-alive timer calls.
func (o *outlet) tick() {
	o.ticked.Store(true)
	o.signal()
}

// appendID appends the id of the event at a place of this outlet's stream. That of the answer to its one request says that it is the last.
func (o *outlet) appendID(dst []byte, seq uint64, w weight) []byte {
	if o.kind == channelStream {
		return appendPlace(dst, o.nonce, seq)
	}
	id := eventID{o.kind, o.number, seq, o.asks}
	if w == outcome && id.asks != "" {
		id.kind, id.asks = answeredStream, ""
	}
	return id.append(dst, o.nonce)
}

// longer is how much longer than others its client shall stay away.
func (o *outlet) longer() time.Duration {
	if o.crowded.Load() {
		return browserRetry
	}
	return 0
}
