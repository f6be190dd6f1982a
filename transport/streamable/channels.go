package streamable

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"sync"

	"mcpd/protocol/jsonrpc"
)

// sseChannels holds the channels whose handshake has not yet succeeded. After the handshake, the
// Host finds the session by its id, which is the ticket, and the Streams of the session refer to
// the channel.
type sseChannels struct {
	mu sync.Mutex
	// byTicket is keyed by the digest of the ticket, so that the duration of a look-up reveals nothing
	// about a ticket.
	byTicket map[[sha256.Size]byte]*sseChannel
	unopened map[Endpoint]int // number of channels in byTicket
}

// add creates a channel and its ticket. The ticket is all that a client needs in addition to its
// own credentials. add returns nil if too many channels of the endpoint have not begun.
func (s *sseChannels) add(h *Handler, ep Endpoint, blind bool) *sseChannel {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byTicket == nil {
		s.byTicket, s.unopened = map[[sha256.Size]byte]*sseChannel{}, map[Endpoint]int{}
	}
	if s.unopened[ep] >= maxUnopened {
		s.makeRoom(ep)
	}
	if s.unopened[ep] >= maxUnopened {
		return nil
	}
	s.unopened[ep]++
	ticket := rand.Text() + rand.Text() // 260 bits
	streams := h.options.Store.Channel(ep.Tenant, ticket)
	c := streams.owned(func() *sseChannel { return h.newChannel(ep, ticket, streams) })
	c.hadSession = blind
	c.wait()
	s.byTicket[sha256.Sum256([]byte(ticket))] = c
	return c
}

// newChannel returns a channel without a session.
func (h *Handler) newChannel(ep Endpoint, ticket string, streams *Streams) *sseChannel {
	streams.budget = h.options.Room(ep)
	return &sseChannel{
		handler: h, at: ep, ticket: ticket, streams: streams, inFlight: map[jsonrpc.ID]struct{}{},
	}
}

// makeRoom removes the channel of an endpoint whose client disconnected first, if there is one. The
// mutex is held.
func (s *sseChannels) makeRoom(ep Endpoint) {
	if first := s.oldest(ep); first != nil {
		s.drop(first)
		first.endUnlisted()
	}
}

// oldest returns the channel of an endpoint whose client disconnected first. The mutex is held.
func (s *sseChannels) oldest(ep Endpoint) (first *sseChannel) {
	for _, c := range s.byTicket {
		if c.at == ep && c.leftBefore(first) {
			first = c
		}
	}
	return first
}

// find returns the channel of a ticket. It returns nil for the ticket of another endpoint or
// principal.
func (s *sseChannels) find(ctx context.Context, h *Handler, ep Endpoint,
	ticket string) *sseChannel {
	s.mu.Lock()
	c := s.byTicket[sha256.Sum256([]byte(ticket))]
	s.mu.Unlock()
	if c != nil && c.at == ep {
		return c
	}
	session, err := h.options.Host.Lookup(ctx, ep, ticket)
	if err != nil || !session.Streams().Channel() {
		return nil
	}
	streams := session.Streams()
	c = streams.owned(func() *sseChannel { return h.newChannel(ep, ticket, streams) })
	c.adopt(session)
	return c
}

// remove removes a channel: either the Host knows its session now, or it has ended.
func (s *sseChannels) remove(c *sseChannel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(c)
}

func (s *sseChannels) drop(c *sseChannel) {
	key := sha256.Sum256([]byte(c.ticket))
	if s.byTicket[key] != c {
		return
	}
	delete(s.byTicket, key)
	if s.unopened[c.at]--; s.unopened[c.at] == 0 {
		delete(s.unopened, c.at)
	}
}
