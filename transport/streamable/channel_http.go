package streamable

import (
	"context"
	"errors"
	"net/http"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// channel opens the stream of HTTP+SSE, which begins by saying where to post (2024-11-05 §basic/transports). It lasts as long as its session.
func (h *Handler) channel(w http.ResponseWriter, r *http.Request, ep Endpoint) {
	if !h.streams(w, r, ep) {
		return
	}
	c, ticket := h.channels.add(h, ep)
	if c == nil {
		h.refuse(w, r, ep, manyGETs, jsonrpc.ID{}, "too many open streams without initialize")
		return
	}
	defer c.end(r.Context())
	defer h.channels.remove(ticket)
	out := makeOutlet()
	if err := c.streams.listen(&out); err != nil {
		h.refuseGET(w, r, ep, err, 0)
		return
	}
	c.waits(connectionOf(r), &out)
	e := emitter{
		handler: h, response: w, control: deadline(w), streams: c.streams, outlet: &out, client: c, tenant: ep.Tenant, drain: h.drain,
		first: appendEvent(nil, Event{Name: "endpoint", Data: []byte(r.URL.EscapedPath() + "/message?ticket=" + ticket)}),
	}
	e.run(r.Context())
}

// waits has the stream make room for others while no request is in flight.
func (c *channel) waits(conn *connection, o *outlet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest.begin(conn, o)
}

// message takes what a client of HTTP+SSE posts. The answer to a request comes on the stream, whatever it is.
func (h *Handler) message(w http.ResponseWriter, r *http.Request, ep Endpoint) {
	c, f, detail := h.holder(r, ep)
	body, ok := h.body(w, r, ep, f, detail)
	if !ok {
		return
	}
	c.Touch()
	v := c.version()
	messages, refused, err := h.decode(body, v)
	if err != nil {
		h.refuseError(w, r, ep, err, v, refusedID(err))
		return
	}
	for _, m := range refused {
		c.say(m)
	}
	ctx := context.WithoutCancel(r.Context())
	for _, m := range messages {
		if e := c.take(ctx, m); e != nil && err == nil {
			err = e
		}
	}
	if err != nil {
		h.refuseError(w, r, ep, err, v, jsonrpc.ID{})
		return
	}
	h.writeEmpty(w, http.StatusAccepted)
}

// holder finds the channel that a POST is for. One of somebody else is none.
func (h *Handler) holder(r *http.Request, ep Endpoint) (*channel, refusal, string) {
	ticket := r.URL.Query().Get("ticket")
	if ticket == "" {
		return nil, noTicket, "post to the address that the stream began with"
	}
	c := h.channels.find(ep, ticket)
	if c == nil {
		return nil, sessionGone, ""
	}
	v, f, detail := checkVersion(r, h.options.Host.Policy(ep))
	switch agreed := c.version(); {
	case f != accepted:
	case v.Era() == protocol.Modern:
		f, detail = wrongEra, "revision "+v.String()+" is not spoken over HTTP+SSE"
	case v != 0 && agreed != 0 && v != agreed:
		f, detail = otherVersion, "header says revision "+v.String()+", the session "+agreed.String()
	}
	return c, f, detail
}

// decode reads a message, or an array of them where the revision has arrays: then also the answers to those of them that could not be read.
func (h *Handler) decode(body []byte, v protocol.Version) (messages, refused []jsonrpc.Message, err error) {
	if !isArray(body) {
		m, err := jsonrpc.Decode(body, h.options.Admission().bounds.Message)
		return []jsonrpc.Message{m}, nil, err
	}
	if !v.Has(protocol.Batching) {
		return nil, nil, protocol.InvalidRequest("arrays of messages are of 2025-03-26 only")
	}
	messages, _, err = jsonrpc.DecodeBatch(body, h.options.Admission().bounds.Message)
	var partly *jsonrpc.BatchError
	if errors.As(err, &partly) {
		return messages, refusedMembers(partly, v), nil
	}
	return messages, nil, err
}
