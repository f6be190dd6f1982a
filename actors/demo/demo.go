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
	// Pending bounds the calls in flight. It should be what the host in front admits, so that it is never met; 0 is protocol.MaxPending.
	Pending int
}

// New is the server of one connection. It ends normally when the client is gone, and closes the connection whenever it ends: what was
// agreed in it is lost with the incarnation, so the row should be Temporary.
func New(o Options) otp.Behaviour { return &server{conn: o.Conn, core: newCore(o.Build, o.Pending)} }

// server is the actor. Its goroutine "read" brings it the client's messages; what it sends waits in the connection.
type server struct {
	conn   pipe.Server
	core   *core
	timers map[uint64]otp.Timer // of the calls that wait
}

// received is a message of the client.
type received struct{ message jsonrpc.Message }

func (s *server) Init(p *otp.Process) error {
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
	return nil
}

func (s *server) Receive(p *otp.Process, msg any) error {
	err := s.handle(p, msg)
	if errors.Is(err, io.EOF) || errors.Is(err, transport.ErrClosed) { // the client is gone
		return otp.Normal
	}
	return err
}

func (s *server) handle(p *otp.Process, msg any) error {
	switch msg := msg.(type) {
	case received:
		return s.perform(p, s.core.Step(p.Now(), msg.message))
	case wake:
		delete(s.timers, msg.call)
		return s.perform(p, s.core.Wake(p.Now(), msg))
	case otp.Done:
		return msg.Err
	}
	return nil
}

func (s *server) perform(p *otp.Process, effects []effect) error {
	for _, e := range effects {
		switch e := e.(type) {
		case send:
			if err := s.conn.Offer(transport.Inbound{Message: e.message, Related: e.related}); err != nil {
				return err
			}
		case breakStream:
			if err := s.conn.Offer(transport.Inbound{Related: e.related, Control: transport.CloseStream{Retry: e.retry}}); err != nil {
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

func (s *server) rest(call uint64) {
	s.timers[call].Stop()
	delete(s.timers, call)
}

// Terminate closes the connection with the reason, so that the other end can tell a host that stops from a server that crashed.
func (s *server) Terminate(_ *otp.Process, reason error) { s.conn.Close(reason) }
