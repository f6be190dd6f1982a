package streamable

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// Streams is the state of one session's server-sent events: the standing stream that GET opens, the streams that POSTs were answered
// with, and the history from which either can be resumed. It outlives the session's actor and its connections, is safe for concurrent
// use, never waits for a peer, and holds almost nothing until there is a first event or GET.
//
// Each message goes out on exactly one stream. When a client holds several GETs open, the newest is given what comes; an older one
// takes over when it ends. The zero Streams is not usable: see Store.Streams.
type Streams struct {
	store  *Store
	tenant string
	of     string // the session's id
	plain  bool   // no ids, no history
	// channel is set for a client of HTTP+SSE, which is sent everything on the standing stream.
	channel bool
	answers atomic.Pointer[transport.Room] // of its tenant; nil until it was asked for, or without a bound

	mu     sync.Mutex // guards all below, and every stream and outlet reached from here
	closed bool
	opened bool            // of a channel: it has had a session
	client *channel        // of a channel, once there is one
	room   *transport.Room // of those whom a channel is for; nil has no bound
	roomed int             // bytes that it has there
	state  *streamsState   // nil until the first stream
}

type streamsState struct {
	kept  Account // of the tenant
	nonce string
	last  uint32              // the last stream number given
	alone *stream             // what GETs are given; nil until the first message or GET
	posts map[uint32]*stream  // by number, running and finished
	ended []*stream           // the finished of them, oldest first
	gets  int                 // GETs that are open
	bytes int                 // kept in all histories
	asked map[string]struct{} // of a channel: the ids of requests that are written down as in flight
	sweep clock.Timer         // nil while nothing can expire
}

// stream is one sequence of events, and the responses that it flows through.
type stream struct {
	history
	number   uint32    // of a POST stream; 0 for the standing one, whose events are numbered by the GET they went to
	nonce    string    // of a POST stream: of the life of the session that it began in
	asks     string    // of a POST stream with one request: as event ids carry it
	outlets  []*outlet // oldest first; the last is given what is new. A POST stream has at most one
	complete bool      // nothing will follow
	away     bool      // its client has left it, so what comes is written down
	missed   int       // notifications that were dropped while there was a response, and that nobody has counted yet
}

var (
	errUnreplayable = errors.New("events after this id are not kept any more")
	errManyGETs     = errors.New("too many open GET streams")
)

// Push sends a message that belongs to no exchange. Without a GET stream it waits, within the bounds of the Store, for the next one.
// It returns transport.ErrClosed after Close, and transport.ErrSlowConsumer when too much waits for there to be room for a request.
func (s *Streams) Push(m jsonrpc.Message) error {
	data, w := encode(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return transport.ErrClosed
	}
	defer s.settleRoom()
	return s.add(s.standing(), data, w)
}

// Trim lets go of what was given to a connection already, and, when hard is set, of what waits for a client without one: it is told so when
// it comes back, as of anything that is not kept any more. What a connection has yet to write stays.
func (s *Streams) Trim(hard bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil || s.state.bytes == 0 {
		return
	}
	trim := func(st *stream) {
		if hard && len(st.outlets) == 0 {
			s.dropAll(st)
		} else {
			s.dropSent(st)
		}
	}
	defer s.settleRoom()
	if s.state.alone != nil {
		trim(s.state.alone)
	}
	for _, st := range s.state.posts {
		trim(st)
	}
}

// Close ends every response and forgets every event: the session is over. It is idempotent.
func (s *Streams) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	st := s.state
	if st == nil {
		return
	}
	if st.alone != nil {
		endOutlets(st.alone, over)
		st.alone.forgetAll()
	}
	for _, p := range st.posts {
		endOutlets(p, over)
		p.forgetAll()
	}
	s.account(-st.bytes)
	if st.sweep != nil {
		st.sweep.Stop()
	}
	for id := range st.asked {
		s.forgetAsked(id)
	}
	s.state = nil
	s.settleRoom()
}

// encode is the JSON text of a message and what may happen to it in a queue.
func encode(m jsonrpc.Message) ([]byte, weight) {
	w := question
	if m.Method == "" {
		w = outcome
	} else if m.ID.IsZero() {
		w = weights[m.Method]
	}
	return m.Append(make([]byte, 0, m.Size())), w
}

// begin starts the stream of a POST, with o as its response.
func (s *Streams) begin(o *outlet) (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, transport.ErrClosed
	}
	state := s.live()
	st := &stream{history: newHistory(), number: s.number(), nonce: state.nonce, asks: o.asks}
	s.post(st)
	s.attach(st, o, eventID{postStream, st.number, 0, o.asks})
	return st, nil
}

