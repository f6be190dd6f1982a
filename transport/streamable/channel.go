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

// Limits of HTTP+SSE.
const (
	// initializeTime is how long a stream may last without a handshake of its client.
	initializeTime = 30 * time.Second
	// maxUnopened is the maximum number of such streams that one principal may have at an endpoint.
	maxUnopened = 64
	// maxUnreadAnswers limits the bytes of answers that wait for their client to read them. It allows
	// a few of the largest answers. Beyond it, the client counts as not reading.
	maxUnreadAnswers = 4 * protocol.MaxUpstreamMessage
	// closingTime is the time limit for closing the session of a stream that cannot be resumed.
	closingTime = 2 * time.Second
)

// sseChannel is one client of HTTP+SSE. It consists of the one stream on which the client receives
// everything, over any number of successive connections, and the session that receives its POSTs.
// The ticket of the channel is the id of that session, so that a client can find its session again
// after the host has restarted.
type sseChannel struct {
	handler *Handler
	at      Endpoint
	ticket  string
	streams *Streams

	opening sync.Mutex // held while a session is created; locked before mu

	mu         sync.Mutex // guards the rest
	session    Session    // nil before initialize, and again if initialize is refused
	refused    bool       // the current handshake was refused before its session was known
	hadSession bool       // the client had an earlier session that could not be found
	ended      bool
	unread     bool // the client does not read its answers
	// silent ends the channel if its client opens no session; nil for a session that was restored from
	// an earlier host.
	silent   clock.Timer
	left     time.Time // when the last connection of the stream ended; zero while one is open
	inFlight map[jsonrpc.ID]struct{}
	rest     channelIdle
}

// current returns the session, or nil before there is one.
func (c *sseChannel) current() Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

func (c *sseChannel) version() protocol.Version {
	if s := c.current(); s != nil {
		return s.Version()
	}
	return 0
}

// Touch reports that the client has shown activity.
func (c *sseChannel) Touch() {
	if s := c.current(); s != nil {
		s.Touch()
	}
}

// openSession creates the session.
func (c *sseChannel) openSession(ctx context.Context, init jsonrpc.Message, out *exchange) error {
	c.opening.Lock()
	defer c.opening.Unlock()
	c.mu.Lock()
	session, ended := c.session, c.ended
	c.refused = false
	c.mu.Unlock()
	switch {
	case ended:
		return ErrNoSession
	case session != nil: // the session refuses a second initialize
		return session.Deliver(ctx, init, out)
	}
	out.opensSession = true
	session, err := c.handler.options.Host.Open(ctx, c.at, init, out, c.streams)
	if err != nil {
		out.opensSession = false
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.refused {
		c.session = session
	}
	return nil
}

// adopt gives the channel the session that was found by its ticket. The session was restored after
// a restart of the host, or was opened a moment ago.
func (c *sseChannel) adopt(session Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil && !c.ended {
		c.session = session
	}
}

// refuse handles a failed handshake: the channel drops the session, and the client may try again
// within the time limit of a new client.
func (c *sseChannel) refuse() {
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

// wait starts the time limit for the client to begin. The mutex is held.
func (c *sseChannel) wait() {
	c.silent = c.handler.options.Store.options.Clock.AfterFunc(initializeTime, c.expire)
}

// expire ends a channel whose client has not begun in time.
func (c *sseChannel) expire() {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.current() == nil {
		c.end()
	}
}

// end ends a channel without a session.
func (c *sseChannel) end() {
	c.handler.channels.remove(c)
	c.endUnlisted()
}

// endUnlisted is like end for a channel that is not listed in channels.
func (c *sseChannel) endUnlisted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.streams.Close()
}

// leftBefore reports whether the client has disconnected without having begun, and did so before
// the client of another channel. A nil other stands for no channel.
func (c *sseChannel) leftBefore(other *sseChannel) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil || len(c.inFlight) > 0 || c.left.IsZero() {
		return false
	}
	return other == nil || c.left.Before(other.since())
}

func (c *sseChannel) since() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}

// attach makes o the connection of the stream. If resumed is set, the stream continues behind the
// event with the sequence number after.
func (c *sseChannel) attach(at idleRegistration, o *streamResponse, after uint64,
	resumed bool) error {
	if err := c.streams.join(o, after, resumed); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = time.Time{}
	c.rest.begin(at, o, len(c.inFlight) > 0)
	return nil
}

// detach handles the end of a connection. The session continues: its client may reconnect.
func (c *sseChannel) detach(ctx context.Context, o *streamResponse) {
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

// close ends the channel and its session. Events that its client has missed are dropped.
func (c *sseChannel) close(ctx context.Context) {
	session := c.current()
	c.end()
	if session == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
	defer cancel()
	// A session that does not end now ends by its idle timeout.
	_ = session.Close(ctx)
}

// take hands over one message from the client at address from. It returns errors only of messages
// that have no answer.
func (c *sseChannel) take(ctx context.Context, from string, m jsonrpc.Message) error {
	session := c.current()
	if session == nil && c.hadSession && m.Method != initialize && m.Method != "ping" {
		return ErrNoSession
	}
	if m.Kind() != jsonrpc.KindRequest {
		if session == nil {
			return protocol.NotInitialized("initialization", protocol.MethodAction(m.Method))
		}
		return session.Deliver(ctx, m, nil)
	}
	out := &exchange{channel: c, id: m.ID, from: from}
	err := c.begin(m.ID)
	if err == nil && session != nil && c.handler.options.Store.saver != nil {
		out.pending = c.handler.options.Store.options.Clock.AfterFunc(askedAfter, out.saveInFlight)
	}
	switch {
	case errors.Is(err, ErrNoSession):
		return err
	// The exchange already open under that id continues.
	case err != nil:
		c.sendAnswer(jsonrpc.Failure(m.ID, protocol.Translate(err, c.version())))
		return nil
	// The official Go client probes for this revision first. It treats a 400 as a broken connection,
	// so the error is sent as an answer.
	case protocol.IsModern(m.Params):
		err = protocol.InvalidRequest(
			"the revision in _meta is not spoken over HTTP+SSE: begin with initialize",
		)
	case session != nil:
		err = session.Deliver(ctx, m, out)
	case m.Method == initialize:
		err = c.openSession(ctx, m, out)
	// Ping is the only request that may come before initialize (2024-11-05 §basic/lifecycle).
	case m.Method == "ping":
		out.Finish(jsonrpc.Response(m.ID, nil))
	default:
		err = protocol.NotInitialized("initialization", protocol.MethodAction(m.Method))
	}
	if err != nil {
		out.Finish(jsonrpc.Failure(m.ID, protocol.Translate(err, c.version())))
	}
	return nil
}

// begin opens an exchange. An id that is in flight cannot be used again, because all answers share
// one stream and could not be told apart.
func (c *sseChannel) begin(id jsonrpc.ID) error {
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
	c.rest.setBusy()
	c.inFlight[id] = struct{}{}
	return nil
}

func (c *sseChannel) forget(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.inFlight, id)
}

// settle is called when an answer is on the stream.
func (c *sseChannel) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.inFlight) == 0 {
		c.rest.setIdle()
	}
}

// sendAnswer sends an answer. It ends the channel of a client that leaves too many bytes of answers
// unread.
func (c *sseChannel) sendAnswer(m jsonrpc.Message) {
	if c.streams.Push(m) == nil && c.streams.unread() > maxUnreadAnswers {
		c.handler.options.Stalled(c.at.Tenant)
		c.mu.Lock()
		c.unread = true
		c.mu.Unlock()
		c.streams.Close() // this ends the connection, and detach then ends the session
	}
}
