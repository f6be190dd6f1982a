package streamable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// keepOpen keeps the standalone stream open until ctx ends or the server has no such stream.
func (f *flow) keepOpen(ctx context.Context) {
	gap := false
	for failures := 0; ; {
		resp, err := f.get(ctx)
		f.answered()
		var status *StatusError
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failures = 0
			f.report(StandaloneState{Open: true, Gap: gap})
			_, err = f.read(ctx, resp) // it is reopened however it ended
			if errors.Is(err, ErrEventTooLarge) {
				f.last, f.retry = "", 0 // the resumed stream would begin with that event
			}
			gap = f.last == ""
		case errors.As(err, &status) && status.Status < 500 && f.last != "":
			// Missed events are no longer stored. Without the id, the server opens a new stream, or the
			// session is lost.
			f.last, gap = "", true
			continue
		case errors.As(err, &status) &&
			f.client.sessionLost(ctx, status.Status, []byte(status.Body), f.session):
			f.client.lose()
			return
		case errors.As(err, &status) && status.NotServed():
			f.report(StandaloneState{Gap: gap})
			return
		case errors.As(err, &status) && status.final():
			f.report(StandaloneState{Gap: gap, Err: err})
			return
		case f.unreached(err):
			failures = 0
			if !f.awaitServer(ctx) {
				return
			}
			continue
		default:
			failures++
		}
		if !f.pause(ctx, failures, err) {
			return
		}
	}
}

// unreached reports through Recv that no connection for the stream could be made, if err says so.
func (f *flow) unreached(err error) bool {
	if !transport.IsUnreachable(err) {
		return false
	}
	f.client.deliver(transport.Inbound{Control: Unreached{err}})
	return true
}

// awaitServer waits until the server has answered another request, or for maxReconnect. The owner
// of the client decides when to send that request, so that only one part of the client dials an
// unreachable server. awaitServer returns false when ctx ends.
func (f *flow) awaitServer(ctx context.Context) bool {
	select {
	case <-f.client.answers:
	default:
	}
	timer := time.NewTimer(maxReconnect)
	defer timer.Stop()
	select {
	case <-f.client.answers:
		return true
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (f *flow) report(s StandaloneState) { f.client.deliver(transport.Inbound{Control: s}) }

// awaitStandalone waits for the answer on the standalone stream, where some servers send it, as
// long as there is such a stream. The reader of that stream delivers the answer.
func (o *outgoing) awaitStandalone(ctx context.Context) {
	c := o.client
	c.mu.Lock()
	o.inFlight.waits = true
	there := o.inFlight.answered
	c.mu.Unlock()
	if there {
		return
	}
	select {
	case c.standing <- struct{}{}: // no goroutine reads the stream
		<-c.standing
		o.fail(ctx, fmt.Errorf("%w, and has no stream for it", errNoAnswer), true)
	case <-ctx.Done():
	}
}

// answeredOnStandalone records that the answer to a request was received on the standalone stream.
// If the response to the request is still missing, the client waits for it for a limited time.
func (c *Client) answeredOnStandalone(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.inFlight[id]
	if f == nil {
		return
	}
	switch {
	case f.waits:
		f.cancel()
	case !f.answered:
		f.late = time.AfterFunc(answeredTime, f.cancel)
	}
	f.answered = true
}

// open starts the standalone stream if the server accepted notifications/initialized. It opens gate
// for the messages that wait for the stream.
func (c *Client) open(gate chan struct{}, accepted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pass := sync.OnceFunc(func() { close(gate) })
	if accepted && !c.closing {
		select {
		case c.standing <- struct{}{}:
			c.run(c.standing, func() {
				late := time.AfterFunc(standaloneWait, pass)
				defer late.Stop()
				defer pass()
				(&flow{client: c, answered: pass}).keepOpen(c.calls)
			})
			return
		default: // there is one already
		}
	}
	pass()
}
