package held

import (
	"sync"

	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/seal"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// Relay is the sink of a call during which a legacy server may ask its modern client a question.
// Until it does, all messages go to the sink of the client's request. From then on they go to the
// actor of the call, because the client's requests come and go.
type Relay struct {
	binding func() seal.Binding
	sink    transport.Sink // of the client's first request

	mu       sync.Mutex // guards what follows
	holding  bool       // an actor is being started, or runs
	actor    otp.Ref
	attached bool
	outcome  *jsonrpc.Message // that came while the actor was being started
	done     bool
}

var _ transport.Sink = (*Relay)(nil)

// NewRelay makes the sink of a call for the client's first request. The states of the call are
// bound to the result of binding.
func NewRelay(sink transport.Sink, binding func() seal.Binding) *Relay {
	return &Relay{sink: sink, binding: binding}
}

// Carries reports whether out is the sink of the client's first request.
func (r *Relay) Carries(out transport.Sink) bool { return r.sink == out }

// Filters reports whether the relay wants log lines of every level: the actor knows the level of
// the client's latest request.
func (r *Relay) Filters() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attached
}

// Holding keeps the outcome for the actor that is being started. It reports false when the call has
// its outcome.
func (r *Relay) Holding() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return false
	}
	r.holding = true
	return true
}

// attach sends all messages to the actor from now on, and an outcome that has come meanwhile. The
// actor owns the sink from here. It reports false when the sink has its outcome, or another actor.
func (r *Relay) attach(actor otp.Ref) (transport.Sink, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.attached || r.done && r.outcome == nil {
		return nil, false
	}
	r.actor, r.attached = actor, true
	if r.outcome != nil {
		_ = actor.Send(&finished{m: *r.outcome, to: actor})
		r.outcome = nil
	}
	return r.sink, true
}

// Release ends the holding when no actor could be started: the outcome goes to the client again.
func (r *Relay) Release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.attached {
		return
	}
	r.holding = false
	if r.outcome != nil {
		r.sink.Finish(*r.outcome)
		r.outcome = nil
	}
}

// Held reports whether the server has asked a question during the call.
func (r *Relay) Held() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.holding
}

// Actor returns the actor of the call, if one is attached.
func (r *Relay) Actor() (otp.Ref, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.actor, r.attached
}

// Send implements transport.Sink. Progress and log lines are dropped while the actor is being
// started.
func (r *Relay) Send(m jsonrpc.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.done:
		return transport.ErrClosed
	case r.attached:
		return r.actor.Send(&relayed{m})
	case r.holding:
		return nil
	}
	return r.sink.Send(m)
}

// Finish implements transport.Sink.
func (r *Relay) Finish(m jsonrpc.Message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return false
	}
	r.done = true
	switch {
	case r.attached:
		_ = r.actor.Send(&finished{m: m, to: r.actor}) // an actor that is gone has answered everything
	case r.holding:
		r.outcome = &m
	default:
		return r.sink.Finish(m)
	}
	return true
}
