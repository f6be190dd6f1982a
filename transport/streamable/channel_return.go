package streamable

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"mcpd/protocol/jsonrpc"
)

// Some HTTP+SSE clients reopen their stream without naming their session: the TypeScript SDK (1.x
// and 2.x) drops Last-Event-ID. They still post to the address of the old stream. The host
// therefore begins such a stream with a ping. The client posts the answer with the ticket of its
// session, and the ticket identifies that session.

// identifyTime is how long a client may take to answer that ping. After it, the stream is treated
// as that of a new client.
const identifyTime = 5 * time.Second

// Finder is a Host that can tell if a client may be reconnecting.
type Finder interface {
	// Channels reports whether a principal has a session over HTTP+SSE at an endpoint. The stream of
	// that session may still look open when its client reconnects.
	Channels(ep Endpoint) bool
}

// reconnects holds the streams whose clients were sent such a ping, by the id of the ping.
type reconnects struct {
	mu    sync.Mutex
	asked map[jsonrpc.ID]reconnect
}

type reconnect struct {
	at Endpoint
	is chan *sseChannel // buffered, for one channel
}

func (s *reconnects) ask(ep Endpoint) (jsonrpc.ID, reconnect) {
	id, r := jsonrpc.StringID("mcpd-"+rand.Text()), reconnect{ep, make(chan *sseChannel, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[jsonrpc.ID]reconnect{}
	}
	s.asked[id] = r
	return id, r
}

func (s *reconnects) forget(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, id)
}

// answered reports whether a message of a channel's client answers one of the pings.
func (s *reconnects) answered(c *sseChannel, m jsonrpc.Message) bool {
	if m.Method != "" || m.ID.IsZero() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.asked[m.ID]
	if !ok || r.at != c.at {
		return false
	}
	delete(s.asked, m.ID)
	r.is <- c
	return true
}

// reconnectsUnnamed reports whether a client may be reconnecting without naming its session. Such a
// client names a revision, so it has had a session.
func (h *Handler) reconnectsUnnamed(r *http.Request, ep Endpoint) bool {
	host, ok := h.options.Host.(Finder)
	return ok && reconnectsUnnamed(r) && host.Channels(ep)
}

// reconnectsUnnamed reports whether a stream is requested by a client that has had a session and
// does not name it.
func reconnectsUnnamed(r *http.Request) bool {
	return r.Header.Get("Last-Event-Id") == "" && r.Header.Get("Mcp-Protocol-Version") != ""
}

// identify begins the stream of a client that reconnects, and finds its channel. A nil channel
// means that the client has not named one in time. more reports whether the client is still
// connected.
func (h *Handler) identify(ctx context.Context, e *responseWriter, ep Endpoint) (c *sseChannel,
	more bool) {
	id, asked := h.reconnects.ask(ep)
	defer h.reconnects.forget(id)
	ping := jsonrpc.Request(id, "ping", nil)
	e.first = appendEvent(nil, Event{Data: ping.Append(nil)})
	if e.open() != nil {
		return nil, false
	}
	late := make(chan struct{})
	timer := h.options.Store.options.Clock.AfterFunc(identifyTime, func() { close(late) })
	defer timer.Stop()
	select {
	case c = <-asked.is:
	case <-late:
	case <-ctx.Done():
		return nil, false
	case <-h.drain:
		return nil, false
	}
	return c, true
}
