package streamable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"mcpd/protocol/headers"
)

// endpointTime is how long a server of HTTP+SSE may take to say where to post.
const endpointTime = 10 * time.Second

// Dialect is whether a server speaks HTTP+SSE (2024-11-05 §basic/transports) instead of Streamable HTTP, as far as that is known. The zero
// Dialect finds out: Streamable HTTP is tried first (2026-07-28 §basic/transports/streamable-http, "Backward Compatibility").
type Dialect struct {
	sse   atomic.Bool
	fixed bool
}

// NewDialect makes one that is sure of HTTP+SSE, or finds out.
func NewDialect(sse bool) *Dialect {
	d := &Dialect{fixed: sse}
	d.sse.Store(sse)
	return d
}

// doubt lets the next client find out anew, when a server does not do any more what it was found to.
func (d *Dialect) doubt(err error) {
	var status *StatusError
	if !d.fixed && errors.As(err, &status) {
		d.sse.Store(false)
	}
}

// begin opens the stream of a server that is known to have one. What is sent waits for it. The mutex is held.
func (c *Client) begin() {
	gate := make(chan struct{})
	c.gate, c.joining = gate, true
	c.standing <- struct{}{} // free: nothing else takes it before the answer to initialize
	c.run(c.standing, func() {
		c.channel(func(err error) {
			if err != nil {
				c.dialect.doubt(err)
				c.finish(err)
			}
			c.open(gate, false)
		})
	})
}

// detoured are the statuses of a refused initialize that only a server of HTTP+SSE may mean by its address.
var detoured = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}

// detour looks, after initialize was refused, whether there is a stream that says where to post
// instead. It returns nil if there is, and otherwise why the server cannot be spoken to: its refusal,
// or the trouble that it has with the stream.
func (c *Client) detour(ctx context.Context, refusal *StatusError) error {
	if c.inbox.Load() != nil || !slices.Contains(detoured, refusal.Status) {
		return refusal
	}
	select {
	case c.standing <- struct{}{}:
	case <-ctx.Done():
		return refusal
	}
	ready := make(chan error, 1)
	c.run(c.standing, func() { c.channel(func(err error) { ready <- err }) })
	select {
	case err := <-ready:
		return refusal.beside(err)
	case <-ctx.Done():
		return refusal
	}
}

// beside is the refusal of a POST together with why there is no stream of HTTP+SSE either; nil if
// there is one. The trouble with the stream comes first where nothing takes POST, or where it may
// pass.
func (e *StatusError) beside(err error) error {
	trouble, refused := errors.AsType[*StatusError](err)
	_, page := errors.AsType[*PageError](err)
	switch {
	case err == nil:
		return nil
	case !refused, page && e.Nowhere():
	case trouble.Later(), trouble.Status >= http.StatusInternalServerError, e.Nowhere() && !trouble.Foreign():
		return fmt.Errorf("GET of HTTP+SSE, after POST was refused with status %d: %w", e.Status, trouble)
	case trouble.Foreign(): // the address has no stream, as most have none
		return e
	}
	return fmt.Errorf("%w; GET of HTTP+SSE: %w", e, err)
}

// channel opens the stream of HTTP+SSE, tells ready when it is known where to post, or why not, and reads to the end, which is that of the
// connection.
func (c *Client) channel(ready func(error)) {
	ctx, cancel := context.WithCancel(c.calls)
	defer cancel()
	late := time.AfterFunc(endpointTime, cancel)
	f := &flow{client: c}
	resp, err := f.get(ctx)
	if err != nil {
		ready(c.tardy(late, err))
		return
	}
	defer resp.Body.Close()
	r := f.reader(ctx, resp)
	defer func() { f.room.Free() }()
	inbox, err := f.endpoint(r)
	if err = c.tardy(late, err); err != nil {
		ready(err)
		return
	}
	c.inbox.Store(inbox)
	c.dialect.sse.Store(true)
	ready(nil)
	_, err = f.events(ctx, r)
	c.finish(fmt.Errorf("the stream of the server ended: %w", err))
}

// tardy names the reason when it was that the server took too long.
func (c *Client) tardy(late *time.Timer, err error) error {
	if !late.Stop() && c.calls.Err() == nil {
		return fmt.Errorf("the server has not said within %s where to post", endpointTime)
	}
	return err
}

// endpoint reads where to post. It is where the stream is: what goes there holds our credentials.
// Events before that are passed over, at the pace of what is no message: servers greet, and send
// pings.
func (f *flow) endpoint(r *Reader) (*url.URL, error) {
	for {
		e, err := r.Next()
		switch {
		case err != nil:
			return nil, fmt.Errorf("the server has not said where to post: %w", err)
		case len(e.Data) == 0 || e.Name != "endpoint":
			f.room.Free()
			r.Stray(e)
			continue
		}
		c := f.client
		to, err := c.url.Parse(string(e.Data))
		if err != nil {
			return nil, errors.New("where the server wants posts is no URL")
		}
		if to.User != nil || origin(to) != origin(c.url) {
			return nil, fmt.Errorf("the server wants posts at another origin, %s", c.printable([]byte(origin(to))))
		}
		to.Fragment, to.RawFragment = "", ""
		return to, nil
	}
}

// origin is scheme, host and port (RFC 6454 §4).
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = headers.Port(u.Scheme)
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}
