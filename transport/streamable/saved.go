package streamable

import (
	"math"
	"slices"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// This file is what is written down of streams, for the session's next life: what came, or was not written to its end, after the client had
// lost its connection. What a connection has taken is taken for read; of a stream that is read there is nothing to write.
//
//	invariant: an event is on the disk only while it is in a history; whatever bounds that bounds this
//
// Of a POST with several requests, or one with an id too long for event ids, nothing is written: nobody could tell which answers are missing.

// leave says that nobody reads a stream any more. Of one that answers a request the client may not have what it was given last.
func (s *Streams) leave(st *stream) {
	st.away = true
	for i := range st.entries {
		s.save(st, i)
	}
}

// save has an event written down, if it is of a stream that was left. A question is not: who asks dies with the host.
func (s *Streams) save(st *stream, i int) {
	e := &st.entries[i]
	alone := st.number == 0
	if s.store.saver == nil || s.plain || !st.away || e.saved || e.weight == question || len(e.data) > s.store.options.StreamBytes ||
		alone && e.seq < st.sent && !s.unsure(e) || !alone && st.asks == "" {
		return
	}
	s.saved(st, i)
	s.store.saver.save(s.key(st, e.seq), s.store.written(e.at), e.data)
}

// saved notes that an event is on the disk, or is going to be.
func (s *Streams) saved(st *stream, i int) {
	if st.unsave == nil {
		st.unsave = func(seq uint64) { s.store.saver.forget(s.key(st, seq)) }
	}
	st.entries[i].saved = true
}

// key is where an event is written: the session's id and the event's.
func (s *Streams) key(st *stream, seq uint64) string {
	if s.channel {
		return s.placeKey(seq)
	}
	id, nonce := eventID{standaloneStream, 0, seq, ""}, s.state.nonce
	if st.number != 0 {
		id, nonce = eventID{postStream, st.number, seq, st.asks}, st.nonce
	}
	return string(id.append(append([]byte(s.of), '.'), nonce))
}

// forgetAll takes all events of a stream off the disk, and keeps them.
func (st *stream) forgetAll() {
	for i := range st.entries {
		st.forget(&st.entries[i])
	}
}

// afterwards makes o the response of a client that comes back to the stream of a request of the session's life in an earlier host. It gets what
// was written down of it. When the answer is not among that, the request died with that host, and is answered with what is known of it.
func (s *Streams) afterwards(o *outlet, id eventID, nonce string, v protocol.Version) error {
	ask, ok := id.asked()
	if !ok || id.seq > math.MaxInt64 {
		return errUnreplayable
	}
	st := s.state.posts[id.stream]
	if st == nil || st.nonce != nonce {
		st = &stream{history: newHistory(), number: s.number(), nonce: s.state.nonce, asks: id.asks}
		s.post(st)
		s.complete(st)
		id, nonce = eventID{postStream, st.number, 0, id.asks}, st.nonce
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

// answered reports whether the one request of a stream has its answer there, which is the last that comes.
func (st *stream) answered() bool {
	n := len(st.entries)
	return n > 0 && st.entries[n-1].weight == outcome
}

// Restore takes over what an earlier host has written down of the session, before its client can come back. What is of no use is discarded,
// each with an error that says why. It is for a Store with a Save.
func (s *Streams) Restore(all []Saved) (dropped []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.channel {
		return s.restoreChannel(all)
	}
	nonce, now := s.live().nonce, s.store.now()
	var events []written
	drop := func(key string, err error) {
		s.store.Discard(key)
		dropped = append(dropped, err)
	}
	for _, saved := range all {
		e, err := parseSaved(s.of, nonce, saved)
		e.at = s.store.read(e.at)
		if err == nil && e.at <= now-int64(s.store.options.TTL) {
			err = errExpired
		}
		if err != nil {
			drop(saved.Key, err)
			continue
		}
		events = append(events, e)
	}
	slices.SortFunc(events, written.compare)
	for _, e := range events {
		if e.id.kind == standaloneStream {
			s.store.Discard(e.key) // it is written anew, as an event of this life
			s.standing().away = true
			_ = s.addAt(s.standing(), e.data, e.weight, e.at) // what is no question is never refused
		} else if err := s.putBack(e); err != nil {
			drop(e.key, err)
		}
	}
	s.expectSweep()
	return dropped
}

// putBack puts an event where it was on the stream of a request, as one that its client may have been given.
func (s *Streams) putBack(e written) error {
	st := s.state.posts[e.id.stream]
	if st == nil {
		st = &stream{history: newHistory(), number: e.id.stream, nonce: e.nonce, asks: e.id.asks, away: true}
		s.state.last = max(s.state.last, st.number)
		s.post(st)
		s.complete(st)
	}
	if st.nonce != e.nonce || st.asks != e.id.asks || e.id.seq < st.next || st.answered() {
		return errEventID
	}
	st.next, st.sent = e.id.seq, e.id.seq
	st.add(e.data, e.weight, st.number, e.at)
	i := len(st.entries) - 1
	st.give(i, st.number)
	s.account(len(e.data))
	s.saved(st, i)
	s.store.saver.restored(e.key, e.size)
	s.bound(st)
	return nil
}
