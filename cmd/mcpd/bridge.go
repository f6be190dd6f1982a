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

// bridge connects one client to a host elsewhere. A reconnect.Link decides what is sent and answered;
// the bridge holds the connection, the timer and the sinks of requests.
type bridge struct {
	endpoint string
	log      io.Writer
	push     stdio.Push
	mirrors  *mirrors // of the tools, where requests stand alone; else nil
	readers  sync.WaitGroup
	trouble  atomic.Pointer[failure] // the last failure

	mu     sync.Mutex // guards what follows
	link   *reconnect.Link
	up     *streamable.Client
	sinks  map[jsonrpc.ID]waiting
	timer  *time.Timer // nil until the link has asked for it
	closed bool
	later  []func() // what has to wait until mu is free
}

// waiting is a request without outcome.
type waiting struct {
	method string
	out    transport.Sink
	call   jsonrpc.Message // the request, if it may have to be sent once more; else zero
}

// maxAgain bounds a request that is kept to be sent once more. A larger one that lacks header
// fields is refused until its client has read the list of tools.
const maxAgain = 64 << 10

func newBridge(
	endpoint string, log io.Writer, link *reconnect.Link, push stdio.Push,
) (*bridge, error) {
	b := &bridge{
		endpoint: endpoint, log: log, push: push, link: link, sinks: map[jsonrpc.ID]waiting{},
	}
	return b, b.connect()
}

// connect opens a connection in the place of the one there is. It sends nothing.
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
			ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
			defer cancel()
			_ = old.Close(ctx) // it has ended
		})
	}
	b.up = up
	b.readers.Go(func() { b.read(up) }) // owner: the bridge, whose Close waits for it
	return nil
}

// Version is what the host has agreed to, 0 before.
func (b *bridge) Version() protocol.Version {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.link.Version()
}

// served reports whether a host has ever answered, and why not.
func (b *bridge) served() (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if why := b.trouble.Load(); why != nil && !b.link.Opened() {
		return false, why
	}
	return b.link.Opened(), nil
}

// Deliver takes a message of the client.
func (b *bridge) Deliver(_ context.Context, m jsonrpc.Message, out transport.Sink) error {
	e := reconnect.Event{Op: reconnect.Notice, Message: m}
	switch {
	case m.Method == "":
		e.Op = reconnect.Reply
	case out != nil:
		e.Op = reconnect.Request
		w := waiting{method: m.Method, out: out}
		if b.mirrors != nil && m.Method == "tools/call" && m.Size() <= maxAgain {
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

// Close ends the session at the host too. Requests without an outcome fail.
func (b *bridge) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
	up, away := b.up, b.link.Away()
	b.mu.Unlock()
	if away { // there is nobody to say farewell to
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

// abandon gives the requests that a closed bridge still has their outcome.
func (b *bridge) abandon() {
	b.mu.Lock()
	left := b.sinks
	b.sinks = map[jsonrpc.ID]waiting{}
	gone := protocol.Translate(protocol.SessionGone(), b.link.Version())
	b.mu.Unlock()
	for id, w := range left {
		w.out.Finish(jsonrpc.Failure(id, gone))
	}
}

// read hands what the host sends to the link, until the connection ends.
func (b *bridge) read(up *streamable.Client) {
	for {
		in, err := up.Recv(context.Background()) // Close ends it
		if err != nil {
			b.heard(up, b.ended(err))
			return
		}
		if e, ok := b.event(in); ok {
			b.heard(up, e)
		}
	}
}

// heard takes an event of a connection, unless another has taken its place.
func (b *bridge) heard(up *streamable.Client, e reconnect.Event) {
	b.locked(func() {
		if b.up == up {
			b.take(e)
		}
	})
}

// step takes an event that is not of a connection.
func (b *bridge) step(e reconnect.Event) { b.locked(func() { b.take(e) }) }

// locked calls f and then what had to wait for its end.
func (b *bridge) locked(f func()) {
	b.mu.Lock()
	if !b.closed {
		f()
	}
	later := b.later
	b.later = nil
	b.mu.Unlock()
	for _, f := range later {
		f()
	}
}

// take has the link decide what to do, and does it. The mutex is held.
func (b *bridge) take(e reconnect.Event) {
	for events := []reconnect.Event{e}; len(events) > 0; events = events[1:] {
		for _, effect := range b.link.Step(time.Now(), events[0]) {
			if failed, ok := b.do(effect); ok {
				events = append(events, failed)
			}
		}
	}
}

// do performs an effect. What cannot be sent is an event in turn. The mutex is held.
func (b *bridge) do(e reconnect.Effect) (failed reconnect.Event, ok bool) {
	switch e.Do {
	case reconnect.Connect:
		_ = b.connect() // its options were good before
	case reconnect.Agree:
		b.up.Negotiated(e.Version)
	case reconnect.Send:
		if err := b.up.Send(context.Background(), e.Message); err != nil {
			return b.unsent(e.Message, err)
		}
	case reconnect.Deliver:
		w, related := b.sinks[e.ID]
		if !related || w.out.Send(e.Message) != nil {
			_ = b.push(e.Message) // a client that does not read is told so by the transport
		}
	case reconnect.Finish:
		b.finish(e.ID, e.Message)
	case reconnect.Arm:
		b.arm(time.Until(e.At))
	case reconnect.Say:
		fmt.Fprintf(b.log, "mcpd stdio: %s\n", telemetry.Clean(e.Text, maxSaid))
	}
	return reconnect.Event{}, false
}

// maxSaid bounds one line of the log.
const maxSaid = 1 << 10

// finish gives a request its outcome. A sink that sends something in turn waits until the mutex is free.
func (b *bridge) finish(id jsonrpc.ID, m jsonrpc.Message) {
	w, ok := b.sinks[id]
	delete(b.sinks, id)
	if !ok {
		return
	}
	b.later = append(b.later, func() {
		if b.mirrors == nil || !b.mirrors.refused(b, w, m) {
			w.out.Finish(m)
		}
	})
}

// arm has the timer call the link after some time.
func (b *bridge) arm(after time.Duration) {
	if b.timer == nil {
		b.timer = time.AfterFunc(after, func() { b.step(reconnect.Event{Op: reconnect.Tick}) })
		return
	}
	b.timer.Reset(after)
}
