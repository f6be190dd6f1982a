package streamable

import (
	"bufio"
	"context"
	"errors"
	"fmt"
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
	raw     syscall.RawConn // nil where there is none
	in      *bufio.Reader
	out     []byte
	room    int64 // bytes that the head of the response in hand may still have
	since   time.Time
}

func newWire(t *Transport, address string, conn net.Conn) *wire {
	w := &wire{of: t, address: address, conn: conn}
	if c, ok := conn.(syscall.Conn); ok {
		w.raw, _ = c.SyscallConn() // without it the server's end is noticed later
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
	if w.in.Buffered() > 0 {
		return false
	}
	return w.raw == nil || quiet(w.raw)
}

// exchange sends a request and reads the head of its response. Begun says that some of the request, or all, may have reached the server. After an
// error the connection is closed.
func (w *wire) exchange(r *http.Request) (resp *http.Response, begun bool, err error) {
	ctx := r.Context()
	stop := context.AfterFunc(ctx, func() { _ = w.conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if err == nil {
			return
		}
		stop()
		_ = w.conn.Close() // what failed is said
		if ctx.Err() != nil {
			err = ctx.Err()
		}
	}()
	if begun, err = w.send(r); err != nil {
		return nil, begun, err
	}
	if resp, err = w.head(r); err != nil {
		return nil, begun, err
	}
	w.room = math.MaxInt64
	body := &wireBody{w: w, ctx: ctx, stop: stop, src: resp.Body, reuse: !resp.Close && resp.ProtoAtLeast(1, 1)}
	if resp.ContentLength == 0 || resp.Body == http.NoBody {
		body.end(true)
		resp.Body = http.NoBody
	} else {
		resp.Body = body
	}
	return resp, begun, nil
}

// send writes a request at once.
func (w *wire) send(r *http.Request) (begun bool, err error) {
	out, err := appendHead(w.out[:0], r)
	if err != nil {
		return false, err
	}
	if head := len(out); r.ContentLength > 0 {
		out = append(out, make([]byte, r.ContentLength)...)
		if _, err := io.ReadFull(r.Body, out[head:]); err != nil {
			return false, fmt.Errorf("body of the request: %w", err)
		}
	}
	if w.out = out; cap(out) > wireBuffer {
		w.out = nil
	}
	n, err := w.conn.Write(out)
	if n > 0 {
		tellWritten(r.Context())
	}
	return n > 0, err
}

// maxInterim is how many responses may precede the one that counts (RFC 9110 §15.2).
const maxInterim = 5

// head reads the head of the response.
func (w *wire) head(r *http.Request) (*http.Response, error) {
	for range maxInterim {
		w.room = responseHeaderBytes
		resp, err := http.ReadResponse(w.in, r)
		switch {
		case errors.Is(err, errLongHead):
			return nil, errLongHead
		case err != nil:
			return nil, err
		case resp.StatusCode >= 200:
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
	stop  func() bool // has the end of ctx not end the connection any more
	src   io.Reader   // net/http's, which knows where the body ends; its Close would wait for that
	reuse bool
	ended atomic.Bool
}

func (b *wireBody) Read(p []byte) (int, error) {
	if b.ended.Load() {
		return 0, io.EOF
	}
	n, err := b.src.Read(p)
	if err != nil {
		b.end(err == io.EOF)
		if err != io.EOF && b.ctx.Err() != nil {
			err = b.ctx.Err()
		}
	}
	return n, err
}

func (b *wireBody) Close() error {
	b.end(false)
	return nil
}

// end is called as often as one likes. Whole says that all of the body was read.
func (b *wireBody) end(whole bool) {
	if b.ended.Swap(true) {
		return
	}
	if b.stop() && whole && b.reuse && b.w.in.Buffered() == 0 {
		b.w.of.keep(b.w)
		return
	}
	_ = b.w.conn.Close() // it is of no use any more
}
