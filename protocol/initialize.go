package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// InitializeParams are the params of initialize (2025-11-25 §basic/lifecycle).
type InitializeParams struct {
	Version      string
	Capabilities ClientCapabilities
	Info         Implementation
}

// ParseInitialize reads the params of initialize. It returns an *Error with ConditionInvalidParams
// if capabilities or clientInfo is missing, a member is malformed, or one of the two exceeds
// MaxDeclaration. An absent protocolVersion is no error here; Negotiation decides about it. The
// result shares no memory with params, because a session keeps the result and a request may be
// large.
func ParseInitialize(params jsontext.Value) (InitializeParams, error) {
	p, err := readInitialize(params)
	if err != nil {
		return InitializeParams{}, err
	}
	for _, name := range []string{"capabilities", "clientInfo"} {
		if _, ok := jsonedit.Get(params, name); !ok {
			return InitializeParams{}, InvalidParams(name + " is missing")
		}
	}
	return p, nil
}

// readInitialize reads the members that are present and checks them. Absent members stay zero.
func readInitialize(params jsontext.Value) (p InitializeParams, err error) {
	if params.Kind() != '{' {
		return p, InvalidParams("params is not an object")
	}
	for m := range jsonedit.Members(params) {
		name := m.Key()
		if len(m.Value) > MaxDeclaration && (name == "capabilities" || name == "clientInfo") {
			return InitializeParams{}, InvalidParams(fmt.Sprintf("%s is larger than %d bytes", name,
				MaxDeclaration))
		}
		switch name {
		case "protocolVersion":
			ok := false
			if p.Version, ok = jsonedit.Unquote(m.Value); !ok || p.Version == "" {
				return InitializeParams{}, InvalidParams("protocolVersion is not a string")
			}
		case "capabilities":
			p.Capabilities, err = ParseClientCapabilities(slices.Clone(m.Value))
		case "clientInfo":
			p.Info, err = ParseImplementation(slices.Clone(m.Value))
		}
		if err != nil {
			return InitializeParams{}, err
		}
	}
	return p, nil
}

// ExtractClientCapabilities reads only the capabilities from the params of initialize.
func ExtractClientCapabilities(params jsontext.Value) (ClientCapabilities, error) {
	p, err := readInitialize(params)
	return p.Capabilities, err
}

// Params returns the params of an initialize that the host sends.
func (p InitializeParams) Params() jsontext.Value {
	d := data("protocolVersion", p.Version)
	d = append(d[:len(d)-1], `,"capabilities":`...)
	d = append(d, p.Capabilities.Raw()...)
	d = append(d, `,"clientInfo":`...)
	d = append(d, p.Info.Raw()...)
	return append(d, '}')
}

// Handshake is the outcome of initialize between a client and this host.
type Handshake struct {
	Agreement
	Client     ClientCapabilities // fixed for the whole session
	ClientInfo Implementation
	Server     ServerCapabilities // the capabilities that the client was told
}

// Handshake answers initialize. It parses the params, agrees on a revision, and removes from server
// the capabilities that the revision does not know. The error is an *Error. A failed handshake
// leaves no state behind, so the client may try again.
func (n Negotiation) Handshake(params jsontext.Value,
	server ServerCapabilities) (Handshake, error) {
	p, err := ParseInitialize(params)
	if err != nil {
		return Handshake{}, err
	}
	agreed, err := n.Initialize(p.Version)
	if err != nil {
		return Handshake{}, err
	}
	return Handshake{Agreement: agreed, Client: p.Capabilities, ClientInfo: p.Info,
		Server: server.Shape(agreed.Version)}, nil
}

// Result returns the result of initialize: the agreed revision, the server's capabilities, its name
// and its instructions.
func (h Handshake) Result(info Implementation, instructions string) jsontext.Value {
	return InitializeResult{h.Version.String(), h.Server, info,
		instructions}.result(info.Shape(h.Version))
}

// InitializeResult is the result that a server sends for initialize (2025-11-25 §basic/lifecycle).
type InitializeResult struct {
	Version      string
	Capabilities ServerCapabilities
	Info         Implementation
	Instructions string
}

