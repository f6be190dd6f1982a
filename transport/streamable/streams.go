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

// Streams holds the server-sent events of one session: the standalone stream that GET opens, the
// streams that answer POSTs, and the history from which both can be resumed. It outlives the
// session's actor and its connections. It is safe for concurrent use, never waits for a peer, and
// uses almost no memory before the first event or GET.
//
// Each message is sent on exactly one stream. If a client has several GETs open, new messages go to
// the newest, and an older one takes over when that ends. The zero Streams is not usable: see
// Store.Streams.
type Streams struct {
	store     *Store
	tenant    string
	sessionID string // the session's id
	plain     bool   // no ids, no history
	// channel is set for an HTTP+SSE client, which receives everything on the standalone stream.
	channel bool
	// answers is the byte budget for answers; nil until it was looked up, or without a limit.
	answers atomic.Pointer[transport.ByteBudget]

	// guards all fields below, and every stream and stream response reached from here
	mu     sync.Mutex
	closed bool
	opened bool                  // of a channel: it has had a session
	client *sseChannel           // of a channel, once there is one
	budget *transport.ByteBudget // byte budget for answers of a channel; nil sets no limit
	roomed int                   // bytes counted in room
	state  *streamsState         // nil until the first stream
}

type streamsState struct {
	account       Account // of the tenant
	nonce         string
	last          uint32              // the last stream number assigned
	standalone    *stream             // the standalone stream; nil until the first message or GET
	posts         map[uint32]*stream  // by number, running and finished
	ended         []*stream           // the finished ones, oldest first
	gets          int                 // open GETs
	bytes         int                 // in all histories
	savedInFlight map[string]struct{} // of a channel: ids of requests that are saved as in flight
	sweep         clock.Timer         // nil while nothing can expire
}

// stream is one sequence of events, and the responses that carry it.
type stream struct {
	history
	// number identifies a POST stream. It is 0 for the standalone stream, each event of which has the
	// number of the GET that got it.
	number    uint32
	nonce     string // of a POST stream: the nonce of the host process in which it began
	requestID string // of a POST stream with one request: its id, encoded for event ids
	// oldest first; the last gets new events. A POST stream has at most one
	responses  []*streamResponse
	complete   bool // no event follows
	unattended bool // it has no reader, so new events are saved
	missed     int  // notifications dropped while there was a response, not yet reported
}

var (
	errUnreplayable = errors.New("events after this id are not kept any more")
	errManyGETs     = errors.New("too many open GET streams")
)

// Push sends a message that belongs to no exchange. Without a GET stream the message waits, within
// the limits of the Store, for the next one. Push returns transport.ErrClosed after Close, and
// transport.ErrSlowConsumer for a request when too many events wait.
func (s *Streams) Push(m jsonrpc.Message) error {
	data, w := encode(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return transport.ErrClosed
	}
	defer s.updateRoom()
	return s.add(s.standalone(), data, w)
}

// Trim drops the stored events that were already given to a connection. If hard is set it also
// drops the events that wait for a disconnected client. When that client reconnects, it is told
// that events are missing. Trim never drops events that a connection still has to write.
func (s *Streams) Trim(hard bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil || s.state.bytes == 0 {
		return
	}
	trim := func(st *stream) {
		if hard && len(st.responses) == 0 {
			s.dropAll(st)
		} else {
			s.dropSent(st)
		}
	}
	defer s.updateRoom()
	if s.state.standalone != nil {
		trim(s.state.standalone)
	}
	for _, st := range s.state.posts {
		trim(st)
	}
}

// Close ends every response and drops every event of a session that is over. It is idempotent.
func (s *Streams) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	st := s.state
	if st == nil {
		return
	}
	if st.standalone != nil {
		endResponses(st.standalone, over)
		st.standalone.forgetAll()
	}
	for _, p := range st.posts {
		endResponses(p, over)
		p.forgetAll()
	}
	s.account(-st.bytes)
	if st.sweep != nil {
		st.sweep.Stop()
	}
	for id := range st.savedInFlight {
		s.forgetAsked(id)
	}
	s.state = nil
	s.updateRoom()
}

// encode returns the JSON text of a message and its weight.
func encode(m jsonrpc.Message) ([]byte, importance) {
	w := question
	if m.Method == "" {
		w = outcome
	} else if m.ID.IsZero() {
		w = importances[m.Method]
	}
	return m.Append(make([]byte, 0, m.Size())), w
}

