package streamable

import (
	"math"
	"slices"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// This file stores events of streams for use after a restart of the host: events that arrived, or
// were not completely written, after the client had lost its connection. Events written to a
// connection count as received, so nothing is stored for a stream that has a reader.
//
//	invariant: an event is on the disk only while it is in a history, whose limits thus hold for both
//
// Nothing is stored for a POST with several requests or with an id too long for event ids, because
// it could not be determined which answers are missing.

// leave records that a stream has no reader. The client of a stream that answers a request may not
// have received the last events.
func (s *Streams) leave(st *stream) {
	st.unattended = true
	for i := range st.entries {
		s.save(st, i)
	}
}

// save stores an event if its stream has no reader. It does not store a question, because the
// server that asks does not survive a restart of the host.
func (s *Streams) save(st *stream, i int) {
	e := &st.entries[i]
	alone := st.number == 0
	if s.store.saver == nil || s.plain || !st.unattended || e.saved || e.weight == question ||
		len(e.data) > s.store.options.StreamBytes ||
		alone && e.seq < st.sent && !s.unsure(e) || !alone && st.requestID == "" {
		return
	}
	s.saved(st, i)
	s.store.saver.save(s.key(st, e.seq), s.store.diskTime(e.at), e.data)
}

// saved records that an event is on the disk or about to be.
func (s *Streams) saved(st *stream, i int) {
	if st.unsave == nil {
		st.unsave = func(seq uint64) { s.store.saver.forget(s.key(st, seq)) }
	}
	st.entries[i].saved = true
}

// key returns the key under which an event is stored: the id of the session and that of the event.
func (s *Streams) key(st *stream, seq uint64) string {
	if s.channel {
		return s.placeKey(seq)
	}
	id, nonce := eventID{standaloneStream, 0, seq, ""}, s.state.nonce
	if st.number != 0 {
		id, nonce = eventID{postStream, st.number, seq, st.requestID}, st.nonce
	}
	return string(id.append(append([]byte(s.sessionID), '.'), nonce))
}

// forgetAll removes all events of a stream from the disk, but not from memory.
func (st *stream) forgetAll() {
	for i := range st.entries {
		st.forget(&st.entries[i])
	}
}

// resumeEarlier makes o the response for a client that resumes the stream of a request of an
// earlier host process. The client receives the stored events. If the answer is not among them, the
// request was lost with that process, and the client receives an error that says so.
func (s *Streams) resumeEarlier(o *streamResponse, id eventID, nonce string,
	v protocol.Version) error {
	ask, ok := id.decodeRequestID()
	if !ok || id.seq > math.MaxInt64 {
		return errUnreplayable
	}
	st := s.state.posts[id.stream]
	if st == nil || st.nonce != nonce {
		st = &stream{
			history: newHistory(), number: s.number(), nonce: s.state.nonce, requestID: id.requestID,
		}
		s.post(st)
		s.complete(st)
		id, nonce = eventID{postStream, st.number, 0, id.requestID}, st.nonce
	}
	if st.lost == 0 && !st.answered() {
		st.next = max(st.next, id.seq+1)
		st.sent = st.next
		data, w := encode(jsonrpc.Failure(ask, protocol.Translate(protocol.Restarted(), v)))
		if err := s.add(st, data, w); err != nil {
			return err
		}
	}
	return s.resume(o, id, nonce)
}

// answered reports whether the last event of a stream is the answer to its only request.
func (st *stream) answered() bool {
	n := len(st.entries)
	return n > 0 && st.entries[n-1].weight == outcome
}

// Restore restores the events that an earlier host process has stored for the session. It must be
// called before the client can reconnect. It discards unusable records, and returns an error with
// the reason for each. It is for a Store with a Save.
func (s *Streams) Restore(all []Saved) (dropped []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.channel {
		return s.restoreChannel(all)
	}
	nonce, now := s.live().nonce, s.store.now()
	var events []restoredEvent
	drop := func(key string, err error) {
		s.store.Discard(key)
		dropped = append(dropped, err)
	}
	for _, saved := range all {
		e, err := parseSaved(s.sessionID, nonce, saved)
		e.at = s.store.fromDiskTime(e.at)
		if err == nil && e.at <= now-int64(s.store.options.TTL) {
			err = errExpired
		}
		if err != nil {
			drop(saved.Key, err)
			continue
		}
		events = append(events, e)
	}
	slices.SortFunc(events, restoredEvent.compare)
	for _, e := range events {
		if e.id.kind == standaloneStream {
			s.store.Discard(e.key) // it is stored again, as an event of this process
			s.standalone().unattended = true
			_ = s.addAt(s.standalone(), e.data, e.weight, e.at) // only questions can be rejected
		} else if err := s.putBack(e); err != nil {
			drop(e.key, err)
		}
	}
	s.expectSweep()
	return dropped
}

// putBack restores an event of the stream of a request, as one that its client may have received.
func (s *Streams) putBack(e restoredEvent) error {
	st := s.state.posts[e.id.stream]
	if st == nil {
		st = &stream{
			history: newHistory(), number: e.id.stream, nonce: e.nonce, requestID: e.id.requestID,
			unattended: true,
		}
		s.state.last = max(s.state.last, st.number)
		s.post(st)
		s.complete(st)
	}
	if st.nonce != e.nonce || st.requestID != e.id.requestID || e.id.seq < st.next || st.answered() {
		return errEventID
	}
	st.next, st.sent = e.id.seq, e.id.seq
	st.add(e.data, e.weight, st.number, e.at)
	i := len(st.entries) - 1
	st.markSent(i, st.number)
	s.account(len(e.data))
	s.saved(st, i)
	s.store.saver.restored(e.key, e.size)
	s.bound(st)
	return nil
}
