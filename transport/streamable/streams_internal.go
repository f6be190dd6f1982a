package streamable

import (
	"slices"

	"mcpd/transport"
)

// This file contains the internals of Streams. Every function in it, except sweep and attended, is
// called with the mutex held.

// live returns the state, which it creates at the first call.
func (s *Streams) live() *streamsState {
	if s.state == nil {
		s.state = &streamsState{account: s.store.options.Account(s.tenant)}
		switch {
		case s.channel:
			s.state.nonce = s.sessionID
		case !s.plain:
			s.state.nonce = newNonce(s.sessionID)
		}
	}
	return s.state
}

func (s *Streams) number() uint32 {
	s.state.last++
	return s.state.last
}

func (s *Streams) standalone() *stream {
	state := s.live()
	if state.standalone == nil {
		state.standalone = &stream{history: newHistory()}
		if s.channel {
			state.standalone.history = s.channelHistory()
		}
	}
	return state.standalone
}

// post registers the stream of a POST.
func (s *Streams) post(st *stream) {
	if s.state.posts == nil {
		s.state.posts = make(map[uint32]*stream)
	}
	s.state.posts[st.number] = st
}

// attach connects o to a stream, to continue after the last event that the client has seen.
func (s *Streams) attach(st *stream, o *streamResponse, seen eventID) {
	st.unattended = false
	o.nonce, o.kind, o.number, o.next, o.requestID = s.state.nonce, seen.kind, seen.stream, seen.seq+
		1, seen.requestID
	if st.number != 0 {
		o.nonce = st.nonce
	}
	o.stream = st
	st.responses = append(st.responses, o)
}

// end disconnects o from its stream, unless it is disconnected already.
func end(o *streamResponse, why phase) {
	if o.phase != live {
		return
	}
	o.phase = why
	o.stream.responses = slices.DeleteFunc(o.stream.responses, func(other *streamResponse) bool {
		return other == o
	})
	o.signal()
}

func endResponses(st *stream, why phase) {
	for _, o := range st.responses {
		o.phase = why
		o.signal()
	}
	st.responses = nil
}

// wake signals the newest response of a stream, which is the one that writes new events.
func wake(st *stream) {
	if n := len(st.responses); n > 0 {
		st.responses[n-1].signal()
	}
}

// add queues an event. If too much is already waiting, waiting notifications are dropped to make
// room. If there is still no room, a question is rejected and a notification is dropped. None of
// this closes a connection: only writing to a client shows if it still reads.
func (s *Streams) add(st *stream, data []byte, w importance) error {
	return s.addAt(st, data, w, s.store.now())
}

// addAt is like add for an event of a given time, in nanoseconds of clock.SteadyNanos.
func (s *Streams) addAt(st *stream, data []byte, w importance, at int64) error {
	if w == hint && st.duplicate(data) {
		return nil
	}
	before := st.bytes
	dropped, room := st.makeRoom(w, &s.store.options, s.state.account.Full())
	s.account(st.bytes - before)
	if !room && w.notifies() {
		dropped++
	}
	if len(st.responses) > 0 {
		st.missed += dropped
	}
	switch {
	case room:
	case w == question:
		return transport.ErrSlowConsumer
	default:
		return nil
	}
	number := st.number
	if s.channel {
		number = channelNumber
	}
	st.add(data, w, number, at)
	s.store.marks.Events.Note(st.waiting)
	s.store.marks.Bytes.Note(st.queued)
	s.account(len(data))
	s.save(st, len(st.entries)-1)
	s.bound(st)
	s.store.marks.History.Note(int(s.store.used.Load()))
	wake(st)
	s.expectSweep()
	return nil
}

func (s *Streams) account(bytes int) {
	s.state.bytes += bytes
	s.store.used.Add(int64(bytes))
	s.state.account.Keep(bytes)
}

// bound drops events until the limits of the stream, the session, the tenant and the process are
// met: first the oldest finished streams, for all limits but that of the stream, and then the least
// important events. It never drops events that a connection still has to write: add limits those.
func (s *Streams) bound(st *stream) {
	o := &s.store.options
	for (len(st.entries) > o.StreamEvents || st.bytes > o.StreamBytes) && len(st.entries) > 1 &&
		s.drop(st) {
	}
	for s.state.bytes > o.SessionBytes || s.state.account.Full() ||
		s.store.used.Load() > int64(o.TotalBytes) {
		if !s.forgetOldest() && !s.drop(st) && !s.drop(s.state.standalone) {
			return
		}
	}
}

// drop drops one event of a stream and reports whether there was one to drop.
func (s *Streams) drop(st *stream) bool {
	if st == nil {
		return false
	}
	i := st.leastImportant(len(st.responses) > 0)
	if i >= 0 {
		s.account(-st.remove(i))
	}
	return i >= 0
}

// forgetOldest removes the oldest finished POST stream that has no reader.
func (s *Streams) forgetOldest() bool {
	i := slices.IndexFunc(s.state.ended, func(st *stream) bool { return len(st.responses) == 0 })
	if i < 0 {
		return false
	}
	st := s.state.ended[i]
	s.state.ended = slices.Delete(s.state.ended, i, i+1)
	delete(s.state.posts, st.number)
	s.dropAll(st)
	return true
}

func (s *Streams) dropAll(st *stream) {
	for len(st.entries) > 0 {
		s.account(-st.remove(0))
	}
}

// dropSent drops the events that were already given to a connection.
func (s *Streams) dropSent(st *stream) {
	for len(st.entries) > st.waiting {
		s.account(-st.remove(0))
	}
}

func (s *Streams) expectSweep() {
	if s.state.sweep == nil && !s.plain {
		s.state.sweep = s.store.options.Clock.AfterFunc(sweepEvery, s.sweep)
	}
}

// sweep drops events older than the TTL, except those that a connection still has to write. The
// timer calls it. It locks the mutex itself.
func (s *Streams) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	state := s.state
	state.sweep = nil
	expired := s.store.now() - int64(s.store.options.TTL)
	expire := func(st *stream) {
		for len(st.entries) > 0 && st.entries[0].at <= expired &&
			(len(st.responses) == 0 || len(st.entries) > st.waiting) {
			s.account(-st.remove(0))
		}
	}
	if state.standalone != nil {
		expire(state.standalone)
	}
	for _, st := range state.posts {
		expire(st)
	}
	state.ended = slices.DeleteFunc(state.ended, func(st *stream) bool {
		gone := len(st.entries) == 0 && len(st.responses) == 0
		if gone {
			delete(state.posts, st.number)
		}
		return gone
	})
	if state.bytes > 0 || len(state.ended) > 0 {
		s.expectSweep()
	}
}

// attended reports whether a client reads a stream. It locks the mutex itself.
func (s *Streams) attended(st *stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(st.responses) > 0
}
