package stdio

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/subscription"
	"mcpd/transport"
)

// Peer serves stateless requests. They come on the same pipe as the messages of a session, do not
// know of it, and share only its id space.
type Peer interface {
	// Cancel ends the request that was handed over with out: its client does not wait for it any more.
	// Cancel does nothing after the outcome.
	Cancel(out transport.Sink)
	// Touch says that the client still waits for a request.
	Touch()
}

// call hands over a stateless request.
func (s *server) call(ctx context.Context, m jsonrpc.Message, e *exchange) {
	e.listen, s.modern = m.Method == "subscriptions/listen", true
	var err error
	if e.group != nil {
		err = protocol.InvalidRequest("the revision in _meta has no arrays of messages")
	} else {
		e.peer, err = s.handler.Call(ctx, m, e)
	}
	if err != nil {
		e.Finish(jsonrpc.Failure(m.ID, protocol.Translate(err, protocol.Latest)))
	}
}

// cancelled ends the stateless request that m cancels, and reports whether there is one. The
// request gets no response (2026-07-28 §basic/patterns/cancellation).
func (s *server) cancelled(m jsonrpc.Message) bool {
	if m.Method != cancelling {
		return false
	}
	raw, _ := jsonedit.Get(m.Params, "requestId")
	id, err := jsonrpc.ParseID(raw)
	if err != nil {
		return false
	}
	s.mu.Lock()
	e := s.inFlight[id]
	s.mu.Unlock()
	if e == nil || e.peer == nil {
		return false
	}
	if e.Finish(jsonrpc.Message{}) {
		e.peer.Cancel(e)
	}
	return true
}

const cancelling = "notifications/cancelled"

// statelessInFlight lists the stateless requests in flight.
func (s *server) statelessInFlight() (list []*exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.inFlight {
		if e.peer != nil {
			list = append(list, e)
		}
	}
	return list
}

// touch tells the host that a waiting client is still there.
func (s *server) touch() {
	for _, e := range s.statelessInFlight() {
		e.peer.Touch()
	}
}

// endSubscriptions ends the subscriptions: no more notifications will come.
func (s *server) endSubscriptions() {
	for _, e := range s.statelessInFlight() {
		if e.listen && e.Finish(jsonrpc.Response(e.id,
			subscription.Ended(e.id, protocol.Implementation{}))) {
			e.peer.Cancel(e)
		}
	}
}

// endInFlight ends all requests in flight when the client is gone.
func (s *server) endInFlight() {
	s.endSubscriptions()
	for _, e := range s.statelessInFlight() {
		if e.Finish(jsonrpc.Message{}) {
			e.peer.Cancel(e)
		}
	}
}

// endSubscription tells the client that a confirmed subscription has ended. One text of the
// specification wants the result of the request and another a cancellation, so both are sent:
// cancelling an ended request does no harm (2026-07-28 §basic/patterns/subscriptions,
// §basic/patterns/cancellation). A subscription that was lost has no result.
func (s *server) endSubscription(m jsonrpc.Message) {
	if m.Error == nil {
		s.respond(m)
	}
	// Set turns an empty value into an object.
	params, _ := jsonedit.Set(nil, jsontext.Value(m.ID.Raw()), "requestId")
	s.respond(jsonrpc.Notification(cancelling, params))
}
