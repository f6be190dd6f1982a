package streamable

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"sync"

	"mcpd/protocol/jsonrpc"
)

// channels holds the channels whose handshake has not yet succeeded. After the handshake, the Host
// finds the session by its id, which is the ticket, and the Streams of the session refer to the
// channel.
type channels struct {
	mu sync.Mutex
	// byTicket is keyed by the digest of the ticket, so that the duration of a look-up reveals nothing
	// about a ticket.
	byTicket map[[sha256.Size]byte]*channel
	silent   map[Endpoint]int // number of channels in byTicket
}

// add creates a channel and its ticket. The ticket is all that a client needs in addition to its
// own credentials. add returns nil if too many channels of the endpoint have not begun.
func (s *channels) add(h *Handler, ep Endpoint, blind bool) *channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byTicket == nil {
		s.byTicket, s.silent = map[[sha256.Size]byte]*channel{}, map[Endpoint]int{}
	}
	if s.silent[ep] >= maxSilent {
		s.makeRoom(ep)
	}
	if s.silent[ep] >= maxSilent {
		return nil
	}
	s.silent[ep]++
	ticket := rand.Text() + rand.Text() // 260 bits
	streams := h.options.Store.Channel(ep.Tenant, ticket)
	c := streams.owned(func() *channel { return h.newChannel(ep, ticket, streams) })
	c.blind = blind
	c.wait()
	s.byTicket[sha256.Sum256([]byte(ticket))] = c
	return c
}

// newChannel returns a channel without a session.
func (h *Handler) newChannel(ep Endpoint, ticket string, streams *Streams) *channel {
	streams.room = h.options.Room(ep)
	return &channel{
		handler: h, at: ep, ticket: ticket, streams: streams, inFlight: map[jsonrpc.ID]struct{}{},
	}
}

// makeRoom removes the channel of an endpoint whose client disconnected first, if there is one. The
// mutex is held.
func (s *channels) makeRoom(ep Endpoint) {
	if first := s.oldest(ep); first != nil {
		s.drop(first)
		first.over()
	}
}

// oldest returns the channel of an endpoint whose client disconnected first. The mutex is held.
func (s *channels) oldest(ep Endpoint) (first *channel) {
	for _, c := range s.byTicket {
		if c.at == ep && c.leftBefore(first) {
			first = c
		}
	}
	return first
}

// find returns the channel of a ticket. It returns nil for the ticket of another endpoint or
// principal.
func (s *channels) find(ctx context.Context, h *Handler, ep Endpoint, ticket string) *channel {
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
	c = streams.owned(func() *channel { return h.newChannel(ep, ticket, streams) })
	c.adopt(session)
	return c
}

// remove removes a channel: either the Host knows its session now, or it has ended.
func (s *channels) remove(c *channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(c)
}

func (s *channels) drop(c *channel) {
	key := sha256.Sum256([]byte(c.ticket))
	if s.byTicket[key] != c {
		return
	}
	delete(s.byTicket, key)
	if s.silent[c.at]--; s.silent[c.at] == 0 {
		delete(s.silent, c.at)
	}
}
