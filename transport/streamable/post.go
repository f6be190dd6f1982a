package streamable

import (
	"context"
	"errors"
	"net/http"

	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

const initialize = "initialize"

// post handles a POST of one message, or of an array of messages where the revision has arrays.
func (h *Handler) post(w http.ResponseWriter, r *http.Request, ep Endpoint) {
	f, detail := checkPost(r)
	h.postChecked(w, r, ep, f, detail)
}

// postKnown is like post for a request whose head matches that of an accepted one.
func (h *Handler) postKnown(w http.ResponseWriter, r *http.Request, ep Endpoint) {
	h.postChecked(w, r, ep, accepted, "")
}

// checkPost checks the headers of a POST that describe it and its body.
func checkPost(r *http.Request) (refusal, string) {
	if f, detail := checkAccept(r, jsonType, streamType); f != accepted {
		return f, detail
	}
	if len(r.Header["Last-Event-Id"]) > 0 {
		return resumeByPOST, "resume a stream with GET"
	}
	return checkContent(r)
}

func (h *Handler) postChecked(w http.ResponseWriter, r *http.Request, ep Endpoint, f refusal,
	detail string) {
	body, reservation, ok := h.body(w, r, ep, f, detail)
	defer reservation.free()
	if !ok {
		return
	}
	if isArray(body) {
		h.postBatch(w, r, ep, body, reservation)
		return
	}
	m, err := jsonrpc.Decode(body, h.options.Admission().bounds.Message)
	if err != nil {
		h.refuseError(w, r, ep, err, 0, refusedID(err))
		return
	}
	h.postOne(w, r, ep, m, reservation)
}

// body reads the body of a POST, unless f already refuses it. The function that hands over the
// messages of the body frees room.
func (h *Handler) body(w http.ResponseWriter, r *http.Request, ep Endpoint, f refusal,
	detail string) (body []byte, reservation *bodyReservation, ok bool) {
	if f == accepted {
		body, reservation, f, detail = h.readBody(w, r, ep)
	}
	if f != accepted {
		h.refuse(w, r, ep, f, jsonrpc.ID{}, detail)
	}
	return body, reservation, f == accepted
}

// isArray reports whether the first token of body starts an array.
func isArray(body []byte) bool {
	for _, c := range body {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c == '['
	}
	return false
}

// refusedID returns the id for the error answer to a rejected message. Responses are never
// answered, so it returns no id for them.
func refusedID(err error) jsonrpc.ID {
	var refused *jsonrpc.DecodeError
	if errors.As(err, &refused) && !refused.Response {
		return refused.ID
	}
	return jsonrpc.ID{}
}

func (h *Handler) postOne(w http.ResponseWriter, r *http.Request, ep Endpoint, m jsonrpc.Message,
	reservation *bodyReservation) {
	id := requestID(m)
	if isModern(r, m) {
		h.modern(w, r, ep, m, reservation)
		return
	}
	if err := mirrored(r, m); err != nil {
		h.refuseError(w, r, ep, err, protocol.LatestLegacy, id)
		return
	}
	if m.Method == initialize && !id.IsZero() {
		h.open(w, r, ep, m, reservation)
		return
	}
	session, ok := h.session(w, r, ep, id)
	if !ok {
		return
	}
	reservation.free()
	ctx := context.Background() // a disconnect does not cancel (2025-11-25 §basic/transports)
	if id.IsZero() {
		if err := session.Deliver(ctx, m, nil); err != nil {
			h.refuseError(w, r, ep, err, session.Version(), id)
			return
		}
		h.writeEmpty(w, http.StatusAccepted)
		return
	}
	primed := session.Version().Has(protocol.PrimedStreams)
	reply := replyOver(lineOf(r), session.Streams(), 1, primed)
	defer reply.leave()
	reply.from = r.RemoteAddr
	reply.requestID, reply.budget = id, h.room(session.Streams(), ep)
	if err := session.Deliver(ctx, m, reply); err != nil {
		h.refuseError(w, r, ep, err, session.Version(), id)
		return
	}
	h.respond(w, r, ep, reply, session)
}

// room returns the byte budget for answers of a session, which is looked up once.
func (h *Handler) room(s *Streams, ep Endpoint) *transport.ByteBudget {
	budget := s.answers.Load()
	if budget == nil {
		budget = h.options.Room(ep)
		s.answers.Store(budget)
	}
	return budget
}

// mirrored checks the header fields that repeat parts of a message. A legacy client need not send
// any.
func mirrored(r *http.Request, m jsonrpc.Message) error {
	if m.Method == "" {
		return nil
	}
	return headers.Request{Method: m.Method, Params: m.Params, Optional: true}.Check(r.Header.Values)
}

// requestID returns the id of a request, and no id for any other message.
func requestID(m jsonrpc.Message) jsonrpc.ID {
	if m.Kind() == jsonrpc.KindRequest {
		return m.ID
	}
	return jsonrpc.ID{}
}

// open handles initialize. A session id in the request has no influence on the id of the new
// session, which the Host chooses. If it names a live session, the client initializes twice: the
// request is refused, and that session is unchanged.
func (h *Handler) open(w http.ResponseWriter, r *http.Request, ep Endpoint, m jsonrpc.Message,
	reservation *bodyReservation) {
	if _, f, detail := checkVersion(r, h.options.Host.Policy(ep)); f != accepted {
		h.refuse(w, r, ep, f, m.ID, detail)
		return
	}
	if id, given := sessionID(r); given && id != "" {
		if _, err := h.options.Host.Lookup(r.Context(), ep, id); err == nil {
			h.refuse(w, r, ep, initializedTwice, m.ID, "this session is initialized already")
			return
		}
	}
	reply := newReply(h.options.Store.plain(ep.Tenant), 1, false)
	defer reply.leave()
	reply.from = r.RemoteAddr
	session, err := h.options.Host.Open(context.Background(), ep, m, reply, nil)
	reservation.free() // it was counted while the session was started
	if err != nil {
		h.refuseError(w, r, ep, err, 0, m.ID)
		return
	}
	h.respond(w, r, ep, reply, opening{session})
}

// opening is a session whose id the current response announces.
type opening struct{ Session }

// session finds the session that a request names, or refuses the request.
func (h *Handler) session(w http.ResponseWriter, r *http.Request, ep Endpoint,
	request jsonrpc.ID) (Session, bool) {
	version, f, detail := checkVersion(r, h.options.Host.Policy(ep))
	id, given := sessionID(r)
	switch {
	case f != accepted:
	case version.Era() == protocol.Modern && r.Method != http.MethodPost:
		f, detail = badMethod, "revision "+version.String()+" has POST only"
	case version.Era() == protocol.Modern:
		f, detail = otherVersion, "a session is not of revision "+version.String()
	case !given:
		f, detail = noSessionID, "header Mcp-Session-Id is required after initialize"
	case id == "":
		f = sessionGone
	}
	if f != accepted {
		h.refuse(w, r, ep, f, request, detail)
		return nil, false
	}
	session, err := h.options.Host.Lookup(r.Context(), ep, id)
	if err == nil && session.Streams().Channel() { // its answers are sent on the stream of HTTP+SSE
		err = ErrNoSession
	}
	if err != nil {
		h.refuseError(w, r, ep, err, 0, request)
		return nil, false
	}
	if agreed := session.Version(); version != 0 && version != agreed {
		h.refuse(w, r, ep, otherVersion, request,
			"header says revision "+version.String()+", the session "+agreed.String())
		return nil, false
	}
	session.Touch()
	return session, true
}

// postBatch handles an array (2025-03-26 §basic/transports). Each message is delivered separately,
// in order.
func (h *Handler) postBatch(w http.ResponseWriter, r *http.Request, ep Endpoint, body []byte,
	reservation *bodyReservation) {
	messages, _, err := jsonrpc.DecodeBatch(body, h.options.Admission().bounds.Message)
	var partly *jsonrpc.BatchError
	if err != nil && !errors.As(err, &partly) {
		h.refuseError(w, r, ep, err, 0, jsonrpc.ID{})
		return
	}
	requests := 0
	for _, m := range messages {
		switch {
		case protocol.IsModern(m.Params):
			h.refuse(w, r, ep, badBatch, jsonrpc.ID{}, "the revision in _meta has no batches")
			return
		case m.Method == initialize:
			h.refuse(w, r, ep, badBatch, jsonrpc.ID{}, "initialize must not be part of a batch")
			return
		case m.Kind() == jsonrpc.KindRequest:
			requests++
		}
	}
	session, ok := h.session(w, r, ep, jsonrpc.ID{})
	if !ok {
		return
	}
	if !session.Version().Has(protocol.Batching) {
		h.refuse(w, r, ep, badBatch, jsonrpc.ID{},
			"revision "+session.Version().String()+" has no batches")
		return
	}
	reservation.free()
	ctx := context.Background()
	answers := refusedMembers(partly, session.Version())
	if requests+len(answers) == 0 {
		h.deliverAll(ctx, w, r, ep, session, messages)
		return
	}
	reply := newReply(session.Streams(), requests+len(answers),
		session.Version().Has(protocol.PrimedStreams))
	defer reply.leave()
	reply.from = r.RemoteAddr
	reply.batch, reply.budget = true, h.room(session.Streams(), ep)
	for _, m := range answers {
		(&batchMember{reply: reply}).Finish(m)
	}
	for _, m := range messages {
		var out transport.Sink
		if m.Kind() == jsonrpc.KindRequest {
			out = &batchMember{reply: reply}
		}
		if err := session.Deliver(ctx, m, out); err != nil && out != nil {
			out.Finish(jsonrpc.Failure(m.ID, protocol.Translate(err, session.Version())))
		}
	}
	h.respond(w, r, ep, reply, session)
}

// refusedMembers returns error answers to the unreadable members of an array. Unreadable responses
// get no answer.
func refusedMembers(err *jsonrpc.BatchError, v protocol.Version) (answers []jsonrpc.Message) {
	if err == nil {
		return nil
	}
	for _, refused := range err.Refused {
		if !refused.Response {
			answers = append(answers, jsonrpc.Failure(refused.ID, protocol.Translate(refused, v)))
		}
	}
	return answers
}

// deliverAll delivers the messages of an array without requests, and answers with 202 or the first
// error.
func (h *Handler) deliverAll(ctx context.Context, w http.ResponseWriter, r *http.Request,
	ep Endpoint, session Session, messages []jsonrpc.Message) {
	var refused error
	for _, m := range messages {
		if err := session.Deliver(ctx, m, nil); err != nil && refused == nil {
			refused = err
		}
	}
	if refused != nil {
		h.refuseError(w, r, ep, refused, session.Version(), jsonrpc.ID{})
		return
	}
	h.writeEmpty(w, http.StatusAccepted)
}
