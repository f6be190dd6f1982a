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

// DefaultBuffer is how many messages wait in each direction unless Pair is told otherwise: as many as one upstream may have in flight.
const DefaultBuffer = 1000

// pair is what both ends share. Neither channel is ever closed, so that no send can hit a closed one; the ends are.
type pair struct {
	up, down chan transport.Inbound // towards the server; towards the client
	client   end                    // closed by the client
	server   end                    // closed by the server
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

// Pair makes a connection whose directions hold buffer messages each; 0 is DefaultBuffer.
func Pair(buffer int) (Client, Server) {
	if buffer <= 0 {
		buffer = DefaultBuffer
	}
	p := &pair{up: make(chan transport.Inbound, buffer), down: make(chan transport.Inbound, buffer)}
	p.client.gone, p.server.gone = make(chan struct{}), make(chan struct{})
	return Client{p}, Server{p}
}

// Send queues a message for the server. A full queue is transport.ErrSlowConsumer, an ended connection transport.ErrClosed.
func (c Client) Send(_ context.Context, m jsonrpc.Message) error {
	if over(&c.client) || over(&c.server) {
		return transport.ErrClosed
	}
	select {
	case c.up <- transport.Inbound{Message: m}:
		return nil
	default:
		return transport.ErrSlowConsumer
	}
}

// Recv returns what the server sent. After Server.Close it first returns what was sent before, then, for ever, the error given there.
func (c Client) Recv(ctx context.Context) (transport.Inbound, error) {
	if over(&c.client) {
		return transport.Inbound{}, transport.ErrClosed
	}
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
func (c Client) Info() transport.Info { return transport.Info{Transport: "pipe"} }

// Send delivers in, with its Related, Err and Control as they are, and waits for room. It returns transport.ErrClosed when either end
// is closed, or the error of ctx.
func (s Server) Send(ctx context.Context, in transport.Inbound) error {
	if over(&s.client) || over(&s.server) {
		return transport.ErrClosed
	}
	select {
	case s.down <- in:
		return nil
	case <-s.client.gone:
		return transport.ErrClosed
	case <-s.server.gone:
		return transport.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Recv returns the client's next message. After Client.Close it first returns what was sent before, then io.EOF for ever.
func (s Server) Recv(ctx context.Context) (jsonrpc.Message, error) {
	if over(&s.server) {
		return jsonrpc.Message{}, transport.ErrClosed
	}
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

// receive takes from a queue, and when its sender has gone what is left in it.
func receive(ctx context.Context, queue <-chan transport.Inbound, sender, own *end) (transport.Inbound, error) {
	select {
	case in := <-queue:
		return in, nil
	case <-own.gone:
		return transport.Inbound{}, transport.ErrClosed
	case <-ctx.Done():
		return transport.Inbound{}, ctx.Err()
	case <-sender.gone:
	}
	select {
	case in := <-queue:
		return in, nil
	default:
		return transport.Inbound{}, sender.err
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
