package streamable

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// This file stores a channel for use after a restart of the host: the events that its client may
// not have, with their sequence numbers, and the requests that are in flight.

const (
	// unsureTime is how long an event counts as possibly lost after it was written to a connection. A
	// dead connection is noticed late.
	unsureTime = 30 * time.Second
	// askedAfter is how long a request is in flight before that fact is saved. Quick requests are
	// therefore never written to the disk.
	askedAfter = 250 * time.Millisecond
	// askedPlace replaces the sequence number in the keys of requests in flight.
	askedPlace = "?"
)

// unsure reports whether the client of a channel may not have an event that was written to it.
func (s *Streams) unsure(e *entry) bool {
	return s.channel && (e.unconfirmed || e.at > s.store.now()-int64(unsureTime))
}

// placeKey returns the key under which an event of a channel is saved.
func (s *Streams) placeKey(seq uint64) string { return string(appendPlace(nil, s.sessionID, seq)) }

func (s *Streams) askedKey(asks string) string { return s.sessionID + "." + askedPlace + asks }

// saveInFlight saves that a request of a channel is in flight. It saves nothing for a request whose
// id is too long.
func (s *Streams) saveInFlight(id jsonrpc.ID) {
	asks := encodeRequestID(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store.saver == nil || s.closed || asks == "" {
		return
	}
	state := s.live()
	if state.savedInFlight == nil {
		state.savedInFlight = map[string]struct{}{}
	}
	state.savedInFlight[asks] = struct{}{}
	s.store.saver.save(s.askedKey(asks), s.store.diskTime(s.store.now()), []byte(id.Raw()))
}

// forgetInFlight removes that record.
func (s *Streams) forgetInFlight(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil || len(s.state.savedInFlight) == 0 {
		return
	}
	if asks := encodeRequestID(id); asks != "" {
		s.forgetAsked(asks)
	}
}

func (s *Streams) forgetAsked(asks string) {
	if _, is := s.state.savedInFlight[asks]; is {
		delete(s.state.savedInFlight, asks)
		s.store.saver.forget(s.askedKey(asks))
	}
}

// savedChannelEvent is an event of a channel as it was saved, or, if asks is set, a request that
// was in flight.
type savedChannelEvent struct {
	restoredEvent
	asks jsonrpc.ID
}

var errNoPlace = errors.New("not an event of this channel")

// parsePlaced reads a saved record of a channel.
func (s *Streams) parsePlaced(saved Saved) (e savedChannelEvent, err error) {
	var value savedEvent
	if err := json.Unmarshal(saved.Value, &value); err != nil {
		return e, err
	}
	e.key, e.size, e.at, e.data = saved.Key, len(saved.Value), s.store.fromDiskTime(value.At),
		[]byte(value.Data)
	text, ours := strings.CutPrefix(saved.Key, s.sessionID+".")
	if !ours {
		return e, errNoPlace
	}
	asks, asked := strings.CutPrefix(text, askedPlace)
	if !asked && e.at <= s.store.now()-int64(s.store.options.TTL) {
		return e, errExpired // a request may have been in flight for longer than the TTL
	}
	if asked {
		id, ok := eventID{requestID: asks}.decodeRequestID()
		if e.asks = id; !ok {
			return e, errNoPlace
		}
		return e, nil
	}
	if e.id.seq, err = strconv.ParseUint(text, 36, 63); err != nil || e.id.seq == 0 ||
		s.placeKey(e.id.seq) != saved.Key {
		return e, errNoPlace
	}
	m, err := jsonrpc.Decode(e.data, jsonrpc.Limits{})
	if err != nil {
		return e, err
	}
	if _, e.weight = encode(m); e.weight == question || strings.ContainsAny(value.Data, "\r\n") {
		return e, errPlace
	}
	return e, nil
}

// restoreChannel implements Restore for a channel. It restores events with their sequence numbers.
// Requests that were in flight are answered with an error that says that the host has restarted.
// The mutex is held.
func (s *Streams) restoreChannel(all []Saved) (dropped []error) {
	var events, asked []savedChannelEvent
	for _, saved := range all {
		e, err := s.parsePlaced(saved)
		switch {
		case err != nil:
			s.store.Discard(saved.Key)
			dropped = append(dropped, err)
		case e.asks.IsZero():
			events = append(events, e)
		default:
			asked = append(asked, e)
		}
	}
	st := s.standalone()
	st.unattended = true
	begin := st.next
	slices.SortFunc(events, func(a, b savedChannelEvent) int {
		return cmp.Compare(a.id.seq, b.id.seq)
	})
	for _, e := range events {
		st.next, st.sent = e.id.seq, e.id.seq
		st.add(e.data, e.weight, channelNumber, e.at)
		i := len(st.entries) - 1
		st.markSent(i, channelNumber)
		st.entries[i].unconfirmed = true
		s.account(len(e.data))
		s.saved(st, i)
		s.store.saver.restored(e.key, e.size)
	}
	st.next = max(st.next, begin)
	st.sent = st.next
	s.bound(st)
	slices.SortFunc(asked, func(a, b savedChannelEvent) int { return cmp.Compare(a.at, b.at) })
	for _, e := range asked {
		s.store.Discard(e.key)
		data, w := encode(jsonrpc.Failure(e.asks,
			protocol.Translate(protocol.Restarted(), protocol.LatestLegacy)))
		_ = s.add(st, data, w) // an outcome is never rejected
	}
	s.expectSweep()
	return dropped
}
