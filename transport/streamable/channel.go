package streamable

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// The bounds of HTTP+SSE.
const (
	// greetingTime is how long a stream lasts whose client has not begun: as long as a handshake may take.
	greetingTime = 30 * time.Second
	// maxSilent is how many such streams one principal may have at an endpoint.
	maxSilent = 64
	// maxUnreadAnswers bounds the answers that wait for their client to read them: a few of the largest. More means that it does not read.
	maxUnreadAnswers = 4 * protocol.MaxUpstreamMessage
	// closingTime bounds the end of the session behind a stream that has ended.
	closingTime = 2 * time.Second
)

// channel is one client of HTTP+SSE: the stream on which it is sent everything, and the session behind what it posts.
type channel struct {
	handler *Handler
	at      Endpoint
	streams *Streams

	opening sync.Mutex // held while a session is made; taken before mu

	mu       sync.Mutex // guards the rest
	session  Session    // nil before initialize, and again when that is refused
	refused  bool       // the handshake in hand has been, before its session was known
	ended    bool
	silent   clock.Timer // how long the client may go without a session
	inFlight map[jsonrpc.ID]struct{}
	rest     channelRest
}

// channelRest is what the stream of a channel needs to make room for others: while no request is in
// flight it only waits, as a GET stream does. The mutex of the channel guards it.
type channelRest struct {
	conn   *connection
	outlet *outlet
	end    func() // ends the waiting; nil while it does not wait
}

// begin has the stream wait, on a connection.
func (r *channelRest) begin(conn *connection, o *outlet) {
	r.conn, r.outlet = conn, o
	r.end = conn.waits(o)
}

// wake is called before a request is taken. It is false when the stream is about to end: its answer
// would not come.
func (r *channelRest) wake() bool {
	if r.end != nil {
		r.end()
		r.end = nil
	}
	return r.outlet == nil || !r.outlet.parted.Load()
}

// sleep is called when no request is in flight any more.
func (r *channelRest) sleep() {
	if r.outlet != nil && r.end == nil {
		r.end = r.conn.waits(r.outlet)
	}
}

// channels are those that are open.
type channels struct {
	mu       sync.Mutex
	byTicket map[[sha256.Size]byte]*channel // by the digest, so that the time of a look-up tells nothing of a ticket
	silent   map[Endpoint]int               // those that have no session
}

// add makes a channel and its ticket, which is all that a client needs beside its own credentials. It returns nil when too many have not
// begun yet.
func (s *channels) add(h *Handler, ep Endpoint) (c *channel, ticket string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byTicket == nil {
		s.byTicket, s.silent = map[[sha256.Size]byte]*channel{}, map[Endpoint]int{}
	}
	if s.silent[ep] >= maxSilent {
		return nil, ""
	}
	s.silent[ep]++
	ticket = rand.Text() + rand.Text() // 260 bits
	c = &channel{handler: h, at: ep, streams: h.options.Store.plain(ep.Tenant), inFlight: map[jsonrpc.ID]struct{}{}}
	c.streams.room = h.options.Room(ep)
	c.wait()
	s.byTicket[sha256.Sum256([]byte(ticket))] = c
	return c, ticket
}

// find returns the channel of a ticket, and nil for that of another endpoint or principal.
func (s *channels) find(ep Endpoint, ticket string) *channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.byTicket[sha256.Sum256([]byte(ticket))]; c != nil && c.at == ep {
		return c
	}
	return nil
}

func (s *channels) remove(ticket string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byTicket, sha256.Sum256([]byte(ticket)))
}

// silenced says that a channel which had a session has none.
func (s *channels) silenced(ep Endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent[ep]++
}

// spoke says that a silent channel is none any more.
func (s *channels) spoke(ep Endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent[ep]--; s.silent[ep] == 0 {
		delete(s.silent, ep)
	}
}

// current is the session, nil before there is one.
func (c *channel) current() Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

func (c *channel) version() protocol.Version {
	if s := c.current(); s != nil {
		return s.Version()
	}
	return 0
}

// Touch says that the client was heard of.
func (c *channel) Touch() {
	if s := c.current(); s != nil {
		s.Touch()
	}
}

// greet makes the session.
func (c *channel) greet(ctx context.Context, init jsonrpc.Message, out *exchange) error {
	c.opening.Lock()
	defer c.opening.Unlock()
	c.mu.Lock()
	session, ended := c.session, c.ended
	c.refused = false
	c.mu.Unlock()
	switch {
	case ended:
		return ErrNoSession
	case session != nil: // which says so
		return session.Deliver(ctx, init, out)
	}
	out.greets = true
	session, err := c.handler.options.Host.Open(ctx, c.at, init, out, c.streams)
	if err != nil {
		out.greets = false
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.refused {
		c.handler.channels.spoke(c.at)
		c.session = session
	}
	return nil
}

// refuse hears that the handshake has failed: its session is none, and the client may try again, as long as one may that has not begun.
func (c *channel) refuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.session == nil:
		c.refused = true
	case !c.ended:
		c.session = nil
		c.handler.channels.silenced(c.at)
		c.wait()
	}
}

