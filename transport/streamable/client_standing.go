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

// stand keeps the standing stream open until ctx ends or the server has none.
func (f *flow) stand(ctx context.Context) {
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
			f.tell(Standing{Open: true, Gap: gap})
			_, err = f.read(ctx, resp) // however it ended, it is taken up again
			if errors.Is(err, ErrEventTooLarge) {
				f.last, f.retry = "", 0 // resumed, the stream would begin with that event
			}
			gap = f.last == ""
		case errors.As(err, &status) && status.Status < 500 && f.last != "":
			f.last, gap = "", true // what was missed is not kept any more; without the id there is a stream, or else the session is lost
			continue
		case errors.As(err, &status) && f.client.forgotten(ctx, status.Status, []byte(status.Body), f.session):
			f.client.lose()
			return
		case errors.As(err, &status) && status.Nowhere():
			f.tell(Standing{Gap: gap})
			return
		case errors.As(err, &status) && status.final():
			f.tell(Standing{Gap: gap, Err: err})
			return
		case f.unreached(err):
			failures = 0
			if !f.revived(ctx) {
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

// unreached tells that no connection for the stream could be made, if that is what err says.
func (f *flow) unreached(err error) bool {
	if !transport.Unreached(err) {
		return false
	}
	f.client.deliver(transport.Inbound{Control: Unreached{err}})
	return true
}

// revived waits until the server has answered another request, which its owner sends when it is
// time: of all that a client has to say to a server that is away only one dials. It reports false
// when ctx ends.
func (f *flow) revived(ctx context.Context) bool {
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

func (f *flow) tell(s Standing) { f.client.deliver(transport.Inbound{Control: s}) }

// elsewhere waits for the answer on the standing stream, as long as there is one: it is delivered
// from there. Some servers answer so.
func (o *outgoing) elsewhere(ctx context.Context) {
	c := o.client
	c.mu.Lock()
	o.flight.waits = true
	there := o.flight.there
	c.mu.Unlock()
	if there {
		return
	}
	select {
	case c.standing <- struct{}{}: // nothing reads the stream
		<-c.standing
		o.fail(ctx, fmt.Errorf("%w, and has no stream for it", errNoAnswer), true)
	case <-ctx.Done():
	}
}

// arrived tells that the answer to a request has come by the standing stream. It may be there
// before the response to the request is, which is waited for a moment then, and not for ever.
func (c *Client) arrived(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.inFlight[id]
	if f == nil {
		return
	}
	switch {
	case f.waits:
		f.cancel()
	case !f.there:
		f.late = time.AfterFunc(answeredTime, f.cancel)
	}
	f.there = true
}

// open starts the standing stream, if the server took notifications/initialized, and lets go what
// waited for both.
func (c *Client) open(gate chan struct{}, accepted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pass := sync.OnceFunc(func() { close(gate) })
	if accepted && !c.closing {
		select {
		case c.standing <- struct{}{}:
			c.run(c.standing, func() {
				late := time.AfterFunc(standTime, pass)
				defer late.Stop()
				defer pass()
				(&flow{client: c, answered: pass}).stand(c.calls)
			})
			return
		default: // there is one already
		}
	}
	pass()
}
