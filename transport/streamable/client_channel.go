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

// endpointTime is how long a server of HTTP+SSE may take to state the address for POSTs.
const endpointTime = 10 * time.Second

// Dialect records if a server uses HTTP+SSE (2024-11-05 §basic/transports) instead of Streamable
// HTTP. The zero Dialect detects it: Streamable HTTP is tried first (2026-07-28
// §basic/transports/streamable-http, "Backward Compatibility").
type Dialect struct {
	sse   atomic.Bool
	fixed bool
}

// NewDialect returns a Dialect that is fixed to HTTP+SSE, if sse is set, or that detects the
// transport.
func NewDialect(sse bool) *Dialect {
	d := &Dialect{fixed: sse}
	d.sse.Store(sse)
	return d
}

// reset clears the detected transport after a status error, so that the next client detects it
// again.
func (d *Dialect) reset(err error) {
	var status *StatusError
	if !d.fixed && errors.As(err, &status) {
		d.sse.Store(false)
	}
}

// begin opens the stream of a server that is known to use HTTP+SSE. Messages wait for it. The mutex
// is held.
func (c *Client) begin() {
	gate := make(chan struct{})
	c.gate, c.joining = gate, true
	c.standing <- struct{}{} // free: nothing else takes it before the answer to initialize
	c.run(c.standing, func() {
		c.channel(func(err error) {
			if err != nil {
				c.dialect.reset(err)
				c.finish(err)
			}
			c.open(gate, false)
		})
	})
}

// fallbackStatuses lists the statuses with which a server of HTTP+SSE may refuse an initialize POST
// to the address of its stream.
var fallbackStatuses = []int{
	http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed,
}

// sseFallback tries the SSE fallback after initialize was refused: it opens the stream of HTTP+SSE,
// which states the address for POSTs. It returns nil on success. Otherwise it returns the reason
// for which the server cannot be used: the refusal or the error of the stream.
func (c *Client) sseFallback(ctx context.Context, refusal *StatusError) error {
	if c.inbox.Load() != nil || !slices.Contains(fallbackStatuses, refusal.Status) {
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
		return refusal.withStreamError(err)
	case <-ctx.Done():
		return refusal
	}
}

// withStreamError combines the refusal of a POST with the error of the HTTP+SSE stream. It returns
// nil if err is nil. The error of the stream takes precedence if the address accepts no POST, or if
// that error may be temporary.
func (e *StatusError) withStreamError(err error) error {
	trouble, refused := errors.AsType[*StatusError](err)
	_, page := errors.AsType[*PageError](err)
	switch {
	case err == nil:
		return nil
	case !refused, page && e.NotServed():
	case trouble.RetryLater(), trouble.Status >= http.StatusInternalServerError,
		e.NotServed() && !trouble.MaybeUnknown():
		return fmt.Errorf("GET of HTTP+SSE, after POST was refused with status %d: %w", e.Status, trouble)
	case trouble.MaybeUnknown(): // the address has no stream, like most
		return e
	}
	return fmt.Errorf("%w; GET of HTTP+SSE: %w", e, err)
}

// channel opens the stream of HTTP+SSE and reads it to its end, which ends the connection. It calls
// ready once, with nil when the address for POSTs is known, or with an error.
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
	defer func() { f.reservation.Free() }()
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

// tardy replaces err if its cause is that the server took too long.
func (c *Client) tardy(late *time.Timer, err error) error {
	if !late.Stop() && c.calls.Err() == nil {
		return fmt.Errorf("the server has not said within %s where to post", endpointTime)
	}
	return err
}

// endpoint reads the address for POSTs. The address must have the origin of the stream, because
// POSTs contain our credentials. Earlier events, such as greetings and pings of a server, are
// skipped and rate-limited as stray messages.
func (f *flow) endpoint(r *Reader) (*url.URL, error) {
	for {
		e, err := r.Next()
		switch {
		case err != nil:
			return nil, fmt.Errorf("the server has not said where to post: %w", err)
		case len(e.Data) == 0 || e.Type != "endpoint":
			f.reservation.Free()
			r.Stray(e)
			continue
		}
		c := f.client
		to, err := c.url.Parse(string(e.Data))
		if err != nil {
			return nil, errors.New("the address that the server names for POST is not a URL")
		}
		if to.User != nil || origin(to) != origin(c.url) {
			return nil, fmt.Errorf("the address that the server names for POST has another origin, %s",
				c.printable([]byte(origin(to))))
		}
		to.Fragment, to.RawFragment = "", ""
		return to, nil
	}
}

// origin returns scheme, host and port (RFC 6454 §4).
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = headers.Port(u.Scheme)
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}