func (r InitializeResult) result(info jsontext.Value) jsontext.Value {
	d := data("protocolVersion", r.Version)
	d = append(d[:len(d)-1], `,"capabilities":`...)
	d = append(d, r.Capabilities.Raw()...)
	d = append(d, `,"serverInfo":`...)
	d = append(d, info...)
	if r.Instructions != "" {
		d = append(d, `,"instructions":`...)
		d = append(d, jsonedit.Quote(r.Instructions)...)
	}
	return append(d, '}')
}

// ParseInitializeResult reads the result of initialize leniently, and copies the parts that it
// keeps. Only protocolVersion is required. Capabilities may be null. The name and version of the
// server may be missing. The error is an *Error with ConditionInvalidParams.
func ParseInitializeResult(result jsontext.Value) (r InitializeResult, err error) {
	for m := range jsonedit.Members(result) {
		switch m.Key() {
		case "protocolVersion":
			r.Version, _ = jsonedit.Unquote(m.Value)
		case "capabilities":
			r.Capabilities, err = ParseServerCapabilities(m.Value)
		case "serverInfo":
			r.Info = serverInfo(m.Value)
		case "instructions":
			r.Instructions, _ = jsonedit.Unquote(m.Value)
		}
		if err != nil {
			return InitializeResult{}, err
		}
	}
	if r.Version == "" {
		return InitializeResult{}, InvalidParams("protocolVersion is missing")
	}
	// The caller keeps an error that names the version, so the version is short.
	if len(r.Version) > MaxDetail {
		r.Version = strings.Clone(r.Version[:MaxDetail])
	}
	r.Capabilities.raw, r.Info.raw = slices.Clone(r.Capabilities.raw), slices.Clone(r.Info.raw)
	return r, nil
}

// DiscoverResult is the result that a server sends for server/discover (2026-07-28
// §server/discover).
type DiscoverResult struct {
	Versions     []string
	Capabilities ServerCapabilities
	Info         Implementation // sent in _meta
	Instructions string
}

// Result returns the result of server/discover. It forbids caching (ttlMs 0), because the offer of
// a host changes with its servers.
func (r DiscoverResult) Result() jsontext.Value {
	d := jsontext.Value(
		`{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":[`,
	)
	for i, v := range r.Versions {
		if i > 0 {
			d = append(d, ',')
		}
		d = strconv.AppendQuote(d, v)
	}
	d = append(d, `],"capabilities":`...)
	d = append(d, r.Capabilities.Raw()...)
	if r.Instructions != "" {
		d = append(d, `,"instructions":`...)
		d = append(d, jsonedit.Quote(r.Instructions)...)
	}
	d = append(d, `,"_meta":{"`+MetaServerInfo+`":`...)
	d = append(d, r.Info.Raw()...)
	return append(d, "}}"...)
}

// ParseDiscover reads the result of server/discover, and copies the parts that it keeps. It also
// accepts serverInfo beside _meta, as in drafts of the specification, because some servers still
// send it. It returns an *Error with ConditionInvalidParams if supportedVersions is missing or
// capabilities are malformed.
func ParseDiscover(result jsontext.Value) (r DiscoverResult, err error) {
	list, _ := jsonedit.Get(result, "supportedVersions")
	for v := range jsonedit.Elements(list) {
		if name, ok := jsonedit.Unquote(v); ok {
			r.Versions = append(r.Versions, name)
		}
	}
	if len(r.Versions) == 0 {
		return DiscoverResult{}, InvalidParams("supportedVersions is missing")
	}
	declared, _ := jsonedit.Get(result, "capabilities")
	if r.Capabilities, err = ParseServerCapabilities(declared); err != nil {
		return DiscoverResult{}, err
	}
	r.Instructions, _ = jsonedit.GetString(result, "instructions")
	info, ok := jsonedit.Get(result, "_meta", MetaServerInfo)
	if !ok {
		info, ok = jsonedit.Get(result, "serverInfo")
	}
	if ok {
		r.Info = serverInfo(info)
	}
	r.Capabilities.raw, r.Info.raw = slices.Clone(r.Capabilities.raw), slices.Clone(r.Info.raw)
	return r, nil
}
