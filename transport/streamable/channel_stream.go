package streamable

import (
	"strconv"
	"strings"
	"time"
)

// This file is what is different about the Streams of a client of HTTP+SSE: everything goes out on
// the standing stream, answers included, over one connection at a time. It is always the same
// stream, also in the session's next life, so an event's id says who may resume it and where: the
// ticket of the client, and the place of the event. Places of a later life are behind those of an
// earlier one.

// placeBits is how many places there are for each millisecond of a life.
const placeBits = 20

// channelNumber is the number of the one stream.
const channelNumber = 1

// Channel makes the streams of a tenant's session over HTTP+SSE with this id: of a new one, or of
// one that has outlived its host.
func (s *Store) Channel(tenant, of string) *Streams {
	return &Streams{store: s, tenant: tenant, of: of, channel: true}
}

// Channel reports whether a client is sent everything on one stream, as in HTTP+SSE.
func (s *Streams) Channel() bool { return s.channel }

// ID is the id of the session, which that of a channel has before it is opened.
func (s *Streams) ID() string { return s.of }

// minAway is more than the time between two signs that a client is connected, which is 5 minutes at
// most.
const minAway = 6 * time.Minute

// Away is how long the client of a channel may be away: as long as what it misses is kept.
func (s *Streams) Away() time.Duration { return max(s.store.options.TTL, minAway) }

// Again reports whether a session was opened on the streams before, and counts this one. One whose
// handshake is refused leaves them to the next.
func (s *Streams) Again() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.opened
	s.opened = true
	return again
}

// owned returns the channel that the streams are of, and makes it when there is none.
func (s *Streams) owned(make func() *channel) *channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		s.client = make()
	}
	return s.client
}

// channelHistory is a history whose places are behind those of all earlier lives.
func (s *Streams) channelHistory() history {
	h := newHistory()
	if now := s.store.options.Clock.Now().UnixMilli(); now > 0 {
		h.next = uint64(now) << placeBits
	}
	h.sent = h.next
	return h
}

// join makes o the connection of a channel, in place of those that it has. With resumed it goes on
// after a place; that of a life whose clock was ahead counts as the newest there is.
func (s *Streams) join(o *outlet, after uint64, resumed bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrNoSession
	}
	st := s.standing()
	if !resumed {
		after = st.sent - 1
	}
	if o.blind {
		after = s.beforeUnsure(st)
		o.sure = st.sent
	}
	if after = min(after, st.next-1); after < st.lost {
		return errUnreplayable
	}
	endOutlets(st, replaced)
	s.attach(st, o, eventID{channelStream, channelNumber, after, ""})
	o.get = true
	s.state.gets++
	s.settleRoom()
	return nil
}

// beforeUnsure is the place before the first answer that the client may not have.
func (s *Streams) beforeUnsure(st *stream) uint64 {
	for i := range st.entries[:len(st.entries)-st.waiting] {
		if e := &st.entries[i]; e.weight == outcome && s.unsure(e) {
			return e.seq - 1
		}
	}
	return st.sent - 1
}

// settleRoom counts what waits for the client of a channel while it is connected. What waits for
// one that is away is bounded by the Store.
func (s *Streams) settleRoom() {
	if s.room == nil {
		return
	}
	waits := 0
	if s.state != nil && s.state.alone != nil && len(s.state.alone.outlets) > 0 {
		waits = s.state.alone.queued
	}
	s.room.Add(waits - s.roomed)
	s.roomed = waits
}

// unread is how many bytes wait for a client that is connected.
func (s *Streams) unread() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil || s.state.alone == nil || len(s.state.alone.outlets) == 0 {
		return 0
	}
	return s.state.alone.queued
}

// appendPlace writes the id of an event of a channel.
func appendPlace(dst []byte, ticket string, seq uint64) []byte {
	return strconv.AppendUint(append(append(dst, ticket...), '.'), seq, 36)
}

// parsePlace reads such an id.
func parsePlace(text string) (ticket string, seq uint64, ok bool) {
	ticket, place, ok := strings.Cut(text, ".")
	if !ok || ticket == "" || len(text) > maxEventID {
		return "", 0, false
	}
	seq, err := strconv.ParseUint(place, 36, 63)
	return ticket, seq, err == nil
}
