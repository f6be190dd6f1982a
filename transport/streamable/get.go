package streamable

import (
	"context"
	"errors"
	"net/http"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// get opens the standalone stream or, with Last-Event-ID, resumes any stream of the session.
func (h *Handler) get(w http.ResponseWriter, r *http.Request, ep Endpoint) {
	if !h.streams(w, r, ep) {
		return
	}
	session, ok := h.session(w, r, ep, jsonrpc.ID{})
	if !ok {
		return
	}
	streams, out := session.Streams(), makeStreamResponse()
	if err := streams.connect(&out, r.Header.Get("Last-Event-Id"), session.Version()); err != nil {
		h.refuseGET(w, r, ep, err, session.Version())
		return
	}
	defer streams.detach(&out)
	if out.kind == answeredStream {
		// TypeScript clients (1.x) reconnect after an error answer, because they count only results as
		// the end. An empty stream would make them reconnect again and again; 405 tells them that there
		// is no stream.
		w.Header().Set("Allow", "POST, DELETE")
		h.refuse(w, r, ep, badMethod, jsonrpc.ID{},
			"the stream has ended: its answer was sent already")
		return
	}
	e := responseWriter{
		handler: h, response: w, control: deadline(w), streams: streams, streamed: &out, client: session,
		tenant: ep.Tenant, drain: h.drain,
		age: h.options.StreamAge,
	}
	if out.kind == standaloneStream { // the rest of an answer does not count as idle
		e.waits = h.waiter(r, ep)
	}
	if session.Version().Has(protocol.PrimedStreams) {
		e.prime()
	}
	e.run(r.Context())
}

// streams reports whether a GET may be answered with a stream, and refuses it otherwise.
func (h *Handler) streams(w http.ResponseWriter, r *http.Request, ep Endpoint) bool {
	f, detail := checkAccept(r, streamType)
	switch {
	case f != accepted:
	case r.ContentLength != 0:
		f, detail = bodyOnGET, "GET takes no body"
	case h.draining():
		f, detail = draining, "the server is going down"
	}
	if f != accepted {
		h.refuse(w, r, ep, f, jsonrpc.ID{}, detail)
	}
	return f == accepted
}

func (h *Handler) refuseGET(w http.ResponseWriter, r *http.Request, ep Endpoint, err error,
	v protocol.Version) {
	switch {
	case errors.Is(err, errManyGETs):
		h.refuse(w, r, ep, manyGETs, jsonrpc.ID{}, err.Error())
	case errors.Is(err, errEventID), errors.Is(err, errUnreplayable):
		h.refuse(w, r, ep, badEventID, jsonrpc.ID{}, "cannot resume: "+err.Error())
	default:
		h.refuseError(w, r, ep, err, v, jsonrpc.ID{})
	}
}

func (h *Handler) draining() bool {
	select {
	case <-h.drain:
		return true
	default:
		return false
	}
}

// delete ends a session (2025-11-25 §basic/transports, "Session Management" 5).
func (h *Handler) delete(w http.ResponseWriter, r *http.Request, ep Endpoint) {
	session, ok := h.session(w, r, ep, jsonrpc.ID{})
	if !ok {
		return
	}
	if err := session.Close(context.WithoutCancel(r.Context())); err != nil {
		h.refuseError(w, r, ep, err, session.Version(), jsonrpc.ID{})
		return
	}
	h.writeEmpty(w, http.StatusNoContent)
}
