// Package pipe is an upstream connection in memory: its other end is a value in the same process, such as a built-in server, a scripted
// peer of a test, or a place to inject faults. It does not know what the messages mean, and it copies none: what is sent is what arrives.
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

// DefaultBuffer is how many messages may wait in each direction unless Pair is told otherwise: the answers to as many requests as one
// tenant may have in flight, and as much again that the server says meanwhile.
const DefaultBuffer = 2 * protocol.MaxPending

// pair is what both ends share.
type pair struct {
	up, down *queue // towards the server; towards the client
	client   end    // closed by the client
	server   end    // closed by the server
	version  atomic.Uint32
}

// end is one side's goodbye.
type end struct {
	once sync.Once
	gone chan struct{}
	err  error // what the other side's Recv returns; set before gone is closed
}

func (e *end) close(err error) {
	e.once.Do(func() {
		e.err = err
		close(e.gone)
	})
}

// Client is the end that the host holds.
type Client struct{ *pair }

// Server is the end of whoever plays the server. Recv is for one caller at a time, the rest for any number.
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

// Send queues a message for the server. A full queue is transport.ErrSlowConsumer, an ended connection transport.ErrClosed.
func (c Client) Send(_ context.Context, m jsonrpc.Message) error {
	if over(&c.client) || over(&c.server) {
		return transport.ErrClosed
	}
	if !c.up.offer(transport.Inbound{Message: m}) {
		return transport.ErrSlowConsumer
	}
	return nil
}

// Recv returns what the server sent. After Server.Close it first returns what was sent before, then, for ever, the error given there.
func (c Client) Recv(ctx context.Context) (transport.Inbound, error) {
	return receive(ctx, c.down, &c.server, &c.client)
}

// Negotiated tells the server's end, which reads it with Version.
func (c Client) Negotiated(v protocol.Version) { c.version.Store(uint32(v)) }

// Close ends the connection. The server still receives what was sent before.
func (c Client) Close(context.Context) error {
	c.client.close(io.EOF)
	return nil
}

// Info says that this is a pipe.
func (c Client) Info() transport.Info { return transport.Info{Transport: "pipe", Correlates: true} }

// Send delivers in, with its Related, Err and Control as they are, and waits for room. It returns transport.ErrClosed when either end
// is closed, or the error of ctx.
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

// Offer is Send that does not wait: without room it returns transport.ErrSlowConsumer.
func (s Server) Offer(in transport.Inbound) error {
	switch {
	case over(&s.client) || over(&s.server):
		return transport.ErrClosed
	case !s.down.offer(in):
		return transport.ErrSlowConsumer
	}
	return nil
}

// Recv returns the client's next message. After Client.Close it first returns what was sent before, then io.EOF for ever.
func (s Server) Recv(ctx context.Context) (jsonrpc.Message, error) {
	in, err := receive(ctx, s.up, &s.client, &s.server)
	return in.Message, err
}

// Close ends the connection: the client's Recv returns err, io.EOF if that is nil.
func (s Server) Close(err error) {
	if err == nil {
		err = io.EOF
	}
	s.server.close(err)
}

// Closed is closed when the client has closed its end.
func (s Server) Closed() <-chan struct{} { return s.client.gone }

// Version is the revision that the client has negotiated, 0 before.
func (s Server) Version() protocol.Version { return protocol.Version(s.version.Load()) }

// receive takes from a queue. When its sender has gone it takes what is left first.
func receive(ctx context.Context, from *queue, sender, own *end) (transport.Inbound, error) {
	for {
		gone := over(sender) // looked at first: what it sent before is in the queue then
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
