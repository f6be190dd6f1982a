package streamable

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"sync"

	"mcpd/protocol/jsonrpc"
)

// channels are those whose handshake has not succeeded yet. From then on the Host finds the session
// by its id, which is the ticket, and its Streams know the channel.
type channels struct {
	mu       sync.Mutex
	byTicket map[[sha256.Size]byte]*channel // by the digest, so that the time of a look-up tells nothing of a ticket
	silent   map[Endpoint]int               // how many of them there are
}

// add makes a channel and its ticket, which is all that a client needs beside its own credentials.
// It returns nil when too many have not begun yet.
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

// newChannel makes a channel without a session.
func (h *Handler) newChannel(ep Endpoint, ticket string, streams *Streams) *channel {
	streams.room = h.options.Room(ep)
	return &channel{handler: h, at: ep, ticket: ticket, streams: streams, inFlight: map[jsonrpc.ID]struct{}{}}
}

// makeRoom forgets the channel of an endpoint whose stream was left first, if there is one. The
// mutex is held.
func (s *channels) makeRoom(ep Endpoint) {
	if first := s.oldest(ep); first != nil {
		s.drop(first)
		first.over()
	}
}

// oldest is the channel of an endpoint whose stream was left first. The mutex is held.
func (s *channels) oldest(ep Endpoint) (first *channel) {
	for _, c := range s.byTicket {
		if c.at == ep && c.leftBefore(first) {
			first = c
		}
	}
	return first
}

// find returns the channel of a ticket, and nil for that of another endpoint or principal.
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

// remove forgets a channel: the Host knows it, or nobody does.
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
