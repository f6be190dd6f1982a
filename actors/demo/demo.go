// Package demo is the built-in server: a small MCP server inside the host that a newcomer can call at once and in which the official
// conformance suite finds its fixtures. It does not know that there is a gateway around it: it speaks as any server would.
//
// The core takes messages and moments and returns effects; what it can do stands in four tables (tools, resources, templates, prompts).
// Each request comes in the revision that it names, or that initialize agreed on: a row of a table serves all of them. The actor around
// the core owns one connection, performs the effects and never waits.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"io"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/pipe"
)

// Options say whom a server serves.
type Options struct {
	Conn  pipe.Server
	Build string // the version that serverInfo tells, which is that of the host
	// Random is where the key for what clients keep, and the ids of tasks, come from; nil is crypto/rand.
	Random io.Reader
	// Pending bounds the calls in flight. It should be what the host in front admits, so that it is never met; 0 is protocol.MaxPending.
	Pending int
	// Policy says which revisions are served; the zero value serves all.
	Policy protocol.Negotiation
}

// New is the server of one connection. It ends normally when the client is gone, and closes the connection whenever it ends: what was
// agreed in it is lost with the incarnation, so the row should be Temporary.
func New(o Options) otp.Behaviour { return &server{Options: o} }

// server is the actor. Its goroutine "read" brings it the client's messages; what it sends waits in the connection.
type server struct {
	Options
	core   *core
	timers map[uint64]otp.Timer // of the calls that wait
}

// received is a message of the client.
type received struct{ message jsonrpc.Message }

func (s *server) Init(p *otp.Process) error {
	random := s.Random
	if random == nil {
		random = rand.Reader
	}
	var err error
	if s.core, err = newCore(s.Build, random); err != nil {
		return err
	}
	if s.Pending > 0 {
		s.core.pending = s.Pending
	}
	s.core.policy = s.Policy
	s.timers = map[uint64]otp.Timer{}
	p.Go("read", func(ctx context.Context) error {
		for {
			m, err := s.Conn.Recv(ctx)
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
			if err := s.Conn.Offer(transport.Inbound{Message: e.message, Related: e.related}); err != nil {
				return err
			}
		case breakStream:
			if err := s.Conn.Offer(transport.Inbound{Related: e.related, Control: transport.CloseStream{Retry: e.retry}}); err != nil {
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

// Terminate closes the connection with the reason, so that the other end can tell a host that stops from a server that crashed. Those who
// listen are told first, unless it crashed.
func (s *server) Terminate(p *otp.Process, reason error) {
	if s.core != nil && otp.IsNormal(reason) {
		_ = s.perform(p, s.core.End()) // the client may be gone
	}
	s.Conn.Close(reason)
}
