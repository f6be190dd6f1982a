package streamable

import (
	"context"
	"time"

	"mcpd/transport"
)

// rest delays a reader for a rate limit. The readers of the connection are delayed one after the
// other, so that many streams together are limited like one.
func (c *Client) rest(ctx context.Context, long time.Duration) {
	select {
	case c.rateLimited <- struct{}{}:
		transport.Rest(ctx, long)
		<-c.rateLimited
	case <-ctx.Done():
	}
}

// Answers implements transport.Prompt.
func (c *Client) Answers(take func(transport.Inbound) bool) { c.takes = take }

// prompt gives an answer to the callback set with Answers, if no earlier message waits for Recv,
// and reports whether the callback took it.
func (c *Client) prompt(in transport.Inbound) bool {
	return c.takes != nil && c.unread.Load() == 0 && c.takes(in)
}

// deliver gives a message to Recv. It blocks while the buffer is full.
func (c *Client) deliver(in transport.Inbound) {
	c.unread.Add(1)
	if in.Message.Size() >= transport.Large {
		c.deliverLarge(in)
		return
	}
	select {
	case c.in <- received{in, nil}:
		return
	default: // rare: there is mostly room, and trying one channel is cheaper than waiting for two
	}
	select {
	case c.in <- received{in, nil}:
	case <-c.all.Done():
	}
}

// deliverAlways is like deliver, as a callback for ask. It may block.
func (c *Client) deliverAlways(in transport.Inbound) bool {
	c.deliver(in)
	return true
}

// tryDeliver is like deliver but does not block. It returns false if the buffer is full.
func (c *Client) tryDeliver(in transport.Inbound) bool {
	c.unread.Add(1)
	select {
	case c.in <- received{in, nil}:
		return true
	default:
		c.unread.Add(-1)
		return false
	}
}

// received is a message that waits for Recv.
type received struct {
	in      transport.Inbound
	handled chan struct{} // closed by the next call of Recv; nil if nothing waits for that
}

// deliverLarge is like deliver for a large message. It returns when the message was processed, that
// is at the next call of Recv. The caller keeps the reservation of the message until then.
func (c *Client) deliverLarge(in transport.Inbound) {
	a := received{in, make(chan struct{})}
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

// received records the arrival that Recv returns, so that the next call can mark it as processed.
func (c *Client) received(a received) transport.Inbound {
	c.handling, c.returned = a.handled, true
	return a.in
}

// Recv returns the next message or event of the connection. Its final error is ErrSessionLost, or
// transport.ErrClosed after Close. A request that had no outcome by then may have been executed.
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
