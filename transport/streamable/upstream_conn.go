package streamable

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

// upstreamConn is one connection to a server, used for one exchange at a time.
type upstreamConn struct {
	transport *Transport
	address   string
	conn      net.Conn
	probe     *idleProbe // nil if the state of the connection cannot be tested
	in        *bufio.Reader
	room      int64         // remaining byte limit of the current response head
	unusable  atomic.Bool   // an unexpected response arrived; further ones may be wrong too
	since     time.Time     // when it was last used
	idleLimit time.Duration // how long it may stay idle after that
}

func newWire(t *Transport, address string, conn net.Conn) *upstreamConn {
	w := &upstreamConn{transport: t, address: address, conn: conn}
	if c, ok := conn.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			w.probe = newIdleProbe(raw)
		}
	}
	w.in = bufio.NewReader(w)
	return w
}

var errLongHead = errors.New("the header of the response is too large")

// Read reads from the connection. While a head is read, it reads no more than a head may have.
func (w *upstreamConn) Read(p []byte) (int, error) {
	if w.room <= 0 {
		return 0, errLongHead
	}
	n, err := w.conn.Read(p[:min(int64(len(p)), w.room)])
	w.room -= int64(n)
	return n, err
}

// isIdle reports whether the server has neither closed the connection nor sent anything since its
// last answer.
func (w *upstreamConn) isIdle() bool {
	return w.probe != nil && !w.unusable.Load() && w.in.Buffered() == 0 && w.probe.idle()
}

// cut makes all current and future operations on the connection fail.
func (w *upstreamConn) cut() { _ = w.conn.SetDeadline(past) }

// past is a deadline that has already passed.
var past = time.Unix(1, 0)

// sentRequest is a request that was sent over a connection.
type sentRequest struct {
	w       *upstreamConn
	ctx     context.Context
	grip    cutGuard // of ctx
	session string   // the session that the request names
	begun   bool     // some or all of the request may have reached the server
	err     error    // the error of sending
}

// exchange sends a request in wire form, and reads the head of its response. begun reports whether
// some or all of the request may have reached the server. After an error the connection is closed.
func (w *upstreamConn) exchange(ctx context.Context, out []byte) (resp *http.Response, begun bool,
	err error) {
	s := w.send(ctx, out)
	resp, err = s.response()
	return resp, s.begun, err
}

// send sends a request in wire form. If it fails before any byte was sent, the connection is
// closed.
func (w *upstreamConn) send(ctx context.Context, out []byte) sentRequest {
	s := sentRequest{w: w, ctx: ctx, grip: guardCut(ctx, w)}
	w.room = responseHeaderBytes
	n, err := w.conn.Write(out)
	if s.begun, s.err = n > 0, err; err != nil && n == 0 {
		s.abandon()
	}
	return s
}

// abandon closes the connection.
func (s *sentRequest) abandon() {
	s.grip.release()
	_ = s.w.conn.Close() // the error was reported already
}

// response reads the head of the response.
func (s *sentRequest) response() (resp *http.Response, err error) {
	w := s.w
	if err = s.err; err == nil {
		resp, err = w.head()
	}
	if err != nil {
		s.abandon()
		if s.ctx.Err() != nil {
			err = s.ctx.Err()
		}
		return nil, err
	}
	w.room, w.idleLimit = math.MaxInt64, keptFor(resp.Header)
	body := &wireBody{
		w: w, ctx: s.ctx, grip: s.grip, src: resp.Body,
		reuse: !resp.Close && resp.ProtoAtLeast(1, 1) && resp.StatusCode >= 200,
	}
	if resp.Body = body; resp.ContentLength == 0 || body.src == http.NoBody {
		body.over = io.EOF
		body.end(true)
	}
	return resp, nil
}

// await waits for the first bytes of a response.
func (w *upstreamConn) await() error {
	_, err := w.in.Peek(1)
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err // returned now, because a reset is reported only once
}

// maxInterim is the maximum number of interim responses before the final one (RFC 9110 §15.2).
const maxInterim = 5

// head reads the head of the response.
func (w *upstreamConn) head() (*http.Response, error) {
	for range maxInterim {
		w.room = responseHeaderBytes - int64(w.in.Buffered())
		if err := w.await(); err != nil {
			return nil, err
		}
		if resp := plainHead(w.in); resp != nil {
			return resp, nil
		}
		resp, err := http.ReadResponse(w.in, nil)
		switch {
		case errors.Is(err, errLongHead):
			return nil, errLongHead
		case err != nil:
			return nil, err
		case resp.StatusCode < 100 || resp.StatusCode >= 200:
			return resp, nil
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, errors.New("the server switches to a protocol that it was not asked for")
		}
	}
	return nil, errors.New("too many interim responses")
}

// wireBody is the body of a response. At its end, the connection is free for the next request.
// Closing the body before its end closes the connection.
type wireBody struct {
	w    *upstreamConn
	ctx  context.Context
	grip cutGuard // of ctx
	// src is the reader of net/http, which finds the end of the body. Its Close would wait for that
	// end.
	src   io.Reader
	reuse bool
	over  error // the final error of Read
	ended atomic.Bool
}

func (b *wireBody) Read(p []byte) (int, error) {
	if b.over != nil {
		return 0, b.over
	}
	if b.ended.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.src.Read(p)
	if err != nil {
		b.end(err == io.EOF)
		if err != io.EOF && b.ctx.Err() != nil {
			err = b.ctx.Err()
		}
		b.over = err
	}
	return n, err
}

func (b *wireBody) Close() error {
	b.end(false)
	return nil
}

// markUnusable prevents further use of the connection, even if it is already idle.
func (b *wireBody) markUnusable() { b.w.unusable.Store(true) }

// markUnusable records that a response did not match its request. Any later response on the
// connection may be out of step too.
func markUnusable(resp *http.Response) {
	body := resp.Body
	if coded, ok := body.(*codedBody); ok {
		body = coded.ReadCloser
	}
	if b, ok := body.(*wireBody); ok {
		b.markUnusable()
	}
}

// end may be called repeatedly. whole reports whether the whole body was read.
func (b *wireBody) end(whole bool) {
	if b.ended.Swap(true) {
		return
	}
	if b.grip.release() && whole && b.reuse && b.w.probe != nil && !b.w.unusable.Load() &&
		b.w.in.Buffered() == 0 {
		b.w.transport.keep(b.w)
		return
	}
	_ = b.w.conn.Close() // it cannot be reused
}
