// Package demo is the built-in server: a small MCP server inside the host that a newcomer can call at once and in which the official
// conformance suite finds its fixtures. It does not know that there is a gateway around it: it speaks as any server would.
//
// The core takes messages and moments and returns effects; what it can do stands in four tables (tools, resources, templates, prompts).
// The actor around it owns one connection, performs the effects and never waits.
package demo

import (
	"context"
	"errors"
	"io"

	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/pipe"
)

// Options say whom a server serves.
type Options struct {
	Conn  pipe.Server
	Build string // the version that serverInfo tells, which is that of the host
}

// New is the server of one connection. It ends normally when the client is gone, and closes the connection whenever it ends: what was
// agreed in it is lost with the incarnation, so the row should be Temporary.
func New(o Options) otp.Behaviour { return &server{conn: o.Conn, core: newCore(o.Build)} }

// outboxSize bounds what waits for the client: the answers to twice as many calls as it may have under way.
const outboxSize = 2048

// server is the actor. Its goroutines "read" and "write" move messages between the connection and it.
type server struct {
	conn   pipe.Server
	core   *core
	outbox chan transport.Inbound
	timers map[uint64]otp.Timer // of the calls that wait
}

// received is a message of the client.
type received struct{ message jsonrpc.Message }

func (s *server) Init(p *otp.Process) error {
	s.outbox = make(chan transport.Inbound, outboxSize)
	s.timers = map[uint64]otp.Timer{}
	p.Go("read", func(ctx context.Context) error {
		for {
			m, err := s.conn.Recv(ctx)
			if err != nil {
				return err
			}
			if err := p.PostWait(ctx, received{m}); err != nil {
				return err
			}
		}
	})
	p.Go("write", func(ctx context.Context) error {
		for {
			select {
			case in := <-s.outbox:
				if err := s.conn.Send(ctx, in); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	return nil
}

func (s *server) Receive(p *otp.Process, msg any) error {
	switch msg := msg.(type) {
	case received:
		return s.perform(p, s.core.Step(p.Now(), msg.message))
	case wake:
		delete(s.timers, msg.call)
		return s.perform(p, s.core.Wake(p.Now(), msg))
	case otp.Done:
		if errors.Is(msg.Err, io.EOF) || errors.Is(msg.Err, transport.ErrClosed) {
			return otp.Normal
		}
		return msg.Err
	}
	return nil
}

func (s *server) perform(p *otp.Process, effects []effect) error {
	for _, e := range effects {
		switch e := e.(type) {
		case send:
			if err := s.send(transport.Inbound{Message: e.message, Related: e.related}); err != nil {
				return err
			}
		case breakStream:
			if err := s.send(transport.Inbound{Related: e.related, Control: transport.CloseStream{Retry: e.retry}}); err != nil {
				return err
			}
		case wait:
			s.rest(e.w.call)
			s.timers[e.w.call] = p.After(e.d, e.w)
		case rest:
			s.rest(e.call)
		}
	}
	return nil
}

// send puts a message into the outbox. A client that lets it fill up is not there.
func (s *server) send(in transport.Inbound) error {
	select {
	case s.outbox <- in:
		return nil
	default:
		return transport.ErrSlowConsumer
	}
}

func (s *server) rest(call uint64) {
	s.timers[call].Stop()
	delete(s.timers, call)
}

// Terminate tells the client why it is left alone, unless that was meant to happen.
// Terminate closes the connection with the reason, so that the other end can tell a host that stops from a server that crashed.
func (s *server) Terminate(_ *otp.Process, reason error) { s.conn.Close(reason) }
