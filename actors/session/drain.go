package session

import (
	"time"

	"mcpd/internal/clock"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// Working reports whether a request of the session has no outcome yet, or a message has just come.
// Streams and subscriptions do not count: they end when somebody ends them.
func (h *Handle) Working() bool {
	return h.arriving.Load() > 0 || h.InFlight() || h.calls.Busy()
}

// Awaited reports whether the client is waited for during a call: a server has asked it something,
// which it answers with a message or by coming back.
func (h *Handle) Awaited() bool { return h.questions.any() || h.calls.held() }

// Idle is how long no client has sent a message that was taken.
func (x *Index) Idle(now time.Time) time.Duration {
	return time.Duration(clock.Steady(now) - x.heard.Load())
}

// take refuses a message that a host which is stopping takes no more, and notes the time of others.
func (x *Index) take(m *jsonrpc.Message, now time.Time) error {
	if x.Ending != nil {
		if refused := x.Ending(); refused != nil && !finishing(m) {
			return refused
		}
	}
	x.heard.Store(clock.Steady(now))
	return nil
}

// finishing reports whether a message is no new work: it lets something end that is in flight,
// shows that its sender is alive, or opens a stream for what it is told.
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
