package protocol

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// Arrival is a client's message as a transport sees it, before its era is known.
type Arrival struct {
	Method string
	Params jsontext.Value
	// Notification says that the message is no request: a modern one then needs no _meta of its own.
	Notification bool
	HTTP         bool
	Header       string  // MCP-Protocol-Version; empty when absent, and on stdio
	Session      Version // revision of the live legacy session that the message names, or of the stdio connection; 0 for none
}

// Class is what an arrival turned out to be. Next to an error, Version is the one to tell the error in.
type Class struct {
	Era     Era
	Version Version // the session's for a legacy message, 0 if that has none yet
	Meta    Meta    // of a modern request
}

// Classify tells the era of a message (2026-07-28 §basic/versioning) and refuses what fits neither:
//
//	_meta names a revision                         modern, whatever else the message says
//	method initialize                              legacy
//	session, and no header or the session's own    legacy
//	session, and another header                    refused, 400
//	stdio                                          legacy
//	header of a legacy revision                    legacy; it is for the caller to miss the session
//	header of another revision that is offered     modern without its _meta: refused, -32602
//	any other header                               refused, -32022 with the revisions that are offered
//	nothing at all                                 refused: a session is required
func (n Negotiation) Classify(a Arrival) (Class, error) {
	// Params may be megabytes: _meta is looked for once.
	meta, _ := splice.Get(a.Params, "_meta")
	if _, ok := splice.Get(meta, MetaProtocolVersion); ok {
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
		return Class{Era: Modern, Version: Latest}, InvalidParams("_meta." + MetaProtocolVersion + " is missing")
	}
	return Class{Era: Legacy}, NotInitialized("initialization", Action(a.Method))
}

// modern checks in the order that the conformance suite expects: header there, _meta complete, both equal, revision offered.
func (n Negotiation) modern(a Arrival, raw jsontext.Value) (Class, error) {
	c := Class{Era: Modern, Version: Latest}
	if a.HTTP && a.Header == "" {
		return c, HeaderMismatch("MCP-Protocol-Version", "missing")
	}
	meta := Meta{}
	var err error
	if a.Notification {
		meta.Version, _ = splice.GetString(raw, MetaProtocolVersion)
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
