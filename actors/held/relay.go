package held

import (
	"sync"

	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/seal"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// Relay is the sink of a call during which a legacy server may ask its modern client something. Until it does, everything passes to the
// sink of the client's request; from then on to the actor of the call, because the client's requests come and go.
type Relay struct {
	binding func() seal.Binding
	sink    transport.Sink // of the client's first request

	mu       sync.Mutex // guards what follows
	holding  bool       // an actor is on its way, or there
	actor    otp.Ref
	attached bool
	outcome  *jsonrpc.Message // that came while the actor was on its way
	done     bool
}

var _ transport.Sink = (*Relay)(nil)

// NewRelay is the sink of a call for the client's first request. Binding is what its states are bound to.
func NewRelay(sink transport.Sink, binding func() seal.Binding) *Relay {
	return &Relay{sink: sink, binding: binding}
}

// Carries reports whether this is the sink of the client's first request out.
func (r *Relay) Carries(out transport.Sink) bool { return r.sink == out }

// Filters reports whether log lines of every level are wanted here: the actor knows what the client's latest request wants.
func (r *Relay) Filters() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attached
}

// Hold keeps what comes for the actor that is being started. It reports false when the call has its outcome.
func (r *Relay) Hold() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return false
	}
	r.holding = true
	return true
}

// attach gives everything to the actor from now on, and what has come meanwhile. The sink is the actor's from here. It reports false when
// the sink has its outcome, or another actor.
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

// Held reports whether the server has asked something during the call.
func (r *Relay) Held() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.holding
}

// Actor is the actor of the call, once it was asked something.
func (r *Relay) Actor() (otp.Ref, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.actor, r.attached
}

// Send implements transport.Sink. While the actor is on its way, news is lost: it is progress and log lines.
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
