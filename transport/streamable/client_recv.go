package streamable

import (
	"context"
	"time"

	"mcpd/transport"
)

// rest has the readers of the connection rest one after the other: so many streams, of as many
// requests, are no more of a flood than one.
func (c *Client) rest(ctx context.Context, long time.Duration) {
	select {
	case c.resting <- struct{}{}:
		transport.Rest(ctx, long)
		<-c.resting
	case <-ctx.Done():
	}
}

// Answers implements transport.Prompt.
func (c *Client) Answers(take func(transport.Inbound) bool) { c.takes = take }

// prompt gives an answer to whoever takes answers, and reports whether it was taken.
func (c *Client) prompt(in transport.Inbound) bool {
	return c.takes != nil && c.unread.Load() == 0 && c.takes(in)
}

// deliver hands something to Recv, waiting for room.
func (c *Client) deliver(in transport.Inbound) {
	c.unread.Add(1)
	if in.Message.Size() >= transport.Large {
		c.keep(in)
		return
	}
	select {
	case c.in <- arrival{in, nil}:
		return
	default: // as a rule there is room, and a look at one thing costs less than a wait for two
	}
	select {
	case c.in <- arrival{in, nil}:
	case <-c.all.Done():
	}
}

// hand is deliver for an errand that may wait.
func (c *Client) hand(in transport.Inbound) bool {
	c.deliver(in)
	return true
}

// offer is deliver for one that may not: it reports false when there is no room.
func (c *Client) offer(in transport.Inbound) bool {
	c.unread.Add(1)
	select {
	case c.in <- arrival{in, nil}:
		return true
	default:
		c.unread.Add(-1)
		return false
	}
}

// arrival is something that waits for Recv.
type arrival struct {
	in      transport.Inbound
	handled chan struct{} // closed when Recv is called for the next; nil where nobody waits for that
}

// keep is deliver for what is large, whose room the caller holds until it was handled: until more
// is asked for.
func (c *Client) keep(in transport.Inbound) {
	a := arrival{in, make(chan struct{})}
	select {
	case c.in <- a:
	case <-c.all.Done():
		return
	}
	select {
	case <-a.handled:
	case <-c.all.Done():
	}
}

// received takes note that what Recv has returned before was handled.
func (c *Client) received(a arrival) transport.Inbound {
	c.handling, c.returned = a.handled, true
	return a.in
}

// Recv returns the next thing that came. It ends with ErrSessionLost, or transport.ErrClosed
// after Close; a request of which nothing was said until then may have been executed.
func (c *Client) Recv(ctx context.Context) (transport.Inbound, error) {
	if c.returned {
		c.unread.Add(-1)
		c.returned = false
	}
	if c.handling != nil {
		close(c.handling)
		c.handling = nil
	}
	select {
	case a := <-c.in:
		return c.received(a), nil
	case <-c.all.Done():
		return transport.Inbound{}, transport.ErrClosed
	case <-ctx.Done():
		return transport.Inbound{}, ctx.Err()
	case <-c.over:
	}
	select {
	case a := <-c.in:
		return c.received(a), nil
	default:
		return transport.Inbound{}, c.overErr
	}
}
