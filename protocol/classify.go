package protocol

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// Incoming is a client's message as a transport receives it, before its era is known.
type Incoming struct {
	Method string
	Params jsontext.Value
	// Notification says that the message is not a request. A modern notification needs no _meta of its
	// own.
	Notification bool
	HTTP         bool
	// Header is the value of MCP-Protocol-Version. It is empty when absent, and on stdio.
	Header string
	// Session is the revision of the live legacy session that the message names, or of the stdio
	// connection. It is 0 for none.
	Session Version
}

// Class is the result of classifying an Incoming. If Classify returns an error, Version is the
// revision in which to send that error.
type Class struct {
	Era     Era
	Version Version // of the session for a legacy message; 0 before the handshake
	Meta    Meta    // set for a modern request
}

// Classify determines the era of a message (2026-07-28 §basic/versioning). It returns an *Error
// for a message that fits neither era. The first row that matches decides:
//
//	_meta names a revision                        modern
//	method initialize                             legacy
//	session, and no header or the session's own   legacy
//	session, and another header                   error, 400
//	stdio                                         legacy
//	header of a legacy revision                   legacy; the caller must check for a session
//	header of another revision that is offered    modern; a request without _meta: error -32602
//	any other header                              error -32022 with the revisions offered
//	none of these                                 error: a session is required
func (n Negotiation) Classify(a Incoming) (Class, error) {
	// Params may be megabytes long, so _meta is searched for only once.
	meta, _ := jsonedit.Get(a.Params, "_meta")
	if _, ok := jsonedit.Get(meta, MetaProtocolVersion); ok {
		return n.modern(a, meta)
	}
	header, known := ParseVersion(a.Header)
	switch {
	case a.Method == "initialize":
		return Class{Era: Legacy}, nil
	case a.Session != 0 && a.Header != "" && header != a.Session:
		return Class{Era: Legacy, Version: a.Session}, UnsupportedVersion(a.Header, a.Session)
	case a.Session != 0, !a.HTTP:
		return Class{Era: Legacy, Version: a.Session}, nil
	case known && header.Era() == Legacy:
		return Class{Era: Legacy, Version: header}, nil
	case a.Header != "" && !slices.Contains(n.Offered(Modern), header):
		return Class{Era: Modern, Version: Latest}, UnsupportedVersion(a.Header, n.allOffered()...)
	case known && a.Notification:
		return Class{Era: Modern, Version: header}, nil
	case a.Header != "":
		return Class{Era: Modern,
			Version: Latest}, InvalidParams("_meta." + MetaProtocolVersion + " is missing")
	}
	return Class{Era: Legacy}, NotInitialized("initialization", MethodAction(a.Method))
}

// modern classifies a message whose _meta names a revision. Its checks are in the order that the
// conformance suite expects: the header is present, _meta is complete, both are equal, the revision
// is offered.
func (n Negotiation) modern(a Incoming, raw jsontext.Value) (Class, error) {
	c := Class{Era: Modern, Version: Latest}
	if a.HTTP && a.Header == "" {
		return c, HeaderMismatch("MCP-Protocol-Version", "missing")
	}
	meta := Meta{}
	var err error
	if a.Notification {
		meta.Version, _ = jsonedit.GetString(raw, MetaProtocolVersion)
	} else if meta, err = parseMeta(raw); err != nil {
		return c, err
	}
	if a.HTTP && a.Header != meta.Version {
		return c, HeaderMismatch("MCP-Protocol-Version", "differs from _meta")
	}
	v, err := n.Modern(meta.Version)
	if err != nil {
		return c, err
	}
	return Class{Modern, v, meta}, nil
}
