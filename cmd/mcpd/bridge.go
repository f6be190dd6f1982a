package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/reconnect"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/stdio"
	"mcpd/transport/streamable"
)

// bridge connects one client to a host elsewhere. A reconnect.Link decides which messages are
// sent and how requests are answered. The bridge holds the connection, the timer and the sinks of
// requests.
type bridge struct {
	endpoint string
	log      io.Writer
	push     stdio.Push
	// mirrors are the header fields of tools. It is nil unless the bridge is for stateless requests.
	mirrors     *mirrors
	readers     sync.WaitGroup
	lastFailure atomic.Pointer[failure] // the last failure

	mu     sync.Mutex // guards the fields below
	link   *reconnect.Link
	up     *streamable.Client
	sinks  map[jsonrpc.ID]pendingRequest
	timer  *time.Timer // nil until the link asks for it
	closed bool
	// deferred are calls that must wait until mu is free.
	deferred []func()
}

// pendingRequest is a request without an outcome.
type pendingRequest struct {
	method string
	out    transport.Sink
	// call is the request if it may have to be sent once more, otherwise zero.
	call jsonrpc.Message
}

// maxRetrySize bounds, in bytes, a request that is kept so that it can be sent once more. A larger
// request that lacks header fields is refused until its client has read the list of tools.
const maxRetrySize = 64 << 10

func newBridge(
	endpoint string, log io.Writer, link *reconnect.Link, push stdio.Push,
) (*bridge, error) {
	b := &bridge{
		endpoint: endpoint, log: log, push: push, link: link, sinks: map[jsonrpc.ID]pendingRequest{},
	}
	return b, b.connect()
}

// connect replaces the connection by a new one. It sends nothing.
func (b *bridge) connect() error {
	header, err := credentials()
	if err != nil {
		return err
	}
	up, err := streamable.NewClient(streamable.ClientOptions{URL: b.endpoint, Header: header})
	if err != nil {
		return err
	}
	if b.mirrors != nil {
		up.Mirror(b.mirrors.of)
	}
	if old := b.up; old != nil {
		b.readers.Go(func() { // owner: the bridge, whose Close waits for it
			ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
			defer cancel()
			// The connection has ended already.
			_ = old.Close(ctx)
		})
	}
	b.up = up
	b.readers.Go(func() { b.read(up) }) // owner: the bridge, whose Close waits for it
	return nil
}

// Version returns the revision that the host has agreed to, 0 before that.
func (b *bridge) Version() protocol.Version {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.link.Version()
}

// served reports whether a host has ever answered, and the last failure if none has.
func (b *bridge) served() (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if why := b.lastFailure.Load(); why != nil && !b.link.Opened() {
		return false, why
	}
	return b.link.Opened(), nil
}

// Deliver accepts a message from the client.
func (b *bridge) Deliver(_ context.Context, m jsonrpc.Message, out transport.Sink) error {
	e := reconnect.Event{Op: reconnect.Notice, Message: m}
	switch {
	case m.Method == "":
		e.Op = reconnect.Reply
	case out != nil:
		e.Op = reconnect.Request
		w := pendingRequest{method: m.Method, out: out}
		if b.mirrors != nil && m.Method == "tools/call" && m.Size() <= maxRetrySize {
			w.call = m
		}
		b.mu.Lock()
		closed := b.closed
		if !closed {
			b.sinks[m.ID] = w
		}
		b.mu.Unlock()
		if closed {
			return transport.ErrClosed
		}
	}
	b.step(e)
	return nil
}

// Close also ends the session at the host. Requests without an outcome fail.
func (b *bridge) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
	up, away := b.up, b.link.Away()
	b.mu.Unlock()
	// The host cannot be reached, so it is not told.
	if away {
		up.Leave()
	}
	err := up.Close(ctx)
	b.readers.Wait()
	b.abandon()
	if away {
		return nil
	}
	return err
}

