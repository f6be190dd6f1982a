package streamable

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"
)

// responseWriter writes one stream to one HTTP response. It runs on the goroutine on which net/http
// runs the handler.
type responseWriter struct {
	handler  *Handler
	response http.ResponseWriter
	control  *http.ResponseController
	streams  *Streams
	streamed *streamResponse
	client   toucher
	tenant   string           // the tenant of the client
	first    []byte           // bytes written before the events of the stream
	age      time.Duration    // when the client is asked to reconnect; 0 for never
	drain    <-chan struct{}  // nil for the answer to a POST, which ends by itself
	opened   bool             // the response has begun
	waits    idleRegistration // registers the stream while it only waits
}

// run writes until the stream ends, the client leaves, or the handler drains. There is no write
// deadline while run waits: over HTTP/2, a deadline that passes resets the stream even when nothing
// is being written.
func (e *responseWriter) run(ctx context.Context) {
	options := &e.handler.options
	defer e.count()
	clock := options.Store.options.Clock
	opened := clock.Now()
	// A deadline for the end of the response, which net/http writes.
	defer func() { e.control.SetWriteDeadline(time.Now().Add(options.Stall)) }()
	if e.open() != nil {
		return
	}
	defer e.waits.waits(e.streamed)()
	defer e.client.Touch() // the client was connected until now
	e.streamed.ticked.Store(false)
	timer := clock.AfterFunc(options.KeepAlive, e.streamed.tick)
	defer func() { timer.Stop() }()
	for {
		phase, err := e.writePending()
		e.streamed.done = err == nil && phase == completed
		e.count()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			options.Stalled(e.tenant)
			return
		case phase == hungUp:
			e.hint(e.streams.retryOf(e.streamed))
			return
		case phase != live || err != nil:
			return
		case e.streamed.evicted.Load():
			if _, err := e.writePending(); err == nil { // events that arrived before it was asked to end
				e.hint(e.handler.retryDelay() + e.streamed.extraRetry())
			}
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-e.drain:
			e.hint(e.handler.retryDelay())
			return
		case <-e.streamed.wake:
		}
		if !e.streamed.ticked.Swap(false) {
			continue
		}
		if e.age > 0 && clock.Now().Sub(opened) >= e.age {
			e.hint(e.handler.retryDelay())
			return
		}
		e.client.Touch()
		if e.write(keepAlive) != nil {
			return
		}
		timer.Stop() // the last tick may belong to the wait before the stream
		timer = clock.AfterFunc(options.KeepAlive, e.streamed.tick)
	}
}

// count reports the notifications that the client missed.
func (e *responseWriter) count() {
	if n := e.streams.missed(e.streamed); n > 0 {
		e.handler.options.Dropped(e.tenant, n)
	}
}

// hint tells the client when to reconnect.
func (e *responseWriter) hint(retry time.Duration) {
	_ = e.write(appendEvent(nil, Event{Retry: retry}))
}

// prime begins the stream with an event id, so that the client can resume if the connection breaks
// before the first message (2025-11-25 §basic/transports, "Sending Messages to the Server" 6).
func (e *responseWriter) prime() {
	retry := e.streams.retryOf(e.streamed)
	if retry <= 0 {
		retry = e.handler.options.Retry
	}
	id := string(e.streamed.appendID(nil, e.streamed.next-1, ordinary))
	e.first = appendEvent(nil, Event{ID: id, Data: []byte{}, Retry: retry})
}

// open sends the headers at once, followed by the first bytes of the stream.
func (e *responseWriter) open() error {
	if !e.opened {
		e.opened = true
		streamHeaders(e.response.Header())
		e.response.WriteHeader(http.StatusOK)
	}
	return e.write(e.first)
}

// entryBatch is a batch of entries taken from a stream and the buffer for their wire form. Bursts
// are pooled, so that an idle stream holds none.
type entryBatch struct {
	entries [32]entry
	bytes   []byte
}

var entryBatches = sync.Pool{New: func() any { return new(entryBatch) }}

// large is the size, in bytes, from which an event is written on its own instead of being copied
// into the buffer.
const large = 32 << 10

// writePending writes all available events and returns the phase of the stream response after them.
func (e *responseWriter) writePending() (phase, error) {
	b := entryBatches.Get().(*entryBatch)
	defer func() {
		clear(b.entries[:])
		entryBatches.Put(b)
	}()
	for {
		entries, phase := e.streams.take(e.streamed, b.entries[:0])
		if len(entries) == 0 {
			return phase, nil
		}
		if err := e.writeEntries(b, entries); err != nil {
			return phase, err
		}
	}
}

func (e *responseWriter) writeEntries(b *entryBatch, entries []entry) error {
	out := b.bytes[:0]
	for _, entry := range entries {
		if e.streamed.nonce != "" {
			out = append(e.streamed.appendID(append(out, "id: "...), entry.seq, entry.weight), '\n')
		}
		if len(entry.data) < large {
			out = append(appendData(out, entry.data), '\n')
			continue
		}
		out = append(out, "data: "...) // jsonrpc.Message.Append writes one line
		for _, part := range [][]byte{out, entry.data} {
			if err := writeAll(e.response, e.control, e.handler.options.Stall, part); err != nil {
				return err
			}
		}
		out = append(out[:0], "\n\n"...)
	}
	if cap(out) <= keptBuffer {
		b.bytes = out
	}
	return e.write(out)
}

func (e *responseWriter) write(p []byte) error {
	return flushAll(e.response, e.control, e.handler.options.Stall, p)
}
