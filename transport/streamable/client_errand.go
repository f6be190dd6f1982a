package streamable

import (
	"context"
	"fmt"
	"slices"

	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// A request to a server needs one wait as a rule, for its answer: a connection is kept, and the
// answer is small and comes alone. Who waits for the answer anyway can do all of that, as an
// errand. What needs more waits, or lasts when the errand is recalled, goes on in a goroutine of
// its own.

var (
	_ transport.Borrower = (*Client)(nil)
	_ transport.Errand   = (*outgoing)(nil)
)

// SendBy implements transport.Borrower.
func (c *Client) SendBy(_ context.Context, m jsonrpc.Message, by transport.Lender) error {
	return c.send(m, by)
}

// lends has somebody else carry a request, and reports false where that would spare nothing.
func (c *Client) lends(o *outgoing, by transport.Lender) bool {
	t, own := c.transport.(*Transport)
	return by != nil && own && !t.proxied && c.url.Scheme == "http" && by.Lend(o)
}

// Run implements transport.Errand. The place of the request is held since it was sent.
func (o *outgoing) Run() {
	over := false
	defer func() {
		if r := recover(); r != nil {
			over = true
			o.drop()
			o.client.settle(o.id, &o.flight)
			o.client.finish(fmt.Errorf("streamable client: panic: %v", r))
		}
		if !over {
			o.flight.unlend()
			o.client.run(o.client.posts, o.fly)
			return
		}
		<-o.client.posts
	}()
	over = o.flight.lend() && o.ask(o.client.offer, true)
}

// Recall implements transport.Errand.
func (o *outgoing) Recall() { o.flight.recall() }

// ask carries a request over a connection that is kept, and gives its answer to put. It reports
// false where that is not all, or put does not take the answer: what was done until then is not
// done again. Lent says that it is an errand.
func (o *outgoing) ask(put func(transport.Inbound) bool, lent bool) bool {
	if !o.answered {
		if o.flight.sent.w == nil && !o.begin(lent) || !o.flight.arrives() || !o.plain() {
			return false
		}
	}
	in := transport.Inbound{Message: o.message, Related: o.id}
	if !o.client.prompt(in) && !put(in) {
		return false
	}
	o.client.settle(o.id, &o.flight)
	return true
}

// lentBody is the largest body that an errand writes: a recall does not end a write, and so much
// never waits for a server that has nothing else to read.
const lentBody = 4 << 10

// begin sends a request that needs no wait for that. It reports false where it does, and when it
// has ended.
func (o *outgoing) begin(lent bool) bool {
	c := o.client
	t, own := c.transport.(*Transport)
	most := smallBody
	if lent {
		most = lentBody
	}
	if !own || o.method == initialize || o.method == probe || o.bytes > most ||
		len(o.body) > 1 || c.inbox.Load() != nil || !isOpen(o.gate) || !isOpen(o.behind) {
		return false
	}
	session := c.current()
	d := c.dressed(session, postAccept)
	if d.head == nil || slices.ContainsFunc(o.fields, unsendable) {
		return false
	}
	var body []byte
	if o.body != nil {
		body = o.body[0]
	} else {
		text := requests.Get().(*[]byte)
		body = o.message.Append((*text)[:0])
		defer reuse(text, body)
	}
	buffer := requests.Get().(*[]byte)
	out := appendPost((*buffer)[:0], d.head, o.fields, body)
	defer reuse(buffer, out)
	for o.flight.Err() == nil {
		w := t.kept(canonical(c.url))
		if w == nil {
			return false
		}
		if s := w.send(&o.flight, out); s.begun || s.err == nil {
			o.flight.sent, o.flight.sent.session = s, session
			return true
		}
		// The server had closed it: nothing of the request has left.
	}
	return false
}

// unsendable reports whether a field would have to be refused.
func unsendable(f headers.Field) bool { return !isName(f.Name) || !isValue(f.Value) }

// isOpen reports whether what goes through a gate need not wait. Nil is no gate.
func isOpen(gate <-chan struct{}) bool {
	if gate == nil {
		return true
	}
	select {
	case <-gate:
		return true
	default:
		return false
	}
}

// plain takes the answer from the connection, if it is there whole and plain.
func (o *outgoing) plain() bool {
	c, s := o.client, &o.flight.sent
	a, ok := s.w.plainAnswer(s.session)
	if !ok || len(a.body) > c.limits.Bytes {
		return false
	}
	m, err := jsonrpc.DecodeLenient(a.body, c.limits)
	if err != nil || m.Method != "" || m.ID != o.id {
		return false
	}
	s.w.done(a, o.flight.lets())
	o.flight.sent = sent{}
	select {
	case c.answers <- struct{}{}:
	default:
	}
	o.message, o.answered = m, true
	o.drop()
	return true
}