// abandon fails the requests that have no outcome when the bridge is closed.
func (b *bridge) abandon() {
	b.mu.Lock()
	left := b.sinks
	b.sinks = map[jsonrpc.ID]pendingRequest{}
	gone := protocol.Translate(protocol.SessionGone(), b.link.Version())
	b.mu.Unlock()
	for id, w := range left {
		w.out.Finish(jsonrpc.Failure(id, gone))
	}
}

// read passes messages from the host to the link until the connection ends.
func (b *bridge) read(up *streamable.Client) {
	for {
		// Close ends this call.
		in, err := up.Recv(context.Background())
		if err != nil {
			b.handleFrom(up, b.ended(err))
			return
		}
		if e, ok := b.event(in); ok {
			b.handleFrom(up, e)
		}
	}
}

// handleFrom handles an event of a connection, unless another connection has replaced it.
func (b *bridge) handleFrom(up *streamable.Client, e reconnect.Event) {
	b.withLock(func() {
		if b.up == up {
			b.handle(e)
		}
	})
}

// step handles an event that does not belong to a connection.
func (b *bridge) step(e reconnect.Event) { b.withLock(func() { b.handle(e) }) }

// withLock calls f with the mutex held, unless the bridge is closed. Then it makes the calls that
// had to wait for the mutex.
func (b *bridge) withLock(f func()) {
	b.mu.Lock()
	if !b.closed {
		f()
	}
	later := b.deferred
	b.deferred = nil
	b.mu.Unlock()
	for _, f := range later {
		f()
	}
}

// handle passes an event to the link and performs the effects that the link decides on. The mutex
// is held.
func (b *bridge) handle(e reconnect.Event) {
	for events := []reconnect.Event{e}; len(events) > 0; events = events[1:] {
		for _, effect := range b.link.Step(time.Now(), events[0]) {
			if failed, ok := b.perform(effect); ok {
				events = append(events, failed)
			}
		}
	}
}

// perform performs an effect. A failure to send is returned as another event. The mutex is held.
func (b *bridge) perform(e reconnect.Effect) (failed reconnect.Event, ok bool) {
	switch e.Do {
	case reconnect.Connect:
		// The same options were valid before.
		_ = b.connect()
	case reconnect.Agree:
		b.up.Negotiated(e.Version)
	case reconnect.Send:
		if err := b.up.Send(context.Background(), e.Message); err != nil {
			return b.unsent(e.Message, err)
		}
	case reconnect.Deliver:
		w, related := b.sinks[e.ID]
		if !related || w.out.Send(e.Message) != nil {
			// The transport tells a client that does not read.
			_ = b.push(e.Message)
		}
	case reconnect.Finish:
		b.finish(e.ID, e.Message)
	case reconnect.Arm:
		b.setTimer(time.Until(e.At))
	case reconnect.Log:
		fmt.Fprintf(b.log, "mcpd stdio: %s\n", telemetry.Clean(e.Text, maxLogLine))
	}
	return reconnect.Event{}, false
}

// maxLogLine bounds one line of the log, in bytes.
const maxLogLine = 1 << 10

// finish settles a request. The sink runs only when the mutex is free, because it may send
// something in turn.
func (b *bridge) finish(id jsonrpc.ID, m jsonrpc.Message) {
	w, ok := b.sinks[id]
	delete(b.sinks, id)
	if !ok {
		return
	}
	b.deferred = append(b.deferred, func() {
		if b.mirrors == nil || !b.mirrors.refused(b, w, m) {
			w.out.Finish(m)
		}
	})
}

// setTimer sets the timer so that it calls the link after the given time.
func (b *bridge) setTimer(after time.Duration) {
	if b.timer == nil {
		b.timer = time.AfterFunc(after, func() { b.step(reconnect.Event{Op: reconnect.Tick}) })
		return
	}
	b.timer.Reset(after)
}
