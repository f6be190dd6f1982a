package streamable

import (
	"context"
	"net/http"

	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
)

// subscribing is the method of the request whose stream replaces the standalone stream.
const subscribing = "subscriptions/listen"

// isModern reports whether a message belongs to a revision without sessions. The message states
// that in _meta, or by its version header if it names no session. For initialize the header alone
// does not suffice (2026-07-28 §basic/versioning).
func isModern(r *http.Request, m jsonrpc.Message) bool {
	if protocol.IsModern(m.Elided()) {
		return true
	}
	header := r.Header.Get("Mcp-Protocol-Version")
	if _, session := sessionID(r); session || header == "" || m.Method == initialize {
		return false
	}
	v, known := protocol.ParseVersion(header)
	return !known || v.Era() == protocol.Modern
}

// modern serves a stateless message (2026-07-28 §basic/transports/streamable-http). It ignores a
// session id or an event id sent with the message.
func (h *Handler) modern(w http.ResponseWriter, r *http.Request, ep Endpoint, m jsonrpc.Message,
	reservation *bodyReservation) {
	id := requestID(m)
	if m.Method == "" {
		h.refuseError(
			w, r, ep,
			protocol.InvalidRequest(
				"servers of this revision send no requests, so there is nothing to answer",
			),
			protocol.Latest, id,
		)
		return
	}
	class, err := h.options.Host.Policy(ep).Classify(protocol.Incoming{
		Method: m.Method, Params: m.Elided(), Notification: m.Kind() == jsonrpc.KindNotification,
		HTTP: true, Header: r.Header.Get("Mcp-Protocol-Version"),
	})
	switch {
	case err != nil:
		h.refuseError(w, r, ep, err, class.Version, id)
		return
	// Its content is implied by the client's requests and their ends.
	case m.Kind() == jsonrpc.KindNotification:
		h.writeEmpty(w, http.StatusAccepted)
		return
	}
	fields := headers.Lookup(r.Header.Values)
	if err = protocol.CheckMeta(m.Elided()); err == nil {
		err = headers.Request{Method: m.Method, Params: m.Params}.Check(fields)
	}
	if err != nil {
		h.refuseError(w, r, ep, err, class.Version, id)
		return
	}
	ctx := context.Background() // a disconnect cancels through Cancel: see below
	peer, err := h.options.Host.Peer(ctx, ep, class)
	if err != nil {
		h.refuseError(w, r, ep, err, class.Version, id)
		return
	}
	reply := replyOver(lineOf(r), h.options.Store.plain(ep.Tenant), 1, false)
	defer reply.leave()
	reply.from, reply.budget = r.RemoteAddr, h.options.Room(ep)
	reply.version, reply.listens = class.Version, m.Method == subscribing
	reservation.free()
	if err := peer.Call(ctx, m, fields, reply); err != nil {
		h.refuseError(w, r, ep, err, class.Version, id)
		return
	}
	defer func() {
		if !reply.ended() { // a disconnect cancels (2026-07-28 §basic/patterns/cancellation)
			peer.Cancel(reply)
		}
	}()
	h.respond(w, r, ep, reply, peer)
}
