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

// wire is one connection to a server, for one exchange at a time.
type wire struct {
	of      *Transport
	address string
	conn    net.Conn
	ear     *ear // nil where nobody knows whether the connection is still good
	in      *bufio.Reader
	room    int64         // bytes that the head of the response in hand may still have
	spoilt  atomic.Bool   // what came was not what was asked for: nor may be what comes next
	since   time.Time     // when it was used last
	lasts   time.Duration // for how long it may be used again then
}

func newWire(t *Transport, address string, conn net.Conn) *wire {
	w := &wire{of: t, address: address, conn: conn}
	if c, ok := conn.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			w.ear = newEar(raw)
		}
	}
	w.in = bufio.NewReader(w)
	return w
}

var errLongHead = errors.New("the header of the response is too large")

// Read reads from the connection, no more than a head may have while one is read.
func (w *wire) Read(p []byte) (int, error) {
	if w.room <= 0 {
		return 0, errLongHead
	}
	n, err := w.conn.Read(p[:min(int64(len(p)), w.room)])
	w.room -= int64(n)
	return n, err
}

// silent reports whether the server has neither closed the connection nor said anything since its last answer.
func (w *wire) silent() bool {
	return w.ear != nil && !w.spoilt.Load() && w.in.Buffered() == 0 && w.ear.quiet()
}

// cut ends whatever is done with the connection, now and later.
func (w *wire) cut() { _ = w.conn.SetDeadline(past) }

// past is a time at which nothing is waited for.
var past = time.Unix(1, 0)

// sent is a request on its way over a connection.
type sent struct {
	w       *wire
	ctx     context.Context
	grip    grip   // of that
	session string // that it names
	begun   bool   // some of the request, or all, may have reached the server
	err     error  // what it failed with
}

// exchange sends a request, which is written out, and reads the head of its response. Begun says that some of the request, or all, may have
// reached the server. After an error the connection is closed.
func (w *wire) exchange(ctx context.Context, out []byte) (resp *http.Response, begun bool, err error) {
	s := w.send(ctx, out)
	resp, err = s.response()
	return resp, s.begun, err
}

// send sends a request, which is written out. After an error that came before any of it has left
// the connection is closed.
func (w *wire) send(ctx context.Context, out []byte) sent {
	s := sent{w: w, ctx: ctx, grip: cutAtEnd(ctx, w)}
	w.room = responseHeaderBytes
	n, err := w.conn.Write(out)
	if s.begun, s.err = n > 0, err; err != nil && n == 0 {
		s.abandon()
	}
	return s
}

// abandon closes the connection.
func (s *sent) abandon() {
	s.grip.release()
	_ = s.w.conn.Close() // what failed is said
}

// response reads the head of the response.
func (s *sent) response() (resp *http.Response, err error) {
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
	w.room, w.lasts = math.MaxInt64, keptFor(resp.Header)
	body := &wireBody{w: w, ctx: s.ctx, grip: s.grip, src: resp.Body, reuse: !resp.Close && resp.ProtoAtLeast(1, 1) && resp.StatusCode >= 200}
	if resp.Body = body; resp.ContentLength == 0 || body.src == http.NoBody {
		body.over = io.EOF
		body.end(true)
	}
	return resp, nil
}

// await waits for the first bytes of a response.
func (w *wire) await() error {
	_, err := w.in.Peek(1)
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err // a second look would find less: a reset is told once
}

// maxInterim is how many responses may precede the one that counts (RFC 9110 §15.2).
const maxInterim = 5

// head reads the head of the response.
func (w *wire) head() (*http.Response, error) {
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

// wireBody is the body of a response, with whose end the connection is free for the next request. Whoever closes it before closes the connection.
type wireBody struct {
	w     *wire
	ctx   context.Context
	grip  grip      // of that
	src   io.Reader // net/http's, which knows where the body ends; its Close would wait for that
	reuse bool
	over  error // what Read found, which it finds again
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

// spoil has the connection used for nothing more, even if it is kept already.
func (b *wireBody) spoil() { b.w.spoilt.Store(true) }

// spoil says that a response was not to the request that it came for. Whatever the connection says next may be late as well.
func spoil(resp *http.Response) {
	body := resp.Body
	if coded, ok := body.(*codedBody); ok {
		body = coded.ReadCloser
	}
	if b, ok := body.(*wireBody); ok {
		b.spoil()
	}
}

// end is called as often as one likes. Whole says that all of the body was read.
func (b *wireBody) end(whole bool) {
	if b.ended.Swap(true) {
		return
	}
	if b.grip.release() && whole && b.reuse && b.w.ear != nil && !b.w.spoilt.Load() && b.w.in.Buffered() == 0 {
		b.w.of.keep(b.w)
		return
	}
	_ = b.w.conn.Close() // it is of no use any more
}
