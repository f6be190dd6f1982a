package version

import (
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// The calls to the registry. Any actor may make them; each gets one reply.
type (
	// Negotiate agrees on a revision for one downstream session and counts it (S4-11). The reply is
	// the revision, or the error with which to refuse the client.
	Negotiate = otp.Call[NegotiateRequest, protocol.Agreement]
	// Supported lists the revisions that the policy allows, newest first (S4-10).
	Supported = otp.Call[protocol.Negotiation, []string]
	// Features lists the features of a revision (S4-12).
	Features = otp.Call[string, []string]
	// Supports reports whether a revision has a feature (S4-13).
	Supports = otp.Call[SupportsRequest, bool]
	// Negotiated counts the agreements since the start of the daemon, by revision.
	Negotiated = otp.Call[NegotiatedRequest, map[string]uint64]
)

// NegotiateRequest holds the client's request and the policy of its endpoint.
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
