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
	// maxUnread and maxUnreadBytes bound what waits for a client to read it, as for one HTTP stream. Answers are let in beyond them, up to
	// maxAnswerBytes: a few of the largest; more than that means that the client has stopped reading.
	maxUnread      = 256
	maxUnreadBytes = 1 << 20
	maxAnswerBytes = 4 * protocol.MaxUpstreamMessage
	// stallTime is how long a client may not read at all while something waits for it.
	stallTime = 10 * time.Second
	// answerTime is how long answers are waited for after the client's last message: a call typed into a pipe gets its answer, and a client
	// that wants to be rid of us sooner sends SIGTERM.
	answerTime = 10 * time.Second
	// openTime is how long what comes behind the first request waits for its outcome. A host answers it from memory.
	openTime = 30 * time.Second
	// maxAhead and maxAheadBytes bound what is read meanwhile, to see whether the client has left.
	maxAhead      = 64
	maxAheadBytes = 1 << 20
	// closeTime bounds the end of the session behind us.
	closeTime = 2 * time.Second
	// touchTime is how often a host hears that a client still waits for requests that stand alone. It forgets one after minutes.
	touchTime = 30 * time.Second
)

// Push sends a message that belongs to no exchange: a notification, a request to the client. It never waits for the client, and returns
// transport.ErrClosed or transport.ErrSlowConsumer.
type Push func(m jsonrpc.Message) error

// Handler is what Serve serves.
type Handler interface {
	// Open takes a request while there is no session: initialize, or the first of a client that needs none. Its one outcome reaches out
	// unless Open returns an error; then there is no session either, and the client may try again. It may so too when the outcome of
	// initialize is an error: that session is closed, and Open called again. Push serves the session until Close.
	// What the client sends behind it is delivered when the outcome is there, since it is the outcome that gives it a meaning.
	Open(ctx context.Context, first jsonrpc.Message, out transport.Sink, push Push) (Session, error)
	// Call takes a request that stands alone (2026-07-28 §basic), whether or not there is a session beside it. Its one outcome reaches out
	// unless Call returns an error.
	Call(ctx context.Context, m jsonrpc.Message, out transport.Sink) (Peer, error)
	// Gone says that the client sends nothing any more. Requests whose outcome is not in sight should
	// get one now: the client waits for those that it has sent, and for nothing else.
	Gone()
}

// Session is one client's conversation.
type Session interface {
	// Version is the negotiated revision, 0 if there is none. It decides whether arrays are read.
	Version() protocol.Version
	// Deliver hands over a message. Out is nil unless m is a request, whose one outcome must then reach out.Finish, unless Deliver returns
	// an error. It should not wait: while it does, nothing is read.
	Deliver(ctx context.Context, m jsonrpc.Message, out transport.Sink) error
	// Close ends the session because the client has gone.
	Close(ctx context.Context) error
}

// Serve carries the messages of one client until in ends, ctx ends, or the client stops reading. At the end of in it writes the answers
// that are still awaited, for a bounded time, and returns nil. Otherwise it returns the error of ctx, transport.ErrSlowConsumer, or that of
// in or out.
//
// It closes in, if that is an io.Closer, when it ends before in does. A Read or a Write that does not even then return outlives Serve.
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
	s.leave()
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

// input is one line of the client, or why there is none.
type input struct {
	line []byte
	err  error
}

// feed reads lines until in ends or nobody wants them any more. It goes on after a line that is too long, with the next one.
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

// serve handles lines until there are no more, then waits for the answers.
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
					s.say(answer)
				}
			case errors.Is(got.err, io.EOF):
				s.gone()
				s.hangUp()
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

// opened waits, if a session has just been opened, for the outcome of its first request. What comes
// meanwhile is handled after that; that the client leaves is told at once.
func (s *server) opened(ctx context.Context, read <-chan input) error {
	first := s.opening
	s.opening = nil
	if first == nil {
		return nil
	}
	more, size := read, 0
	return s.until(ctx, openTime, func() bool { return !first.pending() }, func() <-chan input {
		if len(s.ahead) >= maxAhead || size >= maxAheadBytes || s.left {
			return nil
		}
		return more
	}, func(got input) {
		s.ahead = append(s.ahead, got)
		size += len(got.line)
		if errors.Is(got.err, io.EOF) {
			s.gone()
		}
	})
}

// gone tells the handler once that the client has left.
func (s *server) gone() {
	if !s.left {
		s.left = true
		s.handler.Gone()
	}
}

// next is where the next line comes from: those that were read ahead come first.
func (s *server) next(read <-chan input) <-chan input {
	if len(s.ahead) == 0 {
		return read
	}
	first := make(chan input, 1)
	first <- s.ahead[0]
	return first
}

// taken drops the line that next has given, if it was read ahead.
func (s *server) taken() {
	if len(s.ahead) > 0 {
		s.ahead = s.ahead[1:]
	}
}

// await gives the exchanges in flight time to end.
func (s *server) await(ctx context.Context) error {
	none := func() <-chan input { return nil }
	return s.until(ctx, answerTime, func() bool { return s.pending() == 0 }, none, nil)
}

// until looks whenever an exchange has ended, for some time. Take gets what arrives from read
// meanwhile. An error says that there is nobody to go on for.
func (s *server) until(
	ctx context.Context, limit time.Duration, done func() bool, read func() <-chan input, take func(input),
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

// flush lets the writer write what waits. It gets no time to speak of when the client does not read or ctx has ended.
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
