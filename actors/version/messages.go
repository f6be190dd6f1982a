package version

import (
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// The calls that the registry answers. Anyone may send them; each gets one answer.
type (
	// Negotiate agrees on a revision for one downstream session and counts it (S4-11). The answer is the revision, or the
	// condition to refuse the client with.
	Negotiate = otp.Call[NegotiateRequest, protocol.Agreement]
	// Supported lists the revisions that policy allows, newest first (S4-10).
	Supported = otp.Call[protocol.Negotiation, []string]
	// Features lists what a revision has (S4-12).
	Features = otp.Call[string, []string]
	// Supports reports whether a revision has a feature (S4-13).
	Supports = otp.Call[SupportsRequest, bool]
	// Negotiated counts what was agreed on since the daemon started, by revision.
	Negotiated = otp.Call[NegotiatedRequest, map[string]uint64]
)

// NegotiateRequest is what a client asked for, under the policy of its endpoint.
type NegotiateRequest struct {
	Requested string // empty when the client named none
	Policy    protocol.Negotiation
	Tenant    string
	Session   string // the session's row, for the event
}

// SupportsRequest names a revision and a feature.
type SupportsRequest struct{ Version, Feature string }

// NegotiatedRequest has no fields.
type NegotiatedRequest struct{}
