// Package pipe is an upstream connection in memory. Its other end is a value in the same process,
// such as a built-in server, a scripted peer of a test, or a fault injector. It does not know what
// the messages mean, and it copies none: they arrive as they were sent.
package pipe

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// DefaultBuffer is how many messages may wait in each direction by default: the responses to all
// requests that one tenant may have in flight, and as many other messages of the server.
const DefaultBuffer = 2 * protocol.MaxPending

// pair is the state shared by both ends.
type pair struct {
	up, down *queue // towards the server; towards the client
	client   end    // closed by the client
	server   end    // closed by the server
	version  atomic.Uint32
}

// end records that one side has closed.
type end struct {
	once sync.Once
	gone chan struct{}
	err  error // returned by the other side's Recv; set before gone is closed
}

func (e *end) close(err error) {
	e.once.Do(func() {
		e.err = err
		close(e.gone)
	})
}

// Client is the host's end.
type Client struct{ *pair }

// Server is the server's end. Recv is for one caller at a time, the other methods for any number.
type Server struct{ *pair }

var _ transport.Upstream = Client{}

// Pair makes a connection whose directions hold up to buffer messages each; 0 is DefaultBuffer.
func Pair(buffer int) (Client, Server) {
	if buffer <= 0 {
		buffer = DefaultBuffer
	}
	p := &pair{up: newQueue(buffer), down: newQueue(buffer)}
	p.client.gone, p.server.gone = make(chan struct{}), make(chan struct{})
	return Client{p}, Server{p}
}

// Send queues a message for the server. It returns transport.ErrSlowConsumer when the queue is
// full, and transport.ErrClosed when the connection has ended.
func (c Client) Send(_ context.Context, m jsonrpc.Message) error {
	if over(&c.client) || over(&c.server) {
		return transport.ErrClosed
	}
	if !c.up.offer(transport.Inbound{Message: m}) {
		return transport.ErrSlowConsumer
	}
	return nil
}

// Recv returns the server's next message. After Server.Close it first returns the earlier messages
// and then always the error passed to Close.
func (c Client) Recv(ctx context.Context) (transport.Inbound, error) {
	return receive(ctx, c.down, &c.server, &c.client)
}

// Negotiated tells the server's end the revision; Server.Version returns it.
func (c Client) Negotiated(v protocol.Version) { c.version.Store(uint32(v)) }

// Close ends the connection. The server still receives the messages sent before.
func (c Client) Close(context.Context) error {
	c.client.close(io.EOF)
	return nil
}

// Info returns the transport "pipe", whose messages name the call that they belong to.
func (c Client) Info() transport.Info { return transport.Info{Transport: "pipe", Correlates: true} }

// Send delivers in unchanged, with its Related, Err and Control, and waits until the queue has
// space. It returns transport.ErrClosed when either end is closed, or the error of ctx.
func (s Server) Send(ctx context.Context, in transport.Inbound) error {
	for {
		if over(&s.client) || over(&s.server) {
			return transport.ErrClosed
		}
		room := s.down.offerOrWait(in)
		if room == nil {
			return nil
		}
		select {
		case <-room:
		case <-s.client.gone:
		case <-s.server.gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Offer is Send without the wait: it returns transport.ErrSlowConsumer when the queue is full.
func (s Server) Offer(in transport.Inbound) error {
	switch {
	case over(&s.client) || over(&s.server):
		return transport.ErrClosed
	case !s.down.offer(in):
		return transport.ErrSlowConsumer
	}
	return nil
}

// Recv returns the client's next message. After Client.Close it first returns the earlier messages,
// and then always io.EOF.
func (s Server) Recv(ctx context.Context) (jsonrpc.Message, error) {
	in, err := receive(ctx, s.up, &s.client, &s.server)
	return in.Message, err
}

// Close ends the connection: the client's Recv returns err, or io.EOF if err is nil.
func (s Server) Close(err error) {
	if err == nil {
		err = io.EOF
	}
	s.server.close(err)
}

// Closed returns a channel that is closed when the client has closed its end.
func (s Server) Closed() <-chan struct{} { return s.client.gone }

// Version is the revision that the client has negotiated, 0 before.
func (s Server) Version() protocol.Version { return protocol.Version(s.version.Load()) }

// receive takes the next message from a queue. After the sender has closed, it first takes the
// messages left.
func receive(ctx context.Context, from *queue, sender, own *end) (transport.Inbound, error) {
	for {
		gone := over(sender) // read first: all that it sent before is in the queue then
		if over(own) {
			return transport.Inbound{}, transport.ErrClosed
		}
		if in, ok := from.take(); ok {
			return in, nil
		}
		if gone {
			return transport.Inbound{}, sender.err
		}
		select {
		case <-from.ready:
		case <-sender.gone:
		case <-own.gone:
		case <-ctx.Done():
			return transport.Inbound{}, ctx.Err()
		}
	}
}

func over(e *end) bool {
	select {
	case <-e.gone:
		return true
	default:
		return false
	}
}
