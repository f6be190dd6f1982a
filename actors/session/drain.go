package session

import (
	"time"

	"mcpd/internal/clock"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// Working reports whether a request of the session has no outcome yet, or a message has just
// arrived. Streams and subscriptions do not count, because they have no end of their own.
func (h *Handle) Working() bool {
	return h.undelivered.Load() > 0 || h.InFlight() || h.calls.Busy()
}

// Awaited reports whether a call waits for the client: a server has asked the client something, and
// the client answers with a message or with a retry.
func (h *Handle) Awaited() bool { return h.questions.any() || h.calls.held() }

// Idle returns the time since any client last sent a message that was accepted.
func (x *Index) Idle(now time.Time) time.Duration {
	return time.Duration(clock.SteadyNanos(now) - x.lastHeard.Load())
}

// take refuses new work while the host is stopping. It notes the time of every accepted message.
func (x *Index) take(m *jsonrpc.Message, now time.Time) error {
	if x.Ending != nil {
		if refused := x.Ending(); refused != nil && !finishing(m) {
			return refused
		}
	}
	x.lastHeard.Store(clock.SteadyNanos(now))
	return nil
}

// finishing reports whether a message is no new work: it lets something in flight end, shows that
// its sender is alive, or opens a stream for notifications.
func finishing(m *jsonrpc.Message) bool {
	if m.Kind() != jsonrpc.KindRequest {
		return true
	}
	switch m.Method {
	case "ping", "subscriptions/listen", "tasks/cancel", "tasks/update":
		return true
	}
	return mrtr.MayAsk(m.Method) && mrtr.Continues(*m)
}