// wait gives the client its time to begin. The mutex is held.
func (c *channel) wait() {
	c.silent = c.handler.options.Store.options.Clock.AfterFunc(greetingTime, c.expire)
}

// expire ends a channel whose client has not begun.
func (c *channel) expire() {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.current() == nil {
		c.streams.Close()
	}
}

// end is the end of the stream, and with it of the session.
func (c *channel) end(ctx context.Context) {
	c.streams.Close()
	c.opening.Lock()
	defer c.opening.Unlock()
	c.mu.Lock()
	session := c.session
	c.ended = true
	c.rest.wake()
	c.rest = channelRest{}
	c.silent.Stop()
	c.mu.Unlock()
	if session == nil {
		c.handler.channels.spoke(c.at)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
	defer cancel()
	_ = session.Close(ctx) // one that does not end now ends when it has been idle
}

// take hands over one message. An error is one of a message that has no answer.
func (c *channel) take(ctx context.Context, m jsonrpc.Message) error {
	session := c.current()
	if m.Kind() != jsonrpc.KindRequest {
		if session == nil {
			return protocol.NotInitialized("initialization", protocol.Action(m.Method))
		}
		return session.Deliver(ctx, m, nil)
	}
	out := &exchange{channel: c, id: m.ID}
	err := c.begin(m.ID)
	switch {
	case errors.Is(err, ErrNoSession):
		return err
	case err != nil: // the one under that id goes on
		c.say(jsonrpc.Failure(m.ID, protocol.Translate(err, c.version())))
		return nil
	case protocol.IsModern(m.Params): // by 400 the official Go client, which asks so first, would take its connection for broken
		err = protocol.InvalidRequest("the revision in _meta is not spoken over HTTP+SSE: begin with initialize")
	case session != nil:
		err = session.Deliver(ctx, m, out)
	case m.Method == initialize:
		err = c.greet(ctx, m, out)
	case m.Method == "ping": // the one request that may come before it (2024-11-05 §basic/lifecycle)
		out.Finish(jsonrpc.Response(m.ID, nil))
	default:
		err = protocol.NotInitialized("initialization", protocol.Action(m.Method))
	}
	if err != nil {
		out.Finish(jsonrpc.Failure(m.ID, protocol.Translate(err, c.version())))
	}
	return nil
}

// begin opens an exchange. The stream is shared, so an id that is in flight cannot be used again: its answers could not be told apart.
func (c *channel) begin(id jsonrpc.ID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.inFlight[id]; taken {
		return protocol.RequestIDConflict(id)
	}
	if len(c.inFlight) >= protocol.MaxPendingPerSession {
		return protocol.Overloaded("session", 0)
	}
	if len(c.inFlight) == 0 && !c.rest.wake() {
		return ErrNoSession
	}
	c.inFlight[id] = struct{}{}
	return nil
}

func (c *channel) forget(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.inFlight, id)
}

// settle is called when an answer is on the stream.
func (c *channel) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.inFlight) == 0 {
		c.rest.sleep()
	}
}

// say sends an answer. A client that leaves too many unread is given up.
func (c *channel) say(m jsonrpc.Message) {
	if c.streams.Push(m) == nil && c.streams.unread() > maxUnreadAnswers {
		c.handler.options.Cut(c.at.Tenant)
		c.streams.Close()
	}
}

// exchange is the transport.Sink of one request. All of a channel share its stream.
type exchange struct {
	channel *channel
	id      jsonrpc.ID
	greets  bool // it is the handshake of the channel's session

	mu   sync.Mutex // guards over, and keeps what is sent before the outcome
	over bool
}

// Send implements transport.Sink.
func (a *exchange) Send(m jsonrpc.Message) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return transport.ErrClosed
	}
	return a.channel.streams.Push(m)
}

// Finish implements transport.Sink.
func (a *exchange) Finish(m jsonrpc.Message) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return false
	}
	a.over = true
	a.channel.forget(a.id)
	if a.greets && (m.Error != nil || m.Kind() == jsonrpc.KindInvalid) {
		a.channel.refuse()
	}
	if m.Kind() != jsonrpc.KindInvalid {
		a.channel.say(m)
	}
	a.channel.settle()
	return true
}