// begin starts the stream of a POST, with o as its response.
func (s *Streams) begin(o *streamResponse) (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, transport.ErrClosed
	}
	state := s.live()
	st := &stream{
		history: newHistory(), number: s.number(), nonce: state.nonce, requestID: o.requestID,
	}
	s.post(st)
	s.attach(st, o, eventID{postStream, st.number, 0, o.requestID})
	return st, nil
}

// send adds a message to the stream of an exchange.
func (s *Streams) send(st *stream, m jsonrpc.Message) error {
	data, w := encode(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.plain && len(st.responses) == 0 {
		return transport.ErrClosed
	}
	return s.add(st, data, w)
}

// finish records that the stream of an exchange has all of its answers.
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

// hangUp ends the current response of a stream. The stream continues without one until the client
// reconnects.
func (s *Streams) hangUp(st *stream, retry time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range st.responses {
		o.retry = retry
	}
	endResponses(st, hungUp)
	s.leave(st)
}

// retryOf returns the requested reconnect delay of o's client, or 0.
func (s *Streams) retryOf(o *streamResponse) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o.retry
}

// connect makes o the response of a GET of a client with revision v.
func (s *Streams) connect(o *streamResponse, lastEventID string, v protocol.Version) error {
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
		s.attachAnswered(o, id, nonce)
		return nil
	case earlier(nonce, s.live().nonce):
		if id.kind == postStream {
			return s.resumeEarlier(o, id, nonce, v)
		}
		// Missed events are sent if they are still stored. The session announces what may have changed.
		return s.listen(o)
	case nonce != s.state.nonce:
		return errEventID
	}
	return s.resume(o, id, nonce)
}

// listen makes o the newest GET. It receives the events that wait.
func (s *Streams) listen(o *streamResponse) error {
	st := s.standalone()
	s.attach(st, o, eventID{standaloneStream, s.number(), st.sent - 1, ""})
	o.get = true
	s.state.gets++
	return nil
}

// attachAnswered makes o the rest of a stream whose answer the client has. That rest is empty, even
// if the stream is no longer stored.
func (s *Streams) attachAnswered(o *streamResponse, id eventID, nonce string) {
	s.attach(&stream{history: newHistory(), number: id.stream, nonce: nonce, complete: true}, o, id)
	o.get = true
	s.state.gets++
}

// resume makes o the continuation of the stream that the event id names, from the event after it.
func (s *Streams) resume(o *streamResponse, id eventID, nonce string) error {
	st := s.state.standalone
	if id.kind == postStream {
		if st = s.state.posts[id.stream]; st != nil && st.nonce != nonce {
			st = nil
		}
	}
	if st == nil || id.stream > s.state.last || !st.replayable(id.seq) {
		return errUnreplayable
	}
	for _, old := range slices.Clone(st.responses) {
		if old.number == id.stream {
			end(old, replaced)
		}
	}
	s.attach(st, o, resumeAfter(id))
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

// detach records that the response of o is over, for whatever reason. Each stream response is
// detached once, by the handler that created it.
func (s *Streams) detach(o *streamResponse) {
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
	defer s.updateRoom()
	switch {
	case s.plain:
		s.dropAll(o.stream)
		return
	case o.done:
		o.stream.forgetAll()
	case len(o.stream.responses) == 0:
		s.leave(o.stream)
	}
	wake(o.stream) // an older GET takes over the waiting events
	s.bound(o.stream)
}

// take appends to batch the events that o has to write next and returns the phase of o. An empty
// batch and live mean: wait to be woken.
func (s *Streams) take(o *streamResponse, batch []entry) ([]entry, phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.phase != live {
		return batch, o.phase
	}
	st := o.stream
	newest := st.responses[len(st.responses)-1] == o
	for i := st.from(o.next); i < len(st.entries) && len(batch) < cap(batch); i++ {
		e := st.entries[i]
		if e.seq >= st.sent {
			if !newest {
				break
			}
			if st.markSent(i, o.number); st.number == 0 {
				st.forget(&st.entries[i])
			}
			e.stream = o.number
		}
		if o.next = e.seq + 1; e.stream == o.number &&
			(e.seq >= o.answersOnlyBefore || e.weight == outcome) {
			batch = append(batch, e)
		}
	}
	s.updateRoom()
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

// missed returns the number of notifications dropped since the last call because the client of o
// reads more slowly than they arrive.
func (s *Streams) missed(o *streamResponse) (n int) {
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
		if len(st.responses) > 0 {
			return true
		}
	}
	return s.state.gets > 0
}

// Open returns the number of GET streams that the client has open.
func (s *Streams) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil {
		return 0
	}
	return s.state.gets
}
