package protocol

import "slices"

// Mode selects the answer to an initialize that asks for a revision this host does not offer.
type Mode uint8

// The modes.
const (
	// Spec answers with the newest revision that is offered. The client disconnects if it does not
	// support that revision (2025-11-25 §basic/lifecycle). Spec is the default.
	Spec Mode = iota
	// Strict refuses the request, and names the revisions that are offered.
	Strict
)

// Negotiation is the policy of a host or a tenant about revisions. The zero value offers all
// revisions and answers as the specification demands (2025-11-25 §basic/lifecycle).
type Negotiation struct {
	Mode Mode
	// Floor is the oldest revision that is offered. 0 sets no lower bound.
	Floor Version
	// Ceiling is the newest revision that is offered. 0 sets no upper bound.
	Ceiling Version
	// Default is the revision to assume for an initialize without protocolVersion. 0 refuses such a
	// request, because the specification requires the member.
	Default Version
}

// Agreement is the outcome of a negotiation.
type Agreement struct {
	Version   Version
	Requested string // the revision that the peer asked for; empty if it named none
}

// Downgraded reports whether the peer gets an older revision than it asked for. The caller should
// log a warning.
func (a Agreement) Downgraded() bool { return a.Requested > a.Version.String() }

// Lost lists the features that the peer may expect and that the agreed revision lacks. The features
// are those of the requested revision, or of the newest revision if the requested one is unknown.
// Lost returns nil if there was no downgrade.
func (a Agreement) Lost() []Feature {
	if !a.Downgraded() {
		return nil
	}
	wanted, ok := ParseVersion(a.Requested)
	if !ok {
		wanted = Latest
	}
	return slices.DeleteFunc(wanted.Features(), a.Version.Has)
}

// Offered lists the revisions of an era that the policy allows, oldest first.
func (n Negotiation) Offered(era Era) []Version {
	return slices.DeleteFunc(Versions(), func(v Version) bool {
		return v.Era() != era || v < n.Floor || n.Ceiling != 0 && v > n.Ceiling
	})
}

// allOffered lists the revisions of both eras that the policy allows, oldest first.
func (n Negotiation) allOffered() []Version {
	return append(n.Offered(Legacy), n.Offered(Modern)...)
}

// Names lists the revisions of both eras that the policy allows, newest first. It is the
// supportedVersions of server/discover (2026-07-28 §server/discover).
func (n Negotiation) Names() (names []string) {
	for _, v := range slices.Backward(n.allOffered()) {
		names = append(names, v.String())
	}
	return names
}

// Initialize agrees on a revision with a client that sent initialize. An empty requested stands for
// an absent protocolVersion; see Negotiation.Default. The error is an *Error.
func (n Negotiation) Initialize(requested string) (Agreement, error) {
	if requested == "" {
		if !slices.Contains(n.Offered(Legacy), n.Default) {
			return Agreement{}, InvalidParams("protocolVersion is missing")
		}
		return Agreement{Version: n.Default}, nil
	}
	v, err := n.choose(requested, Legacy, n.Mode)
	return Agreement{v, requested}, err
}

// Modern returns the revision that a modern request names in _meta, or an *Error if the policy does
// not allow it.
func (n Negotiation) Modern(requested string) (Version, error) {
	return n.choose(requested, Modern, Strict)
}

// choose returns the revision to speak in an era. If the policy offers no revision of that era, the
// error names the revisions of the other era (2026-07-28 §basic/versioning), so that the client
// does not repeat a request that would fail again.
func (n Negotiation) choose(requested string, era Era, mode Mode) (Version, error) {
	offered := n.Offered(era)
	if len(offered) == 0 {
		return 0, UnsupportedVersion(requested, n.allOffered()...)
	}
	return NegotiateVersion(requested, offered, mode)
}

// preReleaseVersion is the revision that servers from before the first published revision answer
// with. The official SDKs treat those servers like servers of the first revision, and so does mcpd.
const preReleaseVersion = "2024-10-07"

// Accept checks the revision that a server answered initialize with. A client that does not support
// that revision disconnects (2025-11-25 §basic/lifecycle).
func (n Negotiation) Accept(answered string) (Version, error) {
	if answered == preReleaseVersion {
		answered = V20241105.String()
	}
	return NegotiateVersion(answered, n.Offered(Legacy), Strict)
}

// Choose returns the newest modern revision that both the policy and the server support. The server
// names its revisions in DiscoverResult, or in data.supported of the error -32022. Choose returns
// false if there is no common revision; the caller then tries initialize.
func (n Negotiation) Choose(supported []string) (Version, bool) {
	offered := n.Offered(Modern)
	for _, v := range slices.Backward(offered) {
		if slices.Contains(supported, v.String()) {
			return v, true
		}
	}
	return 0, false
}

// ValidateProtocolVersion returns an *Error if the policy does not offer the revision that
// initialize names, and nil otherwise.
func (n Negotiation) ValidateProtocolVersion(requested string) error {
	_, err := NegotiateVersion(requested, n.Offered(Legacy), Strict)
	return err
}

// NegotiateVersion returns the revision to speak with a peer that asks for requested. That is the
// requested revision if it is offered, and otherwise the choice of the mode. Offered is ordered
// from oldest to newest. A refusal is an *Error with ConditionUnsupportedVersion.
func NegotiateVersion(requested string, offered []Version, mode Mode) (Version, error) {
	if v, ok := ParseVersion(requested); ok && slices.Contains(offered, v) {
		return v, nil
	}
	if len(offered) == 0 {
		return 0, UnsupportedVersion(requested)
	}
	oldest, newest := offered[0], offered[len(offered)-1]
	switch {
	case mode == Spec:
		return newest, nil
	case !ValidFormat(requested):
		return 0, unsupported("protocol version "+quoted(requested)+" is not a date YYYY-MM-DD",
			requested, offered)
	// The texts of the next two errors are required as they are.
	case requested < oldest.String():
		return 0, unsupported("Protocol version too old", requested, offered)
	case requested > newest.String():
		return 0, unsupported("Protocol version not yet supported", requested, offered)
	}
	return 0, UnsupportedVersion(requested, offered...)
}
