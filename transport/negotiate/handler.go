package negotiate

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/negotiation"
	"mcpd/transport/streamable"
)

// SessionHeader names the session, in the response to a negotiation and in the requests after it
// (S3-29).
const SessionHeader = "X-MCP-Session-ID"

// Handler serves the negotiation API, on any path: the Host interprets the path.
type Handler struct {
	host  Host
	guard *streamable.Handler
	next  atomic.Uint64 // the last id of the JSON-RPC requests made
}

// NewHandler makes a Handler. It shares the listener of guard, and so guard's checks, bounds and
// drain.
func NewHandler(host Host, guard *streamable.Handler) *Handler {
	return &Handler{host: host, guard: guard}
}

// request is one request on its way through the handler.
type request struct {
	*Handler
	w       http.ResponseWriter
	r       *http.Request
	target  Target
	rules   negotiation.Rules
	session Session
	client  *negotiation.Client
}

// ServeHTTP implements http.Handler. It makes the checks of the MCP endpoint in the same order,
// then checks the session, then the rules.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refused, answered := h.guard.Admit(w, r)
	switch {
	case answered:
		return
	case refused != nil:
		streamable.AnswerUnread(w, r, func() { h.refuse(w, r, streamable.Endpoint{}, refused) })
		return
	}
	target, err := h.host.Target(r)
	if err != nil {
		streamable.AnswerUnread(w, r, func() { h.fail(w, r, streamable.Endpoint{}, err) })
		return
	}
	q := &request{Handler: h, w: w, r: r, target: target, rules: h.host.Rules(target.Endpoint)}
	q.serve()
}

// serve dispatches the request by its path and method.
func (q *request) serve() {
	do := negotiationVerbs
	if !q.target.Negotiate {
		do = placeVerbs[q.target.Place]
	}
	serve, ok := do[q.r.Method]
	switch {
	case !ok:
		q.w.Header().Set("Allow", strings.Join(slices.Sorted(maps.Keys(do)), ", "))
		q.refuse(q.w, q.r, q.target.Endpoint, &streamable.Refused{
			Reason: "http_method", Detail: "method " + q.r.Method + " is not allowed here",
			Status: http.StatusMethodNotAllowed,
		})
	case q.target.Negotiate || q.enter():
		serve(q)
	}
}

// verbs maps the methods that a path takes to their handlers.
type verbs map[string]func(*request)

var (
	negotiationVerbs = verbs{http.MethodPost: (*request).negotiate, http.MethodDelete: (*request).end}
	placeVerbs       = []verbs{
		negotiation.Tool:         {http.MethodPost: (*request).call},
		negotiation.Resource:     {http.MethodGet: (*request).read},
		negotiation.Subscription: {http.MethodGet: (*request).subscribe},
	}
)

// The texts that S3-32, S3-33, S3-35 and S3-36 prescribe.
const (
	missingSession = "Missing session ID. Please negotiate capabilities first."
	invalidSession = "Invalid session ID. Please negotiate capabilities again."
	lacks          = "Client does not support required capability: "
)

// enter finds the session of a request and checks the rules, or refuses the request (S3-31 to
// S3-36, S3-44 to S3-46).
func (q *request) enter() bool {
	var client *negotiation.Client
	id, given := streamable.SessionID(q.r)
	if given {
		if !q.find(id) {
			return false
		}
		client = q.client
	}
	need, ok := q.rules.Allows(q.target.Place, client)
	switch {
	case ok:
	case client == nil && need == (negotiation.Need{}):
		q.unknown(q.w, q.r, q.target.Endpoint, missingSession)
		return false
	default:
		q.refuse(q.w, q.r, q.target.Endpoint, &streamable.Refused{
			Reason: "capability_required", Detail: lacks + need.String(), Status: http.StatusForbidden,
		})
		return false
	}
	if given {
		return true
	}
	var err error
	if q.session, err = q.host.Anonymous(q.context(), q.target.Endpoint); err != nil {
		q.fail(q.w, q.r, q.target.Endpoint, err)
		return false
	}
	q.client = negotiation.Anonymous()
	return true
}

// find finds the session that the client names, and notes its activity (S3-34).
func (q *request) find(id string) bool {
	session, err := q.host.Lookup(q.context(), q.target.Endpoint, id)
	switch {
	case errors.Is(err, streamable.ErrNoSession):
		q.unknown(q.w, q.r, q.target.Endpoint, invalidSession)
		return false
	case err != nil:
		q.fail(q.w, q.r, q.target.Endpoint, err)
		return false
	}
	session.Touch()
	q.session, q.client = session, session.Negotiated()
	return true
}

// context outlives the HTTP request: the client's declaration decides whether its leaving cancels
// the request.
func (q *request) context() context.Context { return context.WithoutCancel(q.r.Context()) }

// unknown refuses a request whose session is missing or invalid.
func (h *Handler) unknown(w http.ResponseWriter, r *http.Request, ep streamable.Endpoint,
	text string) {
	w.Header().Set("WWW-Authenticate", SessionHeader)
	h.refuse(w, r, ep, &streamable.Refused{
		Reason: "session_required", Detail: text, Status: http.StatusUnauthorized,
	})
}

// ask hands a request to the session. Its outcome goes to e.
func (q *request) ask(method string, e *exchange) error {
	e.from = q.r.RemoteAddr
	params := protocol.Meta{
		Version: q.session.Version().String(), Capabilities: q.client.Capabilities(), Info: q.client.Info,
		LogLevel: e.level,
	}.Set(e.params)
	id := jsonrpc.IntID(q.next.Add(1))
	if e.progress {
		params = protocol.SetProgressToken(params, []byte(id.Raw()))
	}
	text := jsonrpc.Request(id, method, params).Append(nil)
	m, err := jsonrpc.Decode(text, jsonrpc.Limits{Bytes: len(text)}) // no other limit applies
	if err != nil {
		return err
	}
	return q.session.Call(q.context(), m, nil, e)
}
