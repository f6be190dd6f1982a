package streamable

import (
	"strconv"
	"strings"
	"time"
)

// This file contains the differences in the Streams of an HTTP+SSE client. Everything, including
// answers, is sent on the standalone stream, over one connection at a time. The stream stays the
// same when the session continues after a restart of the host. The id of an event therefore
// contains only the client's ticket, which says who may resume the stream, and the sequence number
// of the event. The host assigns higher sequence numbers after each restart.

// placeBits is the number of low bits of a sequence number: each start of a channel's history takes
// its high bits from the clock, in milliseconds.
const placeBits = 20

// channelNumber is the number of a channel's only stream.
const channelNumber = 1

// Channel returns the Streams of a tenant's session over HTTP+SSE with this id. The session is new,
// or was restored after a restart of the host.
func (s *Store) Channel(tenant, of string) *Streams {
	return &Streams{store: s, tenant: tenant, sessionID: of, channel: true}
}

// Channel reports whether a client receives everything on one stream, as in HTTP+SSE.
func (s *Streams) Channel() bool { return s.channel }

// ID returns the id of the session. A channel has its id before the session is opened.
func (s *Streams) ID() string { return s.sessionID }

// minAway is longer than the time between two signs of activity of a connected client, which is at
// most 5 minutes.
const minAway = 6 * time.Minute

// Away returns how long the client of a channel may stay disconnected: as long as missed events are
// stored, and at least 6 minutes.
func (s *Streams) Away() time.Duration { return max(s.store.options.TTL, minAway) }

// Again reports whether a session was opened on the streams before, and records that one is opened
// now. If the handshake of a session is refused, the next session uses the same streams.
func (s *Streams) Again() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.opened
	s.opened = true
	return again
}

// owned returns the channel that owns the streams, and calls make if there is none yet.
func (s *Streams) owned(make func() *sseChannel) *sseChannel {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		s.client = make()
	}
	return s.client
}

// channelHistory returns an empty history whose sequence numbers are higher than those of all
// earlier host processes.
func (s *Streams) channelHistory() history {
	h := newHistory()
	if now := s.store.options.Clock.Now().UnixMilli(); now > 0 {
		h.next = uint64(now) << placeBits
	}
	h.sent = h.next
	return h
}

// join makes o the connection of a channel and closes its other connections. If resumed is set, the
// stream continues after the given sequence number. A sequence number from an earlier host whose
// clock was ahead is treated as the newest event.
func (s *Streams) join(o *streamResponse, after uint64, resumed bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrNoSession
	}
	st := s.standalone()
	if !resumed {
		after = st.sent - 1
	}
	if o.unsureOfLast {
		after = s.beforeUnsure(st)
		o.answersOnlyBefore = st.sent
	}
	if after = min(after, st.next-1); after < st.lost {
		return errUnreplayable
	}
	endResponses(st, replaced)
	s.attach(st, o, eventID{channelStream, channelNumber, after, ""})
	o.get = true
	s.state.gets++
	s.updateRoom()
	return nil
}

// beforeUnsure returns the sequence number before the first answer that the client may not have.
func (s *Streams) beforeUnsure(st *stream) uint64 {
	for i := range st.entries[:len(st.entries)-st.waiting] {
		if e := &st.entries[i]; e.weight == outcome && s.unsure(e) {
			return e.seq - 1
		}
	}
	return st.sent - 1
}

// updateRoom updates the byte budget with the bytes that wait for the connected client of a
// channel. The Store limits the bytes that wait for a disconnected client.
func (s *Streams) updateRoom() {
	if s.budget == nil {
		return
	}
	waits := 0
	if s.state != nil && s.state.standalone != nil && len(s.state.standalone.responses) > 0 {
		waits = s.state.standalone.queued
	}
	s.budget.Add(waits - s.roomed)
	s.roomed = waits
}

// unread returns the number of bytes that wait for a connected client.
func (s *Streams) unread() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil || s.state.standalone == nil || len(s.state.standalone.responses) == 0 {
		return 0
	}
	return s.state.standalone.queued
}

// appendPlace appends the id of an event of a channel.
func appendPlace(dst []byte, ticket string, seq uint64) []byte {
	return strconv.AppendUint(append(append(dst, ticket...), '.'), seq, 36)
}

// parsePlace parses such an id.
func parsePlace(text string) (ticket string, seq uint64, ok bool) {
	ticket, place, ok := strings.Cut(text, ".")
	if !ok || ticket == "" || len(text) > maxEventID {
		return "", 0, false
	}
	seq, err := strconv.ParseUint(place, 36, 63)
	return ticket, seq, err == nil
}
