package protocol

// Condition is the kind of a failure, independent of the code that a revision has for it. Condition
// implements error, so that errors.Is(err, ConditionTimeout) tests for it.
type Condition uint8

// The conditions. The table conditions has their words and codes.
const (
	ConditionInternal Condition = iota // also every unmapped error
	ConditionParse
	ConditionInvalidRequest
	ConditionLimits
	ConditionMethodNotFound
	ConditionInvalidParams
	ConditionNotInitialized
	ConditionAlreadyInitialized
	ConditionResourceNotFound
	ConditionToolNotFound
	ConditionPromptNotFound
	ConditionCapabilityNotSupported // the server did not advertise it
	ConditionCapabilityRequired     // the client did not declare it
	ConditionUnsupportedVersion
	ConditionHeaderMismatch
	ConditionTimeout
	ConditionRateLimited
	ConditionOverloaded
	ConditionTooLarge
	ConditionUpstreamLost
	ConditionStopping            // the host itself shuts down
	ConditionUpstreamUnavailable // the server refuses requests for now
	ConditionUpstreamQuarantined // unused until an operator releases it or a probe succeeds
	ConditionUpstreamRemoved     // a reload removed the server from the configuration
	ConditionUpstreamInvalid     // strict_upstream: the server's answer violates the schema
	ConditionQueueFull
	ConditionRequestIDConflict
	ConditionStateInvalid // a requestState, cursor or task that is not, or no longer, valid
	ConditionSessionGone
	ConditionUnauthenticated
	ConditionForbidden
	ConditionEndpointNotFound
	ConditionURLElicitationRequired
	ConditionUserRejected

	conditionCount = int(iota)
)

// The error codes beyond those of JSON-RPC. 2026-07-28 §basic reserves -32020 to -32099 for the
// specification and discourages new codes from -32000 to -32019. Therefore a modern peer receives
// specified codes only, and finds the word of the condition in data.reason.
const (
	CodeUserRejected           = -1     // 2024-11-05 to 2025-11-25 §client/sampling, by example
	CodeResourceNotFound       = -32002 // 2024-11-05 to 2025-11-25 §server/resources
	CodeCapabilityRequired     = -32004 // codes without a clause are mcpd's own, for legacy peers
	CodeNotInitialized         = -32005
	CodeTransport              = -32008
	CodeTimeout                = -32009
	CodeRateLimited            = -32010
	CodeTooLarge               = -32012
	CodeHeaderMismatch         = -32020 // 2026-07-28 §basic
	CodeMissingCapability      = -32021 // 2026-07-28 §basic
	CodeUnsupportedVersion     = -32022 // 2026-07-28 §basic
	CodeURLElicitationRequired = -32042 // 2025-11-25 §client/elicitation, and no other revision
	CodeRequestIDConflict      = -32068
	CodeQueueFull              = -32095
)

// conditions is the table of how a peer learns of each condition. Status is the HTTP status for a
// modern request, and for any request without a session. In a legacy session an error response has
// status 200. The exception is early: the host refused the request before it became an exchange,
// and status applies.
var conditions = [conditionCount]struct {
	word           string // data.reason
	legacy, modern int64
	status         int
	early          bool
	recovery       RecoveryAction
}{
	ConditionInternal:               {"internal", -32603, -32603, 200, false, Abort},
	ConditionParse:                  {"parse", -32700, -32700, 400, true, Abort},
	ConditionInvalidRequest:         {"invalid_request", -32600, -32600, 400, true, Abort},
	ConditionLimits:                 {"limits", -32600, -32600, 400, true, Abort},
	ConditionMethodNotFound:         {"method_not_found", -32601, -32601, 404, false, Abort},
	ConditionInvalidParams:          {"invalid_params", -32602, -32602, 400, false, Abort},
	ConditionNotInitialized:         {"not_initialized", -32005, -32600, 400, true, Reconnect},
	ConditionAlreadyInitialized:     {"already_initialized", -32005, -32600, 400, true, Abort},
	ConditionResourceNotFound:       {"resource_not_found", -32002, -32602, 200, false, Abort},
	ConditionToolNotFound:           {"tool_not_found", -32602, -32602, 200, false, Abort},
	ConditionPromptNotFound:         {"prompt_not_found", -32602, -32602, 200, false, Abort},
	ConditionCapabilityNotSupported: {"capability_not_supported", -32601, -32601, 404, false, Abort},
	ConditionCapabilityRequired:     {"capability_required", -32004, -32021, 400, false, Abort},
	ConditionUnsupportedVersion:     {"unsupported_version", -32602, -32022, 400, true, Abort},
	ConditionHeaderMismatch:         {"header_mismatch", -32600, -32020, 400, true, Abort},
	ConditionTimeout:                {"timeout", -32009, -32603, 200, false, Retry},
	ConditionRateLimited:            {"rate_limited", -32010, -32603, 429, true, Retry},
	ConditionOverloaded:             {"overloaded", -32010, -32603, 503, true, Retry},
	ConditionTooLarge:               {"too_large", -32012, -32600, 413, true, Abort},
	ConditionUpstreamLost:           {"upstream_lost", -32008, -32603, 200, false, Reconnect},
	ConditionStopping:               {"stopping", -32008, -32603, 503, true, Reconnect},
	ConditionUpstreamUnavailable:    {"upstream_unavailable", -32010, -32603, 503, false, Retry},
	ConditionUpstreamQuarantined:    {"upstream_quarantined", -32008, -32603, 200, false, Reconnect},
	ConditionUpstreamRemoved:        {"upstream_removed", -32008, -32603, 200, false, Reconnect},
	ConditionUpstreamInvalid:        {"upstream_invalid", -32603, -32603, 200, false, Abort},
	ConditionQueueFull:              {"queue_full", -32095, -32603, 200, false, Abort},
	ConditionRequestIDConflict:      {"request_id_conflict", -32068, -32600, 400, false, Abort},
	ConditionStateInvalid:           {"state_invalid", -32602, -32602, 200, false, Abort},
	ConditionSessionGone:            {"session_gone", -32602, -32602, 404, true, Abort},
	ConditionUnauthenticated:        {"unauthenticated", -32600, -32600, 401, true, Abort},
	ConditionForbidden:              {"forbidden", -32600, -32600, 403, true, Abort},
	ConditionEndpointNotFound:       {"endpoint_not_found", -32600, -32600, 404, true, Abort},
	ConditionURLElicitationRequired: {"url_elicitation_required", -32042, -32603, 200, false, Abort},
	ConditionUserRejected:           {"user_rejected", -1, -32603, 200, false, Abort},
}

