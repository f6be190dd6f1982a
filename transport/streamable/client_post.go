package streamable

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// outgoing is one message to be sent.
type outgoing struct {
	client *Client
	id     jsonrpc.ID // of a request, or of an answer by the client
	method string
	fields []headers.Field // its own header fields
	bytes  int             // its size as counted by Queued
	body   net.Buffers     // nil until it is needed: see parts
	gate   <-chan struct{} // to wait for before sending; nil for none
	after  <-chan struct{} // to wait for after gate
	// taken is closed when the server has accepted it, or standaloneWait after it was sent; nil for
	// most.
	accepted chan struct{}
	// of notifications/initialized: the gate for later messages, see Client.open
	opens    chan struct{}
	cancels  jsonrpc.ID // the request that it cancels; zero for most
	inFlight inFlight   // of a request
	stale    int        // times that it was refused for a replaced session id
	// message is the message, until body is built or it was sent. After that it is the answer, if
	// answered is set.
	message  jsonrpc.Message
	answered bool // the answer was read but not delivered yet
}

var (
	errNoAnswer = errors.New("the server accepted the request without an answer")
	errCutOff   = errors.New("the stream ended before the answer, and cannot be resumed")
)

// postAccept contains the common header fields of a POST (2025-11-25 §basic/transports, "Sending
// Messages to the Server" 2).
var postAccept = http.Header{"Accept": {jsonType + ", " + streamType}, "Content-Type": {jsonType}}

// drop releases the message, after which it is not sent again.
func (o *outgoing) drop() {
	o.client.queued(-o.bytes)
	if o.bytes, o.body = 0, nil; !o.answered {
		o.message = jsonrpc.Message{}
	}
}

// parts returns the body.
func (o *outgoing) parts() net.Buffers {
	if o.body == nil {
		o.body, o.message = o.message.Parts(transport.Large), jsonrpc.Message{}
	}
	return o.body
}

