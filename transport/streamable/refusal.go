package streamable

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// refusal is a reason for which the handler itself refuses a request.
type refusal uint8

const (
	accepted refusal = iota
	tooManyHeaders
	urlTooLong
	badHost
	badOrigin
	badQuery
	repeatedHeader
	badMethod
	badMediaType
	badEncoding
	badAccept
	bodyTooLarge
	bodyTooSlow
	bodyBroken
	noRoom
	bodyOnGET
	badVersion
	otherVersion
	badBatch
	noSessionID
	sessionGone
	initializedTwice
	resumeByPOST
	badEventID
	manyGETs
	noTicket
	wrongEra
	draining

	refusalCount = int(iota)
)

// refusals defines the answer for each refusal. Its codes never come from the range that 2026-07-28
// reserves for the specification (-32020 and down): a client of both eras takes any other code as a
// sign that it should begin with initialize.
var refusals = [refusalCount]struct {
	word   string // data.reason, and the label in metrics
	status int
	code   int64
}{
	tooManyHeaders: {"too_many_headers", http.StatusRequestHeaderFieldsTooLarge,
		jsonrpc.CodeInvalidRequest},
	urlTooLong:     {"url_too_long", http.StatusRequestURITooLong, jsonrpc.CodeInvalidRequest},
	badHost:        {"host", http.StatusForbidden, jsonrpc.CodeInvalidRequest},
	badOrigin:      {"origin", http.StatusForbidden, jsonrpc.CodeInvalidRequest},
	badQuery:       {"query", http.StatusBadRequest, jsonrpc.CodeInvalidRequest},
	repeatedHeader: {"repeated_header", http.StatusBadRequest, jsonrpc.CodeInvalidRequest},
	badMethod:      {"http_method", http.StatusMethodNotAllowed, jsonrpc.CodeInvalidRequest},
	badMediaType:   {"media_type", http.StatusUnsupportedMediaType, jsonrpc.CodeInvalidRequest},
	badEncoding: {"content_encoding", http.StatusUnsupportedMediaType,
		jsonrpc.CodeInvalidRequest},
	badAccept:    {"accept", http.StatusNotAcceptable, jsonrpc.CodeInvalidRequest},
	bodyTooLarge: {"too_large", http.StatusRequestEntityTooLarge, protocol.CodeTooLarge},
	bodyTooSlow:  {"body_too_slow", http.StatusRequestTimeout, jsonrpc.CodeInvalidRequest},
	bodyBroken:   {"body_broken", http.StatusBadRequest, jsonrpc.CodeInvalidRequest},
	noRoom: {protocol.ConditionOverloaded.String(), http.StatusServiceUnavailable,
		protocol.CodeRateLimited},
	bodyOnGET:        {"body_on_get", http.StatusBadRequest, jsonrpc.CodeInvalidRequest},
	badVersion:       {"unknown_version", http.StatusBadRequest, jsonrpc.CodeInvalidRequest},
	otherVersion:     {"other_version", http.StatusBadRequest, jsonrpc.CodeInvalidRequest},
	badBatch:         {"batch", http.StatusBadRequest, jsonrpc.CodeInvalidRequest},
	noSessionID:      {"session_required", http.StatusBadRequest, jsonrpc.CodeInvalidRequest},
	sessionGone:      {"session_gone", http.StatusNotFound, jsonrpc.CodeInvalidParams},
	initializedTwice: {"already_initialized", http.StatusBadRequest, jsonrpc.CodeInvalidRequest},
	resumeByPOST:     {"resume_by_post", http.StatusBadRequest, jsonrpc.CodeInvalidRequest},
	// 400 and not 404: to a client with a session id, 404 means that the session is over. A lost event
	// must not end the session.
	badEventID: {"event_id", http.StatusBadRequest, jsonrpc.CodeInvalidRequest},
	manyGETs:   {"too_many_streams", http.StatusTooManyRequests, protocol.CodeRateLimited},
	noTicket:   {"ticket_required", http.StatusBadRequest, jsonrpc.CodeInvalidRequest},
	wrongEra:   {"wrong_era", http.StatusBadRequest, jsonrpc.CodeInvalidRequest},
	draining:   {"draining", http.StatusServiceUnavailable, protocol.CodeRateLimited},
}

// retryAfter is the default delay that a client is told to wait.
const retryAfter = time.Second

// refuse answers with a row of the table. id is that of the request, if it is known.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, ep Endpoint, f refusal,
	id jsonrpc.ID, detail string) {
	row := refusals[f]
	if f == badMethod && w.Header().Get("Allow") == "" {
		w.Header().Set("Allow", allowedMethods[Streamable])
	}
	if f == sessionGone {
		detail = "session not found" // the same text for every cause
	}
	wait, data := time.Duration(0), `{"reason":"`+row.word+`"`
	if row.code == protocol.CodeRateLimited {
		wait = retryAfter
		data += `,"retryAfterMs":` + strconv.FormatInt(wait.Milliseconds(), 10)
	}
	h.fail(w, r, ep, row.status, wait, row.word, jsonrpc.Failure(id, &jsonrpc.Error{
		Code: row.code, Message: detail, Data: jsontext.Value(data + "}"),
	}))
}

// refuseError answers with an error of a Host, a Session or a decoder. v is the revision of the
// session, or 0 if there is none.
func (h *Handler) refuseError(w http.ResponseWriter, r *http.Request, ep Endpoint, err error,
	v protocol.Version, id jsonrpc.ID) {
	if errors.Is(err, ErrNoSession) {
		h.refuse(w, r, ep, sessionGone, id, "")
		return
	}
	status := protocol.HTTPStatus(err, v, v != 0)
	if status == http.StatusOK && id.IsZero() {
		// Without a request id, JSON-RPC cannot carry the error in a 200.
		status = http.StatusInternalServerError
	}
	var wait time.Duration
	var expected *protocol.Error
	if errors.As(err, &expected) {
		wait = expected.RetryAfter
	}
	if wait == 0 && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
		wait = retryAfter
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	h.fail(w, r, ep, status, wait, protocol.ConditionOf(err).String(),
		jsonrpc.Failure(id, protocol.Translate(err, v)))
}

// fail writes a refusal and counts it for the tenant, if it is known.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, ep Endpoint, status int,
	wait time.Duration, reason string, m jsonrpc.Message) {
	h.options.Refused(r, ep.Tenant, reason, status)
	if wait > 0 {
		SetRetryAfter(w, wait)
	}
	h.writeJSON(w, status, m.Append(make([]byte, 0, m.Size())))
}

// SetRetryAfter sets the Retry-After header, in whole seconds and at least one.
func SetRetryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", wholeSeconds(wait))
}

// wholeSeconds formats a duration for Retry-After.
func wholeSeconds(wait time.Duration) string {
	return strconv.Itoa(max(1, int((wait+time.Second-1)/time.Second)))
}
