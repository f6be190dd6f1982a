package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// server is the state of one call of Serve.
type server struct {
	handler Handler
	// session is nil until Open succeeds. It and the next fields are used by the goroutine of Serve
	// only.
	session Session
	// opening is the request that has just opened the session; nil later.
	opening    *exchange
	initialize *exchange // the last initialize that could open the session
	modern     bool      // the client has sent stateless requests
	readAhead  []input   // lines that were read and not handled
	toldGone   bool      // the handler knows that the client has left
	out        *queue
	stalled    chan struct{} // closed when the client does not read
	stall      func()        // closes it
	ended      chan struct{} // holds a value after an exchange has ended

	written  chan struct{} // closed when the writer has ended; guards writeErr
	writeErr error

	mu       sync.Mutex // guards inFlight
	inFlight map[jsonrpc.ID]*exchange
}

func newServer(h Handler) *server {
	stalled := make(chan struct{})
	return &server{
		handler:  h,
		out:      newQueue(bounds{count: maxUnread, bytes: maxUnreadBytes, urgent: maxAnswerBytes}, nil),
		stalled:  stalled,
		stall:    sync.OnceFunc(func() { close(stalled) }),
		ended:    make(chan struct{}, 1),
		written:  make(chan struct{}),
		inFlight: map[jsonrpc.ID]*exchange{},
	}
}

// write is the writer. All messages to the client go through it, in order.
func (s *server) write(out io.Writer) {
	defer close(s.written)
	if err := s.out.drain(s.guard(out)); err != nil {
		s.writeErr = fmt.Errorf("write to the client: %w", err)
	}
}

// exchange is the transport.Sink of one request. All exchanges of a connection share its writer.
type exchange struct {
	server *server
	id     jsonrpc.ID
	group  *group // nil unless the request came in an array
	peer   Peer   // set for a stateless request; used by the goroutine of Serve only
	listen bool   // the request asks for a subscription

	mu     sync.Mutex // guards what follows; orders messages before the outcome
	over   bool
	told   bool // a message was sent before the outcome
	failed bool // the outcome is an error
}

var (
	_ transport.Sink      = (*exchange)(nil)
	_ transport.Addressed = (*exchange)(nil)
)

// group collects the responses to one array.
type group struct {
	mu      sync.Mutex // guards what follows
	wanted  int
	answers []jsonrpc.Message
}

// From implements transport.Addressed. The client has started this process, and has no address.
func (e *exchange) From() string { return "stdio" }

// Send writes a message that comes before the outcome.
func (e *exchange) Send(m jsonrpc.Message) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return transport.ErrClosed
	}
	e.told = true
	return e.server.out.put(m, false)
}

// pending reports whether the outcome is still missing.
func (e *exchange) pending() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.over
}

// refused reports whether the outcome is an error.
func (e *exchange) refused() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failed
}

// Finish writes the outcome, under the id that the client chose.
func (e *exchange) Finish(m jsonrpc.Message) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return false
	}
	e.over, e.failed = true, m.Error != nil
	silent := m.Kind() == jsonrpc.KindInvalid
	m.ID = e.id
	e.server.forget(e.id)
	switch {
	case e.group != nil:
		e.server.answer(e.group, m, silent)
	case silent:
	case e.listen && e.told:
		e.server.endSubscription(m)
	default:
		e.server.respond(m)
	}
	select {
	case e.server.ended <- struct{}{}:
	default:
	}
	return true
}

// respond writes a response. A client that leaves even responses unread is given up.
func (s *server) respond(m jsonrpc.Message) {
	if errors.Is(s.out.put(m, true), transport.ErrSlowConsumer) {
		s.stall()
	}
}

// answer adds a response to a group, and writes the group when it is complete. A cancelled request
// adds no response and is not waited for.
func (s *server) answer(g *group, m jsonrpc.Message, silent bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if silent {
		g.wanted--
	} else {
		g.answers = append(g.answers, m)
	}
	if len(g.answers) == g.wanted && g.wanted > 0 &&
		errors.Is(s.out.putBatch(g.answers), transport.ErrSlowConsumer) {
		s.stall()
	}
}

func (s *server) pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.inFlight)
}

func (s *server) forget(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.inFlight, id)
}

// begin opens an exchange. All responses share one channel, so an id that is in flight cannot be
// used again: its responses could not be told apart.
func (s *server) begin(id jsonrpc.ID, g *group) (*exchange, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight[id] != nil {
		return nil, protocol.RequestIDConflict(id)
	}
	if len(s.inFlight) >= protocol.MaxPendingPerSession {
		return nil, protocol.Overloaded("session", 0)
	}
	e := &exchange{server: s, id: id, group: g}
	s.inFlight[id] = e
	return e, nil
}

// handle reads one line.
func (s *server) handle(ctx context.Context, line []byte) {
	if len(line) == 0 {
		return
	}
	if line[0] == '[' {
		if !s.version().Has(protocol.Batching) {
			s.respond(jsonrpc.Failure(jsonrpc.ID{},
				s.translate(protocol.InvalidRequest("arrays of messages are of 2025-03-26 only"))))
			return
		}
		s.handleBatch(ctx, line)
		return
	}
	m, err := jsonrpc.Decode(line, protocol.RequestLimits())
	if err != nil {
		if answer, ok := s.refusal(err, line); ok {
			s.respond(answer)
		}
		return
	}
	s.dispatch(ctx, m, nil)
}

