package stdio

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/protocol/subscription"
	"mcpd/transport"
)

// Peer serves requests that stand alone. They come on the same pipe as a session's messages, which they know nothing of, and share only
// their ids with it.
type Peer interface {
	// Cancel ends the request that was handed over with out: its client waits for it no more. It does nothing for one that has its outcome.
	Cancel(out transport.Sink)
	// Touch says that the client still waits for a request.
	Touch()
}

// call hands over a request that stands alone.
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

// cancelled ends the request that stands alone which m cancels, and reports whether there is one. Nothing more is said about it
// (2026-07-28 §basic/patterns/cancellation).
func (s *server) cancelled(m jsonrpc.Message) bool {
	if m.Method != cancelling {
		return false
	}
	raw, _ := splice.Get(m.Params, "requestId")
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

// alone lists the requests in flight that stand alone.
func (s *server) alone() (list []*exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.inFlight {
		if e.peer != nil {
			list = append(list, e)
		}
	}
	return list
}

// touch keeps the host from taking a client that waits for one that has gone.
func (s *server) touch() {
	for _, e := range s.alone() {
		e.peer.Touch()
	}
}

// hangUp ends the subscriptions: no more is to be told.
func (s *server) hangUp() {
	for _, e := range s.alone() {
		if e.listen && e.Finish(jsonrpc.Response(e.id, subscription.Ended(e.id, protocol.Implementation{}))) {
			e.peer.Cancel(e)
		}
	}
}

// leave ends whatever is still in flight when nobody will hear of it.
func (s *server) leave() {
	s.hangUp()
	for _, e := range s.alone() {
		if e.Finish(jsonrpc.Message{}) {
			e.peer.Cancel(e)
		}
	}
}

// unlisten tells how a confirmed subscription ended. One text wants its result and another a cancellation; who reads both takes either, since
// what is over can be cancelled without harm (2026-07-28 §basic/patterns/subscriptions, §basic/patterns/cancellation). One that was lost has
// no result.
func (s *server) unlisten(m jsonrpc.Message) {
	if m.Error == nil {
		s.say(m)
	}
	params, _ := splice.Set(nil, jsontext.Value(m.ID.Raw()), "requestId") // an empty value becomes an object
	s.say(jsonrpc.Notification(cancelling, params))
}