// pass waits until the message may be sent.
func (o *outgoing) pass(ctx context.Context) error {
	for _, gate := range []<-chan struct{}{o.gate, o.after} {
		select {
		case <-gate:
			continue
		default: // not open, for example before the handshake
		}
		if gate == nil {
			continue
		}
		select {
		case <-gate:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// carry carries a request in its own goroutine.
func (o *outgoing) carry() {
	defer o.drop()
	if o.ask(o.client.deliverAlways, false) {
		return
	}
	o.call(&o.inFlight)
	o.client.settle(o.id, &o.inFlight)
}

// call carries a request to its only outcome, which Recv returns unless ctx ends before.
func (o *outgoing) call(ctx context.Context) {
	if o.pass(ctx) != nil {
		return
	}
	c := o.client
	session := c.current()
	if o.inFlight.sent.w != nil {
		session = o.inFlight.sent.session
	}
	if o.method == initialize { // initialize asks for a new session; a refusal may have carried an id
		session = ""
	}
	resp, wrote, err := c.do(ctx, http.MethodPost, session, o.parts(), o.header())
	if err != nil {
		o.fail(ctx, err, wrote)
		return
	}
	defer resp.Body.Close()
	select {
	case c.answers <- struct{}{}:
	default:
	}
	if o.method != initialize {
		c.replaceSession(resp.Header, session)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		o.refused(ctx, resp, session)
		return
	}
	if o.method != initialize { // initialize may be sent again to another address
		o.drop()
	}
	if c.inbox.Load() != nil { // the answer arrives on the stream
		discard(resp)
		return
	}
	if o.method == initialize {
		if err := c.adopt(resp.Header); err != nil {
			o.fail(ctx, err, true)
			return
		}
	}
	switch kind := media(resp.Header); {
	case kind == streamType:
		(&flow{client: c, call: o}).follow(ctx, resp)
	case kind == jsonType:
		room := transport.NewReservation(c.budget)
		defer room.Free()
		body, err := readAnswer(ctx, resp, c.limits.Bytes, &room)
		if err == nil {
			err = o.take(body)
		}
		if err != nil {
			markUnusable(resp)
			o.fail(ctx, err, true)
		}
	case resp.StatusCode == http.StatusAccepted && o.method != initialize:
		// It may be a late response to a notification, and the next one the response to this request.
		markUnusable(resp)
		o.awaitStandalone(ctx)
	case resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent ||
		resp.ContentLength == 0:
		markUnusable(resp)
		o.fail(ctx, errNoAnswer, true)
	default:
		markUnusable(resp)
		o.fail(ctx, unreadable(kind), true)
	}
}

// refused handles an unsuccessful status. A JSON-RPC error for this request still counts as its
// answer.
func (o *outgoing) refused(ctx context.Context, resp *http.Response, session string) {
	c := o.client
	body := errorBody(resp)
	m, failure := c.failure(resp, body)
	answer := failure && m.ID == o.id
	if failure && !answer && !m.ID.IsZero() {
		markUnusable(resp)
	}
	// With this code the server says that the method is unknown, not the session.
	unknown := failure && m.Error.Code == jsonrpc.CodeMethodNotFound
	strange := !unknown && !(answer && resp.StatusCode == http.StatusBadRequest)
	if strange && o.stale < MaxStale && c.replaced(ctx, resp.StatusCode, session) {
		o.stale++
		o.call(ctx)
		return
	}
	switch {
	case strange && session != "" && c.sessionLost(ctx, resp.StatusCode, body, c.current()):
		c.lose()
		o.fail(ctx, ErrSessionLost, false)
	case answer || failure && m.ID.IsZero() && protocol.SpecCode(m.Error.Code):
		m.ID = o.id
		c.deliver(transport.Inbound{Message: m, RequestID: o.id})
	default:
		status := c.newStatusError(resp, body)
		cause := error(status)
		if o.method == initialize {
			cause = c.sseFallback(ctx, status)
		}
		if cause == nil {
			o.call(ctx)
			return
		}
		o.fail(ctx, cause, status.executed())
	}
}

// take processes a JSON body. It returns an error if the body does not contain the answer.
func (o *outgoing) take(body []byte) error {
	alone := true
	answered, err := o.client.each(body, true, func(m jsonrpc.Message) bool {
		prompt := alone && m.ID == o.id && o.client.prompt(transport.Inbound{Message: m, RequestID: o.id})
		alone = false
		return prompt || o.deliver(m)
	})
	switch {
	case answered:
		return nil
	case err != nil:
		return fmt.Errorf("the answer: %w", err)
	}
	return errNoAnswer
}

// each delivers the message in data, or the messages of an array, and reports whether one was the
// answer. body says that data is a response body and not an event. Arrays belong to 2025-03-26, but
// in a response body the TypeScript SDK accepts them in every revision.
func (c *Client) each(data []byte, body bool,
	deliver func(jsonrpc.Message) (answers bool)) (answered bool, err error) {
	if body || c.has(protocol.Batching) {
		messages, _, err := jsonrpc.DecodeBatchLenient(data, c.limits)
		for _, m := range messages {
			answered = deliver(m) || answered
		}
		return answered, err
	}
	m, err := jsonrpc.DecodeLenient(data, c.limits)
	return err == nil && deliver(m), err
}

// deliver delivers a message to Recv and reports whether it answers this request. An error without
// id is taken for its answer, since it can refer to no other request.
func (o *outgoing) deliver(m jsonrpc.Message) bool {
	if m.Kind() == jsonrpc.KindFailure && m.ID.IsZero() {
		m.ID = o.id
	}
	answers := m.Method == "" && m.ID == o.id
	o.client.deliver(transport.Inbound{Message: m, RequestID: o.id})
	return answers
}

// fail reports to Recv that the request has failed, unless its context has ended.
func (o *outgoing) fail(ctx context.Context, err error, written bool) {
	if ctx.Err() == nil {
		o.client.deliver(transport.Inbound{RequestID: o.id, Err: err, Written: written})
	}
}
