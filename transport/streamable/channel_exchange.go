package streamable

import (
	"sync"

	"mcpd/internal/clock"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// exchange is the transport.Sink of one request. All exchanges of a channel share its stream.
type exchange struct {
	channel      *sseChannel
	id           jsonrpc.ID
	from         string // the address of the client
	opensSession bool   // this is the handshake of the channel's session
	// pending saves the fact that the request is in flight, after askedAfter; nil for never.
	pending clock.Timer

	mu   sync.Mutex // guards over, and orders messages before the outcome
	over bool
}

var (
	_ transport.Sink      = (*exchange)(nil)
	_ transport.Addressed = (*exchange)(nil)
)

// From implements transport.Addressed.
func (a *exchange) From() string { return a.from }

// Send implements transport.Sink.
func (a *exchange) Send(m jsonrpc.Message) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return transport.ErrClosed
	}
	return a.channel.streams.Push(m)
}

// saveInFlight saves that the request is in flight, once it has lasted a while.
func (a *exchange) saveInFlight() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.channel.streams.saveInFlight(a.id)
	}
}

// Finish implements transport.Sink.
func (a *exchange) Finish(m jsonrpc.Message) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return false
	}
	a.over = true
	if a.pending != nil {
		a.pending.Stop()
	}
	a.channel.streams.forgetInFlight(a.id)
	a.channel.forget(a.id)
	switch {
	case !a.opensSession:
	case m.Error != nil || m.Kind() == jsonrpc.KindInvalid:
		a.channel.refuse()
	default:
		a.channel.handler.channels.remove(a.channel) // the Host finds the session from now on
	}
	if m.Kind() != jsonrpc.KindInvalid {
		a.channel.sendAnswer(m)
	}
	a.channel.settle()
	return true
}
