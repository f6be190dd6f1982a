package streamable

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// The bounds of HTTP+SSE.
const (
	// greetingTime is how long a stream lasts whose client has not begun: as long as a handshake may take.
	greetingTime = 30 * time.Second
	// maxSilent is how many such streams one principal may have at an endpoint.
	maxSilent = 64
	// maxUnreadAnswers bounds the answers that wait for their client to read them: a few of the largest. More means that it does not read.
	maxUnreadAnswers = 4 * protocol.MaxUpstreamMessage
	// closingTime bounds the end of the session behind a stream that cannot be resumed.
	closingTime = 2 * time.Second
)

// channel is one client of HTTP+SSE: the one stream on which it is sent everything, over as many
// connections as that takes, and the session behind what it posts. Its ticket is the id of that
// session, so that the client of a session that has outlived its host finds it again.
type channel struct {
	handler *Handler
	at      Endpoint
	ticket  string
	streams *Streams

	opening sync.Mutex // held while a session is made; taken before mu

	mu       sync.Mutex // guards the rest
	session  Session    // nil before initialize, and again when that is refused
	refused  bool       // the handshake in hand has been, before its session was known
	blind    bool       // the client has had a session that could not be found
	ended    bool
	unread   bool        // the client leaves its answers unread
	silent   clock.Timer // how long the client may go without a session; nil for one that began in an earlier host
	left     time.Time   // when the last connection of the stream ended; zero while there is one
	inFlight map[jsonrpc.ID]struct{}
	rest     channelRest
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
		c.session = session
	}
	return nil
}

// adopt gives the channel the session that was found by its ticket: it has outlived its host, or was
// opened this moment.
func (c *channel) adopt(session Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil && !c.ended {
		c.session = session
	}
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
		c.end()
	}
}

// end is the end of a channel without a session.
func (c *channel) end() {
	c.handler.channels.remove(c)
	c.over()
}

// over is end for one that is not listed.
func (c *channel) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.streams.Close()
}

// leftBefore reports whether the client has left the stream without having begun, and before that of
// another channel was left; nil is none.
func (c *channel) leftBefore(other *channel) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil || len(c.inFlight) > 0 || c.left.IsZero() {
		return false
	}
	return other == nil || c.left.Before(other.since())
}

func (c *channel) since() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}

// attach makes o the connection of the stream. With resumed it goes on after the event at a place.
func (c *channel) attach(at waiter, o *outlet, after uint64, resumed bool) error {
	if err := c.streams.join(o, after, resumed); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = time.Time{}
	c.rest.begin(at, o, len(c.inFlight) > 0)
	return nil
}

// detach says that the connection has ended. The session goes on: its client may come back.
func (c *channel) detach(ctx context.Context, o *outlet) {
	c.streams.detach(o)
	c.mu.Lock()
	if c.rest.leave(o) {
		c.left = c.handler.options.Store.options.Clock.Now()
	}
	unread := c.unread
	c.mu.Unlock()
	if unread {
		c.close(ctx)
	}
}

// close ends the channel and its session: what its client has missed is not kept any more.
func (c *channel) close(ctx context.Context) {
	session := c.current()
	c.end()
	if session == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
	defer cancel()
	_ = session.Close(ctx) // one that does not end now ends when it has been idle
}

// take hands over one message from an address. An error is one of a message that has no answer.
func (c *channel) take(ctx context.Context, from string, m jsonrpc.Message) error {
	session := c.current()
	if session == nil && c.blind && m.Method != initialize && m.Method != "ping" {
		return ErrNoSession
	}
	if m.Kind() != jsonrpc.KindRequest {
		if session == nil {
			return protocol.NotInitialized("initialization", protocol.Action(m.Method))
		}
		return session.Deliver(ctx, m, nil)
	}
	out := &exchange{channel: c, id: m.ID, from: from}
	err := c.begin(m.ID)
	if err == nil && session != nil && c.handler.options.Store.saver != nil {
		out.pending = c.handler.options.Store.options.Clock.AfterFunc(askedAfter, out.lasts)
	}
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
	if c.ended {
		return ErrNoSession
	}
	c.rest.wake()
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
		c.mu.Lock()
		c.unread = true
		c.mu.Unlock()
		c.streams.Close() // which ends the connection, and that the session
	}
}
