package protocol

import "slices"

// Mode is what happens to an initialize that asks for a revision this host does not offer.
type Mode uint8

// The modes.
const (
	Spec   Mode = iota // answer with the newest revision that is offered, and leave it to the client to go (§basic/lifecycle)
	Strict             // refuse, naming what is offered (S4-88)
)

// Negotiation is a host's or tenant's policy about revisions. The zero value offers all of them as the specification has it.
type Negotiation struct {
	Mode    Mode
	Floor   Version // the oldest that is offered; 0 for the oldest there is
	Ceiling Version // the newest that is offered; 0 for the newest there is
	Default Version // what an initialize without protocolVersion means; 0 refuses it, since the member is required
}

// Agreement is the outcome of a negotiation.
type Agreement struct {
	Version   Version
	Requested string // what the peer asked for, empty if it said nothing
}

// Downgraded reports that the peer gets an older revision than it asked for, which deserves a warning in the log (S4-88).
func (a Agreement) Downgraded() bool { return a.Requested > a.Version.String() }

// Lost lists the features that the peer may have expected and will not find: those of the revision it asked for, or of the newest if that
// one is not known.
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

// allOffered are the revisions of both eras that the policy allows, oldest first.
func (n Negotiation) allOffered() []Version { return append(n.Offered(Legacy), n.Offered(Modern)...) }

// Names are the revisions of both eras that the policy allows, as server/discover tells them: newest first.
func (n Negotiation) Names() (names []string) {
	for _, v := range slices.Backward(n.allOffered()) {
		names = append(names, v.String())
	}
	return names
}

// Initialize agrees on a revision with a client that sent initialize.
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

// Modern checks the revision that a modern request says it speaks.
func (n Negotiation) Modern(requested string) (Version, error) {
	return n.choose(requested, Modern, Strict)
}

// choose finds the revision to speak in an era. Where that era is not offered at all, the client is told what is in the other (2026-07-28
// §basic/versioning), and does not try again what would fail again.
func (n Negotiation) choose(requested string, era Era, mode Mode) (Version, error) {
	offered := n.Offered(era)
	if len(offered) == 0 {
		return 0, UnsupportedVersion(requested, n.allOffered()...)
	}
	return NegotiateVersion(requested, offered, mode)
}

// draft is what servers made before the first revision answer. The official SDKs speak with them as with
// those of the first revision.
const draft = "2024-10-07"

// Accept checks the revision that a server answered initialize with (2025-11-25 §basic/lifecycle: a client that cannot speak it leaves).
func (n Negotiation) Accept(answered string) (Version, error) {
	if answered == draft {
		answered = V20241105.String()
	}
	return NegotiateVersion(answered, n.Offered(Legacy), Strict)
}

// Choose picks the newest modern revision among those that a server says it supports, in DiscoverResult or in data.supported of -32022.
// False means that there is none, and that initialize is to be tried.
func (n Negotiation) Choose(supported []string) (Version, bool) {
	offered := n.Offered(Modern)
	for _, v := range slices.Backward(offered) {
		if slices.Contains(supported, v.String()) {
			return v, true
		}
	}
	return 0, false
}

// ValidateProtocolVersion says what is wrong with a revision named in initialize, if anything (S0-6).
func (n Negotiation) ValidateProtocolVersion(requested string) error {
	_, err := NegotiateVersion(requested, n.Offered(Legacy), Strict)
	return err
}

// NegotiateVersion finds the revision to speak with a peer that asks for one: that one if it is offered, otherwise what the mode says
// (S4-11). Offered goes from the oldest to the newest.
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
		return 0, unsupported("protocol version "+shown(requested)+" is not a date YYYY-MM-DD", requested, offered)
	case requested < oldest.String():
		return 0, unsupported("Protocol version too old", requested, offered) // S0-21
	case requested > newest.String():
		return 0, unsupported("Protocol version not yet supported", requested, offered) // S0-21
	}
	return 0, UnsupportedVersion(requested, offered...)
}
