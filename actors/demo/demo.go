// Package demo is the built-in server: a small MCP server inside the host. A new user can call it
// at once, and it has the fixtures of the official conformance suite. It knows nothing of the
// gateway around it, and behaves as any other server.
//
// The core takes messages and times, and returns effects. Its features are the rows of four tables:
// tools, resources, templates and prompts. A request is handled in the revision that it names, or
// that initialize agreed on; each row serves all revisions. The actor around the core owns one
// connection, performs the effects and never blocks.
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

// Options are the settings of a server.
type Options struct {
	Conn  pipe.Server
	Build string // version in serverInfo, which is the host's version
	// Random is the source of the key for sealed states, and of task ids. Nil means crypto/rand.
	Random io.Reader
	// Pending bounds the calls in flight. It should be the host's own bound, so that it is never
	// reached. 0 means protocol.MaxPending.
	Pending int
	// Policy selects the revisions that are served. The zero value serves all.
	Policy protocol.Negotiation
}

// New makes the server of one connection. It ends normally when the client is gone. However it
// ends, it closes the connection. The terms of the connection are lost with the incarnation, so the
// row should be Temporary.
func New(o Options) otp.Behaviour { return &server{Options: o} }

// server is the actor. Its goroutine "read" receives the client's messages. Outgoing messages are
// buffered in the connection.
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
			if err := s.Conn.Offer(transport.Inbound{Message: e.message, RequestID: e.related}); err != nil {
				return err
			}
		case breakStream:
			if err := s.Conn.Offer(transport.Inbound{RequestID: e.related,
				Control: transport.CloseStream{Retry: e.retry}}); err != nil {
				return err
			}
		case wait:
			s.stopTimer(e.w.call)
			s.timers[e.w.call] = p.After(e.d, e.w)
		case stopWait:
			s.stopTimer(e.call)
		}
	}
	return nil
}

func (s *server) stopTimer(call uint64) {
	s.timers[call].Stop()
	delete(s.timers, call)
}

// Terminate closes the connection with the reason, so that the other end can tell a host that stops
// from a server that crashed. Unless the server crashed, the listening clients are told first.
func (s *server) Terminate(p *otp.Process, reason error) {
	if s.core != nil && otp.IsNormal(reason) {
		_ = s.perform(p, s.core.End()) // the client may be gone
	}
	s.Conn.Close(reason)
}
