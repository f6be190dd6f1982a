package streamable

import (
	"sync/atomic"
	"time"

	"mcpd/transport"
)

// streamResponse is one HTTP response that carries a stream, or may come to carry one. It records
// the position of this client in the stream, and the channel that wakes the goroutine that writes.
// That goroutine belongs to net/http; a stream response starts none.
type streamResponse struct {
	wake    chan struct{} // holds one token: there is something to look at
	ticked  atomic.Bool   // a keep-alive period has passed
	evicted atomic.Bool   // its connection is needed for others: the client should reconnect later
	crowded atomic.Bool   // with evicted: for other tabs of its browser
	lent    atomic.Bool   // the goroutine runs the errand
	errand  transport.Errand

	// Set when the stream response is attached to its stream, before the first write; except done.
	nonce        string     // of the session; empty if events have no ids
	requestID    string     // encoded id of the request that the stream answers, for event ids
	number       uint32     // of the stream, for event ids
	kind         streamKind // for event ids
	unsureOfLast bool       // of a channel whose client did not name its last event
	// done says that all of a completed stream was written. The writer sets it before it detaches.
	done bool

	// The Streams' mutex guards the rest, except that only the writing goroutine changes next.
	get    bool    // counts against the GETs of the session
	phase  phase   // live until it is ended
	stream *stream // nil until there is one
	// answersOnlyBefore is used with blind: only answers with lower sequence numbers are sent, because
	// a client ignores an answer that it already has.
	answersOnlyBefore uint64
	next              uint64        // the sequence number to look at next
	retry             time.Duration // with hungUp: how long the client should wait
}

// phase is the state of a stream response.
type phase uint8

const (
	live      phase = iota
	completed       // every answer was written: the response may end
	hungUp          // the exchange asked for a reconnect
	replaced        // the client reconnected before the loss of this connection was noticed
	over            // the session ended
)

func makeStreamResponse() streamResponse { return streamResponseOver(nil) }

// streamResponseOver returns a stream response for the only request of a connection. line is nil
// for any other request.
func streamResponseOver(line *connection) streamResponse {
	return streamResponse{wake: line.wakeChan()}
}

// wakeChan returns the wake-up channel for the stream response of the connection's request. The
// requests of a connection share it. A late signal for the previous stream response only causes a
// spurious wake-up.
func (c *connection) wakeChan() chan struct{} {
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
func (o *streamResponse) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
	if o.lent.Load() {
		o.errand.Recall()
	}
}

// tick is called by the keep-alive timer.
func (o *streamResponse) tick() {
	o.ticked.Store(true)
	o.signal()
}

// appendID appends the id of the event with a sequence number of this stream response's stream. The
// id of the answer to its only request marks the stream as answered.
func (o *streamResponse) appendID(dst []byte, seq uint64, w importance) []byte {
	if o.kind == channelStream {
		return appendPlace(dst, o.nonce, seq)
	}
	id := eventID{o.kind, o.number, seq, o.requestID}
	if w == outcome && id.requestID != "" {
		id.kind, id.requestID = answeredStream, ""
	}
	return id.append(dst, o.nonce)
}

// extraRetry returns the additional reconnect delay of the stream response's client.
func (o *streamResponse) extraRetry() time.Duration {
	if o.crowded.Load() {
		return browserRetry
	}
	return 0
}