// String is the condition's word, as in data.reason.
func (c Condition) String() string {
	if int(c) < conditionCount {
		return conditions[c].word
	}
	return conditions[ConditionInternal].word
}

// Error is the condition's word.
func (c Condition) Error() string { return c.String() }

// Code is the JSON-RPC code of the condition for a peer of revision v.
func (c Condition) Code(v Version) int64 {
	if int(c) >= conditionCount {
		c = ConditionInternal
	}
	row := conditions[c]
	if v.Era() == Modern || c == ConditionURLElicitationRequired && !v.Has(URLElicitationCode) {
		return row.modern
	}
	return row.legacy
}

// Status is the HTTP status of the condition, for a peer of that revision. Session says that the
// request belongs to a legacy session.
func (c Condition) Status(v Version, session bool) int {
	if int(c) >= conditionCount {
		c = ConditionInternal
	}
	if row := conditions[c]; row.early || !session || v.Era() == Modern {
		return row.status
	}
	return 200
}

// CodeStatus is the HTTP status of an error that mcpd itself answers with this code (2026-07-28
// §basic/transports). Use [AnswerStatus] for an error that may come from a server.
func CodeStatus(code int64, v Version) int {
	if v.Era() == Modern {
		switch code {
		case -32700, -32600:
			return 400
		case -32601:
			return 404
		}
		if SpecCode(code) {
			return 400
		}
	}
	return 200
}

// SpecCode reports whether only servers of 2026-07-28 or later send the code. A client that
// receives such a code knows that the server is modern.
func SpecCode(code int64) bool {
	return code == CodeHeaderMismatch || code == CodeMissingCapability ||
		code == CodeUnsupportedVersion
}

// RecoveryAction is the advice to a peer about an error.
type RecoveryAction uint8

// The actions.
const (
	Abort RecoveryAction = iota
	Retry
	Reconnect
	Ignore
)

// String is the action in one word.
func (a RecoveryAction) String() string {
	switch a {
	case Retry:
		return "retry"
	case Reconnect:
		return "reconnect"
	case Ignore:
		return "ignore"
	}
	return "abort"
}

// Recovery is the action that a peer can take after the condition.
func (c Condition) Recovery() RecoveryAction {
	if int(c) < conditionCount {
		return conditions[c].recovery
	}
	return Abort
}

// recoveries gives the action for a code if the condition is unknown. It lists only codes with a
// single meaning.
var recoveries = map[int64]RecoveryAction{
	CodeTimeout:        Retry,
	CodeRateLimited:    Retry,
	CodeTransport:      Reconnect,
	CodeNotInitialized: Reconnect,
}

// SuggestRecoveryAction is the action after an error of which only the code is known. It is Abort
// for a code whose condition is not certain.
func SuggestRecoveryAction(code int64) RecoveryAction { return recoveries[code] }

// IsRecoverableError reports whether the same request may succeed later.
func IsRecoverableError(code int64) bool {
	return code == CodeTimeout || code == CodeRateLimited || code == CodeTransport
}
