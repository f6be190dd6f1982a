package streamable

import (
	"context"
	"fmt"
	"slices"

	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// A request to a server usually needs only one wait, for its answer: it uses an idle connection,
// and the answer is small and comes alone. The goroutine of the host's client that waits for the
// answer anyway can do all of that, as an errand. A request that needs more waits, or is not
// finished when its errand is recalled, continues in its own goroutine.

var (
	_ transport.Borrower = (*Client)(nil)
	_ transport.Errand   = (*outgoing)(nil)
)

// SendBy implements transport.Borrower.
func (c *Client) SendBy(_ context.Context, m jsonrpc.Message, by transport.Lender) error {
	return c.send(m, by)
}

// lends gives a request to by as an errand. It returns false if that would save nothing, or if by
// refuses.
func (c *Client) lends(o *outgoing, by transport.Lender) bool {
	t, own := c.transport.(*Transport)
	return by != nil && own && !t.proxied && c.url.Scheme == "http" && by.Lend(o)
}

// Run implements transport.Errand. The token of the request is held since Send.
func (o *outgoing) Run() {
	over := false
	defer func() {
		if r := recover(); r != nil {
			over = true
			o.drop()
			o.client.settle(o.id, &o.inFlight)
			o.client.finish(fmt.Errorf("streamable client: panic: %v", r))
		}
		if !over {
			o.inFlight.unlend()
			o.client.run(o.client.posts, o.carry)
			return
		}
		<-o.client.posts
	}()
	over = o.inFlight.lend() && o.ask(o.client.tryDeliver, true)
}

// Recall implements transport.Errand.
func (o *outgoing) Recall() { o.inFlight.recall() }

// ask carries a request over an idle connection, and gives its answer to put. It returns false if
// more is needed, or if put does not accept the answer. Steps that are done are not repeated later.
// lent reports that the caller is an errand.
func (o *outgoing) ask(put func(transport.Inbound) bool, lent bool) bool {
	if !o.answered {
		if o.inFlight.sent.w == nil && !o.begin(lent) || !o.inFlight.arrives() || !o.plain() {
			return false
		}
	}
	in := transport.Inbound{Message: o.message, RequestID: o.id}
	if !o.client.prompt(in) && !put(in) {
		return false
	}
	o.client.settle(o.id, &o.inFlight)
	return true
}

// lentBody is the largest body that an errand writes. A recall does not interrupt a write, but a
// write of this size never blocks on a server that has no other input.
const lentBody = 4 << 10

// begin sends a request if no wait is needed for that. It returns false if a wait is needed, if
// net/http has to send the request, or if the request has been cancelled.
func (o *outgoing) begin(lent bool) bool {
	c := o.client
	t, own := c.transport.(*Transport)
	most := smallBody
	if lent {
		most = lentBody
	}
	if !own || o.method == initialize || o.method == probe || o.bytes > most ||
		len(o.body) > 1 || c.inbox.Load() != nil || !isOpen(o.gate) || !isOpen(o.after) {
		return false
	}
	session := c.current()
	d := c.templateFor(session, postAccept)
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
	for o.inFlight.Err() == nil {
		w := t.kept(canonical(c.url))
		if w == nil {
			return false
		}
		if s := w.send(&o.inFlight, out); s.begun || s.err == nil {
			o.inFlight.sent, o.inFlight.sent.session = s, session
			return true
		}
		// The server had closed the connection: nothing of the request was sent.
	}
	return false
}

// unsendable reports whether a field is invalid and would be refused.
func unsendable(f headers.Field) bool { return !isName(f.Name) || !isValue(f.Value) }

// isOpen reports whether a gate is open. A nil gate is open.
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

// plain reads the answer from the connection, if the answer is complete and plain.
func (o *outgoing) plain() bool {
	c, s := o.client, &o.inFlight.sent
	a, ok := s.w.plainAnswer(s.session)
	if !ok || len(a.body) > c.limits.Bytes {
		return false
	}
	m, err := jsonrpc.DecodeLenient(a.body, c.limits)
	if err != nil || m.Method != "" || m.ID != o.id {
		return false
	}
	s.w.done(a, o.inFlight.uncut())
	o.inFlight.sent = sentRequest{}
	select {
	case c.answers <- struct{}{}:
	default:
	}
	o.message, o.answered = m, true
	o.drop()
	return true
}
