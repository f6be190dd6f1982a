package streamable

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"mcpd/transport"
)

// send sends a notification or an answer. Later messages that wait for it may go when the server
// has accepted it, or when that takes too long.
func (o *outgoing) send(ctx context.Context) (written bool, err error) {
	if o.accepted == nil {
		return o.post(ctx)
	}
	pass := sync.OnceFunc(func() { close(o.accepted) })
	late := time.AfterFunc(standaloneWait, pass)
	defer late.Stop()
	defer pass()
	return o.post(ctx)
}

// notify sends a notification or an answer and reports a failure to Recv.
func (o *outgoing) notify() {
	defer o.drop()
	c := o.client
	ctx, cancel := context.WithTimeout(c.all, noticeTime)
	defer cancel()
	written, err := false, o.pass(ctx)
	if err == nil {
		written, err = o.send(ctx)
	} else if o.accepted != nil {
		close(o.accepted)
	}
	if !o.cancels.IsZero() {
		c.cancel(o.cancels)
	}
	if o.opens != nil {
		c.open(o.opens, err == nil)
	}
	if err != nil && c.all.Err() == nil {
		c.deliver(transport.Inbound{Control: Undelivered{o.method, o.id, err, written}})
	}
	// After the error was reported: lose ends the connection at once if nothing is in flight.
	if errors.Is(err, ErrSessionLost) {
		c.lose()
	}
}

// post sends the message. After an error, written reports whether the server may have accepted it
// nevertheless.
func (o *outgoing) post(ctx context.Context) (written bool, err error) {
	c := o.client
	session := c.current()
	resp, wrote, err := c.do(ctx, http.MethodPost, session, o.parts(), o.header())
	if err != nil {
		return wrote, err
	}
	defer discard(resp)
	c.replaceSession(resp.Header, session)
	if o.stale < MaxStale && c.replaced(ctx, resp.StatusCode, session) {
		o.stale++
		return o.post(ctx)
	}
	if 200 <= resp.StatusCode && resp.StatusCode <= 299 {
		return true, nil
	}
	body := errorBody(resp)
	if asks := o.method == "" ||
		resp.StatusCode == http.StatusNotFound; asks &&
		c.sessionLost(ctx, resp.StatusCode, body, session) {
		return false, ErrSessionLost
	}
	status := c.newStatusError(resp, body)
	return status.executed(), status
}
