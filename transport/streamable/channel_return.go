package streamable

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"mcpd/protocol/jsonrpc"
)

// Some clients of HTTP+SSE open their stream again without saying what they had: the TypeScript SDK
// (1.x and 2.x) drops Last-Event-ID. They post to the address that they know, though. So such a
// stream begins with a ping; the answer to it is posted with the ticket of the session that the
// stream is for.

// recognizeTime is how long a client may take to answer that ping. Then its stream is that of a new
// client.
const recognizeTime = 5 * time.Second

// Finder is a Host that knows whether a client may be coming back.
type Finder interface {
	// Channels reports whether a principal has a session over HTTP+SSE at an endpoint. Its stream may
	// look open still when its client is back.
	Channels(ep Endpoint) bool
}

// returns are streams whose clients are asked who they are, by the id of the ping.
type returns struct {
	mu    sync.Mutex
	asked map[jsonrpc.ID]returning
}

type returning struct {
	at Endpoint
	is chan *channel // has room for one
}

func (s *returns) ask(ep Endpoint) (jsonrpc.ID, returning) {
	id, r := jsonrpc.StringID("mcpd-"+rand.Text()), returning{ep, make(chan *channel, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[jsonrpc.ID]returning{}
	}
	s.asked[id] = r
	return id, r
}

func (s *returns) forget(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, id)
}

// answered reports whether a message of a channel's client answers one of the pings.
func (s *returns) answered(c *channel, m jsonrpc.Message) bool {
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

// returnsBlindly reports whether a client has had a session, as it names the revision of one, and
// may be coming back without saying to which.
func (h *Handler) returnsBlindly(r *http.Request, ep Endpoint) bool {
	host, ok := h.options.Host.(Finder)
	return ok && blind(r) && host.Channels(ep)
}

// blind reports whether a request for a stream is of a client that has had one before and does not
// say so.
func blind(r *http.Request) bool {
	return r.Header.Get("Last-Event-Id") == "" && r.Header.Get("Mcp-Protocol-Version") != ""
}

// recognize begins the stream of a client that comes back, and finds its channel. Nil is that it
// does not say; more is that it is still there.
func (h *Handler) recognize(ctx context.Context, e *emitter, ep Endpoint) (c *channel, more bool) {
	id, asked := h.returns.ask(ep)
	defer h.returns.forget(id)
	ping := jsonrpc.Request(id, "ping", nil)
	e.first = appendEvent(nil, Event{Data: ping.Append(nil)})
	if e.open() != nil {
		return nil, false
	}
	late := make(chan struct{})
	timer := h.options.Store.options.Clock.AfterFunc(recognizeTime, func() { close(late) })
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
