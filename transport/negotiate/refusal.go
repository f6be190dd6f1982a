package negotiate

import (
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// failure is the body of an error response (S3-32). Code and data are those of the JSON-RPC error,
// if there was one.
type failure struct {
	Error string         `json:"error"`
	Code  int64          `json:"code,omitzero"`
	Data  jsontext.Value `json:"data,omitempty"`
}

func (f failure) body() []byte {
	body, err := json.Marshal(f)
	if err != nil { // the server's data is no JSON
		f.Data = nil
		body, _ = json.Marshal(f)
	}
	return body
}

func failureOf(e *jsonrpc.Error) []byte { return failure{e.Message, e.Code, e.Data}.body() }

// refuse turns a request away with an error of this interface or of the listener's checks.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, ep streamable.Endpoint,
	refused *streamable.Refused) {
	h.guard.Count(r, ep, refused.Reason, refused.Status)
	if refused.Wait > 0 {
		streamable.SetRetryAfter(w, refused.Wait)
	}
	h.guard.WriteJSON(w, refused.Status, failure{Error: refused.Detail}.body())
}

// fail responds with an error that a Host or a Session returned.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, ep streamable.Endpoint, err error) {
	if errors.Is(err, streamable.ErrNoSession) { // it ended during the request
		h.unknown(w, r, ep, invalidSession)
		return
	}
	status := protocol.HTTPStatus(err, protocol.Latest, false)
	var expected *protocol.Error
	if errors.As(err, &expected) && expected.RetryAfter > 0 {
		streamable.SetRetryAfter(w, expected.RetryAfter)
	}
	switch status {
	case http.StatusOK:
		status = http.StatusInternalServerError
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	h.guard.Count(r, ep, protocol.ConditionOf(err).String(), status)
	h.guard.WriteJSON(w, status, failureOf(protocol.Translate(err, protocol.Latest)))
}

// outcomes maps the reason in the data of an error outcome to a status. An error without a reason
// gets a status from its code. A server's own error counts as the server's failure, 500, because
// the server was reached.
var outcomes = map[string]int{
	protocol.ConditionToolNotFound.String():        http.StatusNotFound,
	protocol.ConditionResourceNotFound.String():    http.StatusNotFound,
	protocol.ConditionTimeout.String():             http.StatusGatewayTimeout,
	protocol.ConditionUpstreamLost.String():        http.StatusBadGateway,
	protocol.ConditionUpstreamQuarantined.String(): http.StatusBadGateway,
	protocol.ConditionUpstreamRemoved.String():     http.StatusBadGateway,
	protocol.ConditionUpstreamInvalid.String():     http.StatusBadGateway,
	protocol.ConditionRateLimited.String():         http.StatusTooManyRequests,
	protocol.ConditionOverloaded.String():          http.StatusServiceUnavailable,
	protocol.ConditionUpstreamUnavailable.String(): http.StatusServiceUnavailable,
	protocol.ConditionStopping.String():            http.StatusServiceUnavailable,
}

// failed responds to a request that ended with an error.
func (h *Handler) failed(w http.ResponseWriter, e *jsonrpc.Error) {
	if wait := protocol.RetryAfter(e); wait > 0 && !mayBeExecuted(e) {
		streamable.SetRetryAfter(w, wait)
	}
	h.guard.WriteJSON(w, statusOf(e), failureOf(e))
}

func statusOf(e *jsonrpc.Error) int {
	reason, _ := jsonedit.GetString(e.Data, "reason")
	if status, ok := outcomes[reason]; ok {
		if reason == protocol.ConditionOverloaded.String() && mayBeExecuted(e) {
			return http.StatusBadGateway
		}
		return status
	}
	switch e.Code {
	// It comes from the policy or from a server, and is treated like a capability that a path asks for
	// (S3-35).
	case protocol.CodeMissingCapability:
		return http.StatusForbidden
	case jsonrpc.CodeInvalidParams:
		return http.StatusBadRequest
	}
	if status := protocol.CodeStatus(e.Code, protocol.Latest); status != http.StatusOK {
		return status
	}
	return http.StatusInternalServerError
}

// mayBeExecuted reports whether a server may have executed the request. Then no proxy or HTTP
// library may retry it by itself, as they do after a 503.
func mayBeExecuted(e *jsonrpc.Error) bool { return jsonedit.Kind(e.Data, "maybeExecuted") == 't' }
