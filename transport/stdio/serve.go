package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// The bounds of the client's side.
const (
	// maxUnread and maxUnreadBytes bound the messages that wait for a client to read them, as for one
	// HTTP stream. Responses may exceed them up to maxAnswerBytes, room for a few of the largest.
	// Beyond that the client has stopped reading.
	maxUnread      = 256
	maxUnreadBytes = 1 << 20
	maxAnswerBytes = 4 * protocol.MaxUpstreamMessage
	// stallTime is how long a client may read nothing while messages wait for it.
	stallTime = 10 * time.Second
	// answerTime is how long Serve waits for pending responses after the client's last message: a call
	// that is typed into a pipe gets its response. A client that wants the process to end sooner sends
	// SIGTERM.
	answerTime = 10 * time.Second
	// openTime is how long messages after the first request wait for its outcome. A host answers it
	// from memory.
	openTime = 30 * time.Second
	// maxAhead and maxAheadBytes bound the messages read meanwhile, to notice when the client leaves.
	maxAhead      = 64
	maxAheadBytes = 1 << 20
	// closeTime bounds the closing of the session.
	closeTime = 2 * time.Second
	// touchTime is the interval at which the host hears that a client still waits for stateless
	// requests. The host evicts a silent client after minutes.
	touchTime = 30 * time.Second
)

// Push sends a message that belongs to no exchange: a notification, or a request to the client. It
// never waits for the client. It returns transport.ErrClosed or transport.ErrSlowConsumer.
type Push func(m jsonrpc.Message) error

// Handler handles the messages of the client of Serve.
type Handler interface {
	// Open takes a request while there is no session: initialize, or the first request of a client
	// that needs no handshake. Its one outcome reaches out, unless Open returns an error: then there
	// is no session and the client may try again. The client may also try again when the outcome of
	// initialize is an error: the session is then closed, and Open called again. Push serves the
	// session until Close. Later messages of the client are delivered after the outcome, because it
	// decides their meaning.
	Open(ctx context.Context, first jsonrpc.Message, out transport.Sink, push Push) (Session, error)
	// Call takes a stateless request (2026-07-28 §basic), whether or not there is a session beside
	// it. Its one outcome reaches out, unless Call returns an error.
	Call(ctx context.Context, m jsonrpc.Message, out transport.Sink) (Peer, error)
	// Gone says that the client sends no more messages. Requests whose outcome is not in sight should
	// get one now: the client waits only for the requests that it has sent.
	Gone()
}

// Session is the conversation of one client.
type Session interface {
	// Version returns the negotiated revision, 0 if there is none. It decides whether arrays are read.
	Version() protocol.Version
	// Deliver hands over a message. Out is nil unless m is a request. A request's one outcome must
	// reach out.Finish, unless Deliver returns an error. Deliver should not wait: nothing is read
	// until it returns.
	Deliver(ctx context.Context, m jsonrpc.Message, out transport.Sink) error
	// Close ends the session because the client has gone.
	Close(ctx context.Context) error
}

// Serve carries the messages of one client until in ends, ctx ends, or the client stops reading. At
// the end of in it writes the pending responses, for a bounded time, and returns nil. Otherwise it
// returns the error of ctx, transport.ErrSlowConsumer, or the error of in or out.
//
// If Serve ends before in does, it closes in, if in is an io.Closer. A Read or Write that does not
// return even then outlives Serve.
func Serve(ctx context.Context, in io.Reader, out io.Writer, h Handler) error {
	s := newServer(h)
	go s.write(out) // owner: flush waits for it
	read := make(chan input)
	stop := make(chan struct{})
	reader := make(chan struct{})
	go func() { // owner: the deferred function waits for it
		defer close(reader)
		feed(ctx, in, read, stop)
	}()
	defer func() {
		close(stop)
		if c, ok := in.(io.Closer); ok {
			c.Close()
		}
		wait(reader, flushTime)
	}()

	err := s.serve(ctx, read)
	s.endInFlight()
	if s.session != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		if e := s.session.Close(closing); err == nil && e != nil {
			err = fmt.Errorf("end of session: %w", e)
		}
	}
	if e := s.flush(ctx); err == nil {
		err = e
	}
	return err
}

// input is one line of the client, or the error in its place.
type input struct {
	line []byte
	err  error
}

