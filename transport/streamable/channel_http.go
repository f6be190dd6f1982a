package streamable

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// channel opens the stream of HTTP+SSE, which begins with the address for POSTs (2024-11-05
// §basic/transports). A client that reconnects with the id of its last event continues its
// session.
func (h *Handler) channel(w http.ResponseWriter, r *http.Request, ep Endpoint) {
	if !h.streams(w, r, ep) {
		return
	}
	e := responseWriter{
		handler: h, response: w, control: deadline(w), tenant: ep.Tenant, drain: h.drain,
	}
	c, after, resumed := h.joined(r, ep)
	if c == nil && !resumed && h.reconnectsUnnamed(r, ep) {
		var there bool
		if c, there = h.identify(r.Context(), &e, ep); !there {
			return
		}
	}
	known := resumed || c != nil
	if c == nil && !resumed {
		if refused := h.options.Closing(); refused != nil {
			if !e.opened {
				h.refuseError(w, r, ep, refused, 0, jsonrpc.ID{})
			}
			return
		}
		c = h.channels.add(h, ep, reconnectsUnnamed(r))
	}
	switch {
	case c != nil:
	case e.opened:
		return
	case resumed:
		h.refuse(w, r, ep, sessionGone, jsonrpc.ID{}, "")
		return
	default:
		h.refuse(w, r, ep, manyGETs, jsonrpc.ID{}, "too many open streams without initialize")
		return
	}
	out := makeStreamResponse()
	out.unsureOfLast = known && !resumed
	if err := c.attach(h.waiter(r, ep), &out, after, resumed); err != nil {
		// Events that the client missed are gone: it has to start a new session.
		c.close(r.Context())
		if !e.opened {
			h.refuse(w, r, ep, sessionGone, jsonrpc.ID{}, "")
		}
		return
	}
	defer c.detach(r.Context(), &out)
	e.streams, e.streamed, e.client = c.streams, &out, c
	e.first = appendEvent(nil, Event{
		ID: string(out.appendID(nil, out.next-1, ordinary)), Type: "endpoint",
		Data: []byte(reference(r, c.ticket)), Retry: h.options.Retry,
	})
	e.run(r.Context())
}

// joined finds the channel that a GET with Last-Event-ID continues, and the event after which it
// continues. It does not find a channel of another endpoint or principal.
func (h *Handler) joined(r *http.Request, ep Endpoint) (c *sseChannel, after uint64, resumed bool) {
	last := r.Header.Get("Last-Event-Id")
	if last == "" {
		return nil, 0, false
	}
	ticket, after, ok := parsePlace(last)
	if !ok {
		return nil, 0, true
	}
	return h.channels.find(r.Context(), h, ep, ticket), after, true
}

// baseClients lists prefixes of the User-Agent of clients that resolve the reference against a base
// URL of their own instead of the URL of the stream: the MCP SDKs for Java, with either HTTP
// client.
var baseClients = []string{"Java-http-client/", "ReactorNetty/"}

// reference returns the address for the client's POSTs, relative to the URL of the stream. It has
// no path, so that it works behind any proxy that strips or adds path segments. Clients that cannot
// resolve such a reference receive the path that this host sees.
func reference(r *http.Request, ticket string) string {
	query := "?ticket=" + ticket
	for _, name := range baseClients {
		if strings.HasPrefix(r.UserAgent(), name) {
			return strings.TrimSuffix(r.URL.EscapedPath(), "/") + "/message" + query
		}
	}
	return query
}

// message handles a POST of an HTTP+SSE client. The answer to a request always comes on the stream.
func (h *Handler) message(w http.ResponseWriter, r *http.Request, ep Endpoint) {
	c, f, detail := h.holder(r, ep)
	if f == accepted {
		f, detail = checkContent(r)
	}
	body, reservation, ok := h.body(w, r, ep, f, detail)
	defer reservation.free()
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
		c.sendAnswer(m)
	}
	reservation.free()
	ctx := context.Background()
	for _, m := range messages {
		if h.reconnects.answered(c, m) {
			continue
		}
		if e := c.take(ctx, r.RemoteAddr, m); e != nil && err == nil {
			err = e
		}
	}
	if err != nil {
		h.refuseError(w, r, ep, err, v, jsonrpc.ID{})
		return
	}
	h.writeEmpty(w, http.StatusAccepted)
}

// holder finds the channel that a POST is for. It does not find a channel of another endpoint or
// principal.
func (h *Handler) holder(r *http.Request, ep Endpoint) (*sseChannel, refusal, string) {
	ticket := r.URL.Query().Get("ticket")
	if ticket == "" {
		return nil, noTicket, "post to the address that the stream began with"
	}
	c := h.channels.find(r.Context(), h, ep, ticket)
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

// decode reads a message, or an array of messages where the revision has arrays. For an array it
// also returns the error answers to its unreadable members.
func (h *Handler) decode(body []byte, v protocol.Version) (messages, refused []jsonrpc.Message,
	err error) {
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
