package session

import (
	"sync/atomic"

	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
	"mcpd/transport"
)

// initializeSink is the sink of the initialize request for which a session was opened. When the
// request is refused, for any reason and by any part of the host, the session ends before its
// client hears of the refusal. No client knows the id of that session, and a client that tries
// again gets another one.
type initializeSink struct {
	transport.Sink
	h    *Handle
	over atomic.Bool
}

// wrapInitialize makes an initializeSink for the session's first initialize. It returns nil for any
// other message.
func (h *Handle) wrapInitialize(d *Deliver) *initializeSink {
	if d.Out == nil || d.Message.Method != "initialize" || h.Record() != nil ||
		h.initializing.Swap(true) {
		return nil
	}
	g := &initializeSink{Sink: d.Out, h: h}
	d.Out = g
	return g
}

// Finish implements transport.Sink.
func (g *initializeSink) Finish(m jsonrpc.Message) bool {
	if g.over.Swap(true) {
		return false
	}
	if m.Error == nil && m.Kind() != jsonrpc.KindInvalid {
		g.h.initialized.Store(true)
	} else {
		g.h.invalidate(telemetry.ClosedRefused)
	}
	return g.Sink.Finish(m)
}

// refuse ends the session when the handshake could not even begin.
func (g *initializeSink) refuse() {
	if !g.over.Swap(true) {
		g.h.invalidate(telemetry.ClosedRefused)
	}
}