// feed reads lines until in ends or stop is closed. It continues after an oversized line, with the
// next one.
func feed(ctx context.Context, in io.Reader, to chan<- input, stop <-chan struct{}) {
	l := lines{src: plain{in}, max: protocol.MaxRequestBody}
	for {
		line, err := l.next(ctx)
		select {
		case to <- input{line, err}:
		case <-stop:
			return
		}
		var long *longLine
		if err != nil && !errors.As(err, &long) {
			return
		}
	}
}

// plain is a reader that ctx does not interrupt.
type plain struct{ r io.Reader }

func (p plain) read(_ context.Context, b []byte) (int, error) { return p.r.Read(b) }

// serve handles lines until there are no more, then waits for the pending responses.
func (s *server) serve(ctx context.Context, read <-chan input) error {
	touch := time.NewTicker(touchTime)
	defer touch.Stop()
	for {
		select {
		case <-touch.C:
			s.touch()
		case <-ctx.Done():
			return ctx.Err()
		case <-s.stalled:
			return transport.ErrSlowConsumer
		case <-s.written:
			return s.writeErr
		case got := <-s.next(read):
			s.taken()
			var long *longLine
			switch {
			case errors.As(got.err, &long):
				if answer, ok := s.tooLong(long); ok {
					s.respond(answer)
				}
			case errors.Is(got.err, io.EOF):
				s.gone()
				s.endSubscriptions()
				return s.await(ctx)
			case got.err != nil:
				return fmt.Errorf("read from the client: %w", got.err)
			default:
				s.handle(ctx, bytes.Trim(bytes.TrimPrefix(got.line, byteOrder), " \t\r"))
				if err := s.opened(ctx, read); err != nil {
					return err
				}
			}
		}
	}
}

// opened waits, after a session was opened, for the outcome of its first request. Messages that
// come meanwhile are handled later. The end of the client's input is reported at once.
func (s *server) opened(ctx context.Context, read <-chan input) error {
	first := s.opening
	s.opening = nil
	if first == nil {
		return nil
	}
	more, size := read, 0
	return s.until(ctx, openTime, func() bool { return !first.pending() }, func() <-chan input {
		if len(s.readAhead) >= maxAhead || size >= maxAheadBytes || s.toldGone {
			return nil
		}
		return more
	}, func(got input) {
		s.readAhead = append(s.readAhead, got)
		size += len(got.line)
		if errors.Is(got.err, io.EOF) {
			s.gone()
		}
	})
}

// gone tells the handler once that the client has left.
func (s *server) gone() {
	if !s.toldGone {
		s.toldGone = true
		s.handler.Gone()
	}
}

// next returns the channel of the next line: lines that were read ahead come first.
func (s *server) next(read <-chan input) <-chan input {
	if len(s.readAhead) == 0 {
		return read
	}
	first := make(chan input, 1)
	first <- s.readAhead[0]
	return first
}

// taken drops the line that next has returned, if it was read ahead.
func (s *server) taken() {
	if len(s.readAhead) > 0 {
		s.readAhead = s.readAhead[1:]
	}
}

// await gives the exchanges in flight time to end.
func (s *server) await(ctx context.Context) error {
	none := func() <-chan input { return nil }
	return s.until(ctx, answerTime, func() bool { return s.pending() == 0 }, none, nil)
}

// until waits until done returns true, checking it after each end of an exchange, or until the
// limit. Take gets the lines that arrive from read meanwhile. An error says that the client is gone
// or ctx has ended.
func (s *server) until(
	ctx context.Context, limit time.Duration, done func() bool, read func() <-chan input,
	take func(input),
) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for !done() {
		select {
		case <-s.ended:
		case got := <-read():
			take(got)
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-s.stalled:
			return transport.ErrSlowConsumer
		case <-s.written:
			return s.writeErr
		}
	}
	return nil
}

// flush lets the writer write the waiting messages. It waits only briefly when the client does not
// read or ctx has ended.
func (s *server) flush(ctx context.Context) error {
	s.out.finish()
	limit := time.NewTimer(stallTime)
	defer limit.Stop()
	select {
	case <-s.written:
		return s.writeErr
	case <-s.stalled:
	case <-limit.C:
	case <-ctx.Done():
		brief := time.NewTimer(flushTime)
		defer brief.Stop()
		select {
		case <-s.written:
			return s.writeErr
		case <-brief.C:
		}
	}
	return nil
}

func wait(done <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
