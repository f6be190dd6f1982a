package streamable

import (
	"context"

	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/transport"
)

// Send starts a POST. An answer, or the failure of a request, arrives through Recv; a
// notification that fails arrives there as Undelivered. Sending notifications/initialized holds
// back what is sent after it until the server has accepted it, and has answered the GET that then
// opens the standing stream, or has had the time to. Sending notifications/cancelled stops
// reading the answer of that request: nothing more comes of it.
//
// Where requests stand alone the latter is all that leaves: it ends the POST, and other
// notifications are not sent.
//
// It returns transport.ErrSlowConsumer when too many requests wait already, and
// transport.ErrClosed after the connection has ended or Close.
func (c *Client) Send(_ context.Context, m jsonrpc.Message) error { return c.send(m, nil) }

func (c *Client) send(m jsonrpc.Message, by transport.Lender) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing || c.lost != nil || c.isOver() {
		return transport.ErrClosed
	}
	if c.stateless() && m.Kind() != jsonrpc.KindRequest {
		c.unsaid(m)
		return nil
	}
	if c.known && !c.joining {
		c.begin()
	}
	places := c.notices
	if m.Kind() == jsonrpc.KindRequest {
		places = c.posts
	}
	select {
	case places <- struct{}{}:
	default:
		return transport.ErrSlowConsumer
	}
	o := &outgoing{
		client: c, id: m.ID, method: m.Method, fields: c.fields(m), message: m, gate: c.gate,
		bytes: m.Size(),
	}
	if o.bytes > lentBody { // of a small one, about as many are enough
		o.bytes = size(o.parts())
	}
	c.queued(o.bytes)
	c.order(o, m)
	if m.Kind() == jsonrpc.KindRequest {
		o.flight.older = c.inFlight[m.ID]
		c.inFlight[m.ID] = &o.flight
		if !c.lends(o, by) {
			c.run(places, o.fly)
		}
		return nil
	}
	switch m.Method {
	case "notifications/initialized":
		o.opens = make(chan struct{})
		c.gate = o.opens
	case "notifications/cancelled":
		if raw, ok := splice.Get(m.Params, "requestId"); ok {
			o.cancels, _ = jsonrpc.ParseID(raw) // what is no id cancels nothing
		}
	}
	c.run(places, o.notify)
	return nil
}

// order has requests and notifications wait for the notification that was sent before them, as a
// client does that sends them itself: over connections of their own they could overtake it. One
// that cancels overtakes all, and an answer follows nothing. The mutex is held.
func (c *Client) order(o *outgoing, m jsonrpc.Message) {
	notice := m.Kind() == jsonrpc.KindNotification && m.Method != "notifications/cancelled" && m.Method != "notifications/progress"
	if notice || m.Kind() == jsonrpc.KindRequest {
		o.behind = c.behind
	}
	if notice {
		o.taken = make(chan struct{})
		c.behind = o.taken
	}
}

// unsaid does what a message other than a request means where only requests are sent: to cancel
// is to leave (2026-07-28 §basic/patterns/cancellation), and nothing else has a meaning there.
// The mutex is held.
func (c *Client) unsaid(m jsonrpc.Message) {
	if m.Method != "notifications/cancelled" {
		return
	}
	raw, _ := splice.Get(m.Params, "requestId")
	id, err := jsonrpc.ParseID(raw)
	if err != nil {
		return
	}
	if f := c.inFlight[id]; f != nil {
		f.cancel()
	}
}
