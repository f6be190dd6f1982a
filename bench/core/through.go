package core

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/notification"
	"mcpd/actors/request"
	"mcpd/actors/version"
	"mcpd/bench/subject"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

// throughVersion asks the registry of revisions to negotiate one.
func throughVersion(ctx context.Context, s *stage) (func() (time.Duration, error), error) {
	ref, ok := s.host.Whereis("mcpd/core/protocol_version")
	if !ok {
		return nil, fmt.Errorf("there is no registry of revisions")
	}
	ask := version.NegotiateRequest{
		Requested: protocol.LatestLegacy.String(), Tenant: "default", Session: "bench",
	}
	return func() (time.Duration, error) {
		begin := time.Now()
		_, err := otp.Do[version.NegotiateRequest, protocol.Agreement](ctx, ref, ask)
		return time.Since(begin), err
	}, nil
}

// throughHandshake opens a session, from its initialize to the answer. Ending the session is not
// timed.
func throughHandshake(ctx context.Context, s *stage) (func() (time.Duration, error), error) {
	return func() (time.Duration, error) {
		begin := time.Now()
		h, err := s.open(ctx)
		took := time.Since(begin)
		if err != nil {
			return 0, err
		}
		return took, h.Close(ctx)
	}, nil
}

// throughPhase confirms the handshake of a session. It is timed until a following ping is answered,
// because only a ready session answers requests. Opening and ending the session is not timed.
func throughPhase(ctx context.Context, s *stage) (func() (time.Duration, error), error) {
	return func() (time.Duration, error) {
		c, err := s.open(ctx)
		if err != nil {
			return 0, err
		}
		begin := time.Now()
		if err := c.Confirm(ctx); err != nil {
			return 0, err
		}
		_, err = c.Ask(ctx, "ping", nil)
		took := time.Since(begin)
		if err != nil {
			return 0, err
		}
		return took, c.Close(ctx)
	}, nil
}

// throughCorrelation answers a request in flight, until its caller has the answer.
func throughCorrelation(ctx context.Context, s *stage) (func() (time.Duration, error), error) {
	return s.answer(ctx, request.Outcome{Result: jsontext.Value(`{"content":[]}`)})
}

// throughError is the same with an error of the host.
func throughError(ctx context.Context, s *stage) (func() (time.Duration, error), error) {
	return s.answer(ctx, request.Outcome{Err: protocol.RateLimited(time.Second)})
}

// answer submits a request through the manager to a connection, and times only its answer.
func (s *stage) answer(ctx context.Context,
	with request.Outcome) (func() (time.Duration, error), error) {
	const id = 1 // each has ended before the next begins
	return func() (time.Duration, error) {
		out, at := subject.NewSlot(), make(taken, 1)
		x := &request.Exchange{
			ID: id, Session: "bench", Owner: at, Version: protocol.LatestLegacy,
			Downstream: jsonrpc.IntID(5), Server: "files", Upstream: s.conn,
			Method: "tools/call", Params: jsontext.Value(`{"name":"t"}`), Arrived: time.Now(),
			Timeout: stageTime, MaxTimeout: stageTime, Sink: out,
		}
		if err := s.manager.Send(&request.Submit{Exchange: x}); err != nil {
			return 0, err
		}
		if _, err := wait(ctx, at); err != nil {
			return 0, err
		}
		begin := time.Now()
		x.Settle(with)
		m, err := wait(ctx, out)
		took := time.Since(begin)
		if err == nil && (m.Error != nil) != (with.Err != nil) {
			err = fmt.Errorf("answered with %v", m)
		}
		return took, err
	}, nil
}

// throughDispatch sends the dispatcher a notification. It is timed until the subscriber has it,
// among many subscribers to other notifications.
func throughDispatch(ctx context.Context, s *stage) (func() (time.Duration, error), error) {
	heard := make(chan struct{}, 1)
	const method = "notifications/tools/list_changed"
	for i := range waiting {
		f := &notification.Function{Name: fmt.Sprint("other", i), Call: func(*notification.Notice) {}}
		if err := s.notices.Send(&notification.Register{Method: method, Server: fmt.Sprint("server", i),
			Handler: f}); err != nil {
			return nil, err
		}
	}
	wanted := &notification.Function{Name: "wanted", Call: func(*notification.Notice) {
		heard <- struct{}{}
	}}
	if err := s.notices.Send(&notification.Register{Method: method, Server: "files",
		Handler: wanted}); err != nil {
		return nil, err
	}
	return func() (time.Duration, error) {
		n := &notification.Dispatch{Server: "files", Method: method}
		begin := time.Now()
		if err := s.notices.Send(n); err != nil {
			return 0, err
		}
		_, err := wait(ctx, heard)
		return time.Since(begin), err
	}, nil
}
