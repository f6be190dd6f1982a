package streamable

import (
	"context"

	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// Send starts a POST. The answer or failure of a request is returned by Recv, as is the failure of
// a notification, as Undelivered. After notifications/initialized, later messages wait until the
// server has accepted that notification and has answered the GET that then opens the standalone
// stream, or until a time limit for that answer. After notifications/cancelled, the client stops
// reading the answer of the cancelled request, and Recv returns nothing more for it.
//
// In revisions with stateless requests, notifications/cancelled only ends the POST of the request,
// and no notifications are sent.
//
// Send returns transport.ErrSlowConsumer if too many messages are in flight, and
// transport.ErrClosed after Close or after the end of the connection.
func (c *Client) Send(_ context.Context, m jsonrpc.Message) error { return c.send(m, nil) }

func (c *Client) send(m jsonrpc.Message, by transport.Lender) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing || c.lost != nil || c.isOver() {
		return transport.ErrClosed
	}
	if c.stateless() && m.Kind() != jsonrpc.KindRequest {
		c.sendStateless(m)
		return nil
	}
	if c.knownSSE && !c.joining {
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
	if o.bytes > lentBody { // a smaller body has about the same size
		o.bytes = size(o.parts())
	}
	c.queued(o.bytes)
	c.order(o, m)
	if m.Kind() == jsonrpc.KindRequest {
		o.inFlight.older = c.inFlight[m.ID]
		c.inFlight[m.ID] = &o.inFlight
		if !c.lends(o, by) {
			c.run(places, o.carry)
		}
		return nil
	}
	switch m.Method {
	case "notifications/initialized":
		o.opens = make(chan struct{})
		c.gate = o.opens
	case "notifications/cancelled":
		if raw, ok := jsonedit.Get(m.Params, "requestId"); ok {
			o.cancels, _ = jsonrpc.ParseID(raw) // an invalid id cancels nothing
		}
	}
	c.run(places, o.notify)
	return nil
}

// order makes requests and notifications wait for the preceding notification. Otherwise they could
// overtake it, because each uses its own connection. Cancellations, progress and answers do not
// wait. The mutex is held.
func (c *Client) order(o *outgoing, m jsonrpc.Message) {
	notice := m.Kind() == jsonrpc.KindNotification && m.Method != "notifications/cancelled" &&
		m.Method != "notifications/progress"
	if notice || m.Kind() == jsonrpc.KindRequest {
		o.after = c.lastNotice
	}
	if notice {
		o.accepted = make(chan struct{})
		c.lastNotice = o.accepted
	}
}

// sendStateless handles a message other than a request where only requests are sent. A cancellation
// closes the connection of its request (2026-07-28 §basic/patterns/cancellation). Other messages
// have no effect there. The mutex is held.
func (c *Client) sendStateless(m jsonrpc.Message) {
	if m.Method != "notifications/cancelled" {
		return
	}
	raw, _ := jsonedit.Get(m.Params, "requestId")
	id, err := jsonrpc.ParseID(raw)
	if err != nil {
		return
	}
	if f := c.inFlight[id]; f != nil {
		f.cancel()
	}
}
