package streamable

import (
	"slices"

	"mcpd/transport"
)

// This file is the inside of Streams: every function in it is called with the mutex held.

// live is the state, made when it is first needed.
func (s *Streams) live() *streamsState {
	if s.state == nil {
		s.state = &streamsState{kept: s.store.options.Kept(s.tenant)}
		switch {
		case s.channel:
			s.state.nonce = s.of
		case !s.plain:
			s.state.nonce = newNonce(s.of)
		}
	}
	return s.state
}

func (s *Streams) number() uint32 {
	s.state.last++
	return s.state.last
}

func (s *Streams) standing() *stream {
	state := s.live()
	if state.alone == nil {
		state.alone = &stream{history: newHistory()}
		if s.channel {
			state.alone.history = s.channelHistory()
		}
	}
	return state.alone
}

// post takes note of the stream of a POST.
func (s *Streams) post(st *stream) {
	if s.state.posts == nil {
		s.state.posts = make(map[uint32]*stream)
	}
	s.state.posts[st.number] = st
}

// attach puts o on a stream, behind the place that the client has seen.
func (s *Streams) attach(st *stream, o *outlet, seen eventID) {
	st.away = false
	o.nonce, o.kind, o.number, o.next, o.asks = s.state.nonce, seen.kind, seen.stream, seen.seq+1, seen.asks
	if st.number != 0 {
		o.nonce = st.nonce
	}
	o.stream = st
	st.outlets = append(st.outlets, o)
}

// end takes o off its stream, unless it is off already.
func end(o *outlet, why phase) {
	if o.phase != live {
		return
	}
	o.phase = why
	o.stream.outlets = slices.DeleteFunc(o.stream.outlets, func(other *outlet) bool { return other == o })
	o.signal()
}

func endOutlets(st *stream, why phase) {
	for _, o := range st.outlets {
		o.phase = why
		o.signal()
	}
	st.outlets = nil
}

// wake tells the response that is given what is new.
func wake(st *stream) {
	if n := len(st.outlets); n > 0 {
		st.outlets[n-1].signal()
	}
}

// add queues an event. When too much waits already, notifications are dropped for it; a question that finds no room then is refused, and a
// notification is not taken. None of this ends a connection: whether the client reads is found out by writing to it.
func (s *Streams) add(st *stream, data []byte, w weight) error {
	return s.addAt(st, data, w, s.store.now())
}

// addAt is add of an event that came at a time, in Unix nanoseconds.
func (s *Streams) addAt(st *stream, data []byte, w weight, at int64) error {
	if w == hint && st.duplicate(data) {
		return nil
	}
	before := st.bytes
	dropped, room := st.makeRoom(w, &s.store.options, s.state.kept.Full())
	s.account(st.bytes - before)
	if !room && w.notifies() {
		dropped++
	}
	if len(st.outlets) > 0 {
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
	s.state.kept.Keep(bytes)
}

// bound drops what is over the bounds of the stream, the session or the process, what is missed least first, and never what a connection
// has yet to write: that is bounded by add.
func (s *Streams) bound(st *stream) {
	o := &s.store.options
	for (len(st.entries) > o.StreamEvents || st.bytes > o.StreamBytes) && len(st.entries) > 1 && s.drop(st) {
	}
	for s.state.bytes > o.SessionBytes || s.state.kept.Full() || s.store.used.Load() > int64(o.TotalBytes) {
		if !s.forgetOldest() && !s.drop(st) && !s.drop(s.state.alone) {
			return
		}
	}
}

// drop drops one event of a stream, if there is one to drop.
func (s *Streams) drop(st *stream) bool {
	if st == nil {
		return false
	}
	i := st.least(len(st.outlets) > 0)
	if i >= 0 {
		s.account(-st.remove(i))
	}
	return i >= 0
}

// forgetOldest forgets the oldest finished POST stream that nobody reads.
func (s *Streams) forgetOldest() bool {
	i := slices.IndexFunc(s.state.ended, func(st *stream) bool { return len(st.outlets) == 0 })
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

// dropSent drops what was given out.
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

// sweep drops what is older than the TTL. It is called by the timer, and alone in this file takes the mutex itself.
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
		for len(st.entries) > 0 && st.entries[0].at <= expired && (len(st.outlets) == 0 || len(st.entries) > st.waiting) {
			s.account(-st.remove(0))
		}
	}
	if state.alone != nil {
		expire(state.alone)
	}
	for _, st := range state.posts {
		expire(st)
	}
	state.ended = slices.DeleteFunc(state.ended, func(st *stream) bool {
		gone := len(st.entries) == 0 && len(st.outlets) == 0
		if gone {
			delete(state.posts, st.number)
		}
		return gone
	})
	if state.bytes > 0 || len(state.ended) > 0 {
		s.expectSweep()
	}
}

// attended reports whether a client reads a stream.
func (s *Streams) attended(st *stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(st.outlets) > 0
}