// send adds a message to the stream of an exchange.
func (s *Streams) send(st *stream, m jsonrpc.Message) error {
	data, w := encode(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.plain && len(st.outlets) == 0 {
		return transport.ErrClosed
	}
	return s.add(st, data, w)
}

// finish says that the stream of an exchange has all its answers.
func (s *Streams) finish(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && !st.complete {
		s.complete(st)
	}
}

// complete is finish with the mutex held.
func (s *Streams) complete(st *stream) {
	st.complete = true
	wake(st)
	s.state.ended = append(s.state.ended, st)
	if len(s.state.ended) > keptStreams {
		s.forgetOldest()
	}
}

// hangUp ends the current response of a stream, which goes on without it until the client returns.
func (s *Streams) hangUp(st *stream, retry time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range st.outlets {
		o.retry = retry
	}
	endOutlets(st, hungUp)
	s.leave(st)
}

// retryOf is how long the client of o shall wait before it comes back, as far as somebody said.
func (s *Streams) retryOf(o *outlet) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o.retry
}

// connect makes o the response of a GET of a client that speaks revision v.
func (s *Streams) connect(o *outlet, lastEventID string, v protocol.Version) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.admitGET(); err != nil {
		return err
	}
	if lastEventID == "" {
		return s.listen(o)
	}
	id, nonce, err := parseEventID(lastEventID)
	switch {
	case err != nil:
		return err
	case id.kind == answeredStream && (nonce == s.live().nonce || earlier(nonce, s.state.nonce)):
		s.rest(o, id, nonce)
		return nil
	case earlier(nonce, s.live().nonce):
		if id.kind == postStream {
			return s.afterwards(o, id, nonce, v)
		}
		return s.listen(o) // with what is left of what it has missed; its session tells it what may be different
	case nonce != s.state.nonce:
		return errEventID
	}
	return s.resume(o, id, nonce)
}

// listen makes o the newest GET. What waited for one is its to write.
func (s *Streams) listen(o *outlet) error {
	st := s.standing()
	s.attach(st, o, eventID{standaloneStream, s.number(), st.sent - 1, ""})
	o.get = true
	s.state.gets++
	return nil
}

// rest makes o the rest of a stream whose answer the client has: there is none, also when nothing is known of the stream any more.
func (s *Streams) rest(o *outlet, id eventID, nonce string) {
	s.attach(&stream{history: newHistory(), number: id.stream, nonce: nonce, complete: true}, o, id)
	o.get = true
	s.state.gets++
}

// resume makes o the continuation of the stream that the event id names, from the event after it.
func (s *Streams) resume(o *outlet, id eventID, nonce string) error {
	st := s.state.alone
	if id.kind == postStream {
		if st = s.state.posts[id.stream]; st != nil && st.nonce != nonce {
			st = nil
		}
	}
	if st == nil || id.stream > s.state.last || !st.replayable(id.seq) {
		return errUnreplayable
	}
	for _, old := range slices.Clone(st.outlets) {
		if old.number == id.stream {
			end(old, replaced)
		}
	}
	s.attach(st, o, goOn(id))
	o.get = true
	s.state.gets++
	return nil
}

func (s *Streams) admitGET() error {
	switch {
	case s.closed:
		return ErrNoSession
	case s.state != nil && s.state.gets >= s.store.options.GETs:
		return fmt.Errorf("%w: %d", errManyGETs, s.state.gets)
	}
	return nil
}

// detach says that the response of o is over, whatever the reason. Each outlet is detached once, by the handler that made it.
func (s *Streams) detach(o *outlet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if o.get {
		s.state.gets--
	}
	if o.stream == nil {
		return
	}
	end(o, replaced)
	defer s.settleRoom()
	switch {
	case s.plain:
		s.dropAll(o.stream)
		return
	case o.done:
		o.stream.forgetAll()
	case len(o.stream.outlets) == 0:
		s.leave(o.stream)
	}
	wake(o.stream) // an older GET takes over what waits
	s.bound(o.stream)
}

// take fills batch with what o has to write next and says where o stands. An empty batch and live mean: wait to be woken.
func (s *Streams) take(o *outlet, batch []entry) ([]entry, phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.phase != live {
		return batch, o.phase
	}
	st := o.stream
	newest := st.outlets[len(st.outlets)-1] == o
	for i := st.from(o.next); i < len(st.entries) && len(batch) < cap(batch); i++ {
		e := st.entries[i]
		if e.seq >= st.sent {
			if !newest {
				break
			}
			if st.give(i, o.number); st.number == 0 {
				st.forget(&st.entries[i])
			}
			e.stream = o.number
		}
		if o.next = e.seq + 1; e.stream == o.number && (e.seq >= o.sure || e.weight == outcome) {
			batch = append(batch, e)
		}
	}
	s.settleRoom()
	if len(batch) > 0 {
		if s.plain {
			s.dropSent(st)
		}
		s.bound(st)
		return batch, live
	}
	if st.complete && st.waiting == 0 {
		return batch, completed
	}
	return batch, live
}

// missed is how many notifications were dropped since it was last asked, because the client of o reads slower than they came.
func (s *Streams) missed(o *outlet) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, o.stream.missed = o.stream.missed, 0
	return n
}

// Connected reports whether the client reads any stream of the session.
func (s *Streams) Connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil {
		return false
	}
	for _, st := range s.state.posts {
		if len(st.outlets) > 0 {
			return true
		}
	}
	return s.state.gets > 0
}

// Open is how many GET streams the client has open.
func (s *Streams) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil {
		return 0
	}
	return s.state.gets
}