// handleBatch reads an array (2025-03-26 §basic). Its responses go out as one array once the last
// is there.
func (s *server) handleBatch(ctx context.Context, line []byte) {
	messages, _, err := jsonrpc.DecodeBatch(line, protocol.RequestLimits())
	var some *jsonrpc.BatchError
	var refused []jsonrpc.Message
	switch {
	case errors.As(err, &some):
		for _, r := range some.Refused {
			if answer, ok := s.refusal(r, nil); ok {
				refused = append(refused, answer)
			}
		}
	case err != nil:
		if refused = s.refusals(err, line); len(refused) == 0 {
			if answer, ok := s.refusal(err, nil); ok {
				s.respond(answer)
			}
			return
		}
	}
	g := &group{wanted: len(refused)}
	for _, m := range messages {
		if m.Kind() == jsonrpc.KindRequest {
			g.wanted++
		}
	}
	for _, answer := range refused {
		s.answer(g, answer, false)
	}
	for _, m := range messages {
		s.dispatch(ctx, m, g)
	}
}

// refusal returns the error response to an unreadable message. An unreadable response gets none.
// When the decoder failed before it came to the id, the id is searched for in the line: over a pipe
// the client knows its request by nothing else, and would wait for its time-out.
func (s *server) refusal(err error, line []byte) (jsonrpc.Message, bool) {
	var bad *jsonrpc.DecodeError
	if !errors.As(err, &bad) || bad.Response {
		return jsonrpc.Message{}, false
	}
	id := bad.ID
	if id.IsZero() && len(line) > 0 {
		var response bool
		if id, response = jsonrpc.PeekID(line); response {
			return jsonrpc.Message{}, false
		}
	}
	return jsonrpc.Failure(id, s.translate(err)), true
}

// refusals returns the error responses to the requests of an array that is refused as a whole, as
// far as their ids can be found.
func (s *server) refusals(err error, line []byte) (answers []jsonrpc.Message) {
	for _, id := range jsonrpc.PeekBatchIDs(line) {
		answers = append(answers, jsonrpc.Failure(id, s.translate(err)))
	}
	return answers
}

// tooLong returns the error response to an oversized line, of which only the beginning and the end
// were kept. Official SDKs write the id before or after the params.
func (s *server) tooLong(long *longLine) (jsonrpc.Message, bool) {
	id, response := jsonrpc.PeekID(long.head)
	if response {
		return jsonrpc.Message{}, false
	}
	if id.IsZero() {
		id, _ = jsonrpc.LastID(long.tail)
	}
	e := protocol.TooLarge("message", protocol.MaxRequestBody)
	return jsonrpc.Failure(id, s.translate(e)), true
}

// dispatch hands a message to its session or peer. Before there is a session only requests are
// handled.
func (s *server) dispatch(ctx context.Context, m jsonrpc.Message, g *group) {
	modern := protocol.IsModern(m.Params)
	if m.Kind() != jsonrpc.KindRequest {
		if !s.cancelled(m) && !modern && s.session != nil {
			_ = s.session.Deliver(ctx, m, nil) // a notification has no response that could carry the error
		}
		return
	}
	e, err := s.begin(m.ID, g)
	if err != nil {
		answer := jsonrpc.Failure(m.ID, s.translate(err))
		if modern {
			answer.Error = protocol.Translate(err, protocol.Latest)
		}
		if g != nil {
			s.answer(g, answer, false)
		} else {
			s.respond(answer)
		}
		return
	}
	if modern {
		s.call(ctx, m, e)
		return
	}
	switch before := s.session == nil || s.initialize.refused(); {
	// The one request that may come before initialize (2025-11-25 §basic/lifecycle).
	case before && m.Method == "ping" && !s.modern:
		e.Finish(jsonrpc.Response(m.ID, nil))
	case before && m.Method != "initialize":
		err = protocol.NotInitialized("initialization", protocol.MethodAction(m.Method))
	case before: // the first initialize, or another one
		err = s.open(ctx, m, e)
	default:
		err = s.session.Deliver(ctx, m, e)
	}
	if err != nil {
		e.Finish(jsonrpc.Failure(m.ID, s.translate(err)))
	}
}

// open opens a session, and replaces one whose handshake was refused.
func (s *server) open(ctx context.Context, first jsonrpc.Message, e *exchange) error {
	if s.session != nil {
		closing, cancel := context.WithTimeout(ctx, closeTime)
		defer cancel()
		_ = s.session.Close(closing) // that session never began
		s.session = nil
	}
	session, err := s.handler.Open(ctx, first, e, s.push)
	if err == nil {
		s.session, s.opening, s.initialize = session, e, e
	}
	return err
}

func (s *server) push(m jsonrpc.Message) error { return s.out.put(m, false) }

func (s *server) version() protocol.Version {
	if s.session == nil {
		return 0
	}
	return s.session.Version()
}

func (s *server) translate(err error) *jsonrpc.Error { return protocol.Translate(err, s.version()) }

// guard calls stall when w accepts no bytes for stallTime. It writes in pieces, so that a client
// that reads a large message slowly counts as reading.
func (s *server) guard(w io.Writer) io.Writer {
	timer := time.AfterFunc(stallTime, s.stall)
	timer.Stop()
	return &guarded{w, timer}
}

type guarded struct {
	w     io.Writer
	timer *time.Timer
}

func (g *guarded) Write(p []byte) (written int, err error) {
	defer g.timer.Stop()
	for len(p) > 0 {
		g.timer.Reset(stallTime)
		n, err := g.w.Write(p[:min(len(p), lineBuffer)])
		written += n
		if err != nil {
			return written, err
		}
		p = p[n:]
	}
	return written, nil
}
