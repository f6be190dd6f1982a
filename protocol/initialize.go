package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// InitializeParams is what a client says in initialize.
type InitializeParams struct {
	Version      string
	Capabilities ClientCapabilities
	Info         Implementation
}

// ParseInitialize reads the params of initialize, of which every schema requires three members; whether protocolVersion may be absent is for
// Negotiation to decide. What it returns shares no memory with params, since a session keeps it and a request may be large.
func ParseInitialize(params jsontext.Value) (InitializeParams, error) {
	p, err := readInitialize(params)
	if err != nil {
		return InitializeParams{}, err
	}
	for _, name := range []string{"capabilities", "clientInfo"} {
		if _, ok := splice.Get(params, name); !ok {
			return InitializeParams{}, InvalidParams(name + " is missing")
		}
	}
	return p, nil
}

// readInitialize reads what is there, which must have the right shape. What is not is zero.
func readInitialize(params jsontext.Value) (p InitializeParams, err error) {
	if params.Kind() != '{' {
		return p, InvalidParams("params is not an object")
	}
	for m := range splice.Members(params) {
		name := m.Key()
		if len(m.Value) > MaxDeclaration && (name == "capabilities" || name == "clientInfo") {
			return InitializeParams{}, InvalidParams(fmt.Sprintf("%s is larger than %d bytes", name, MaxDeclaration))
		}
		switch name {
		case "protocolVersion":
			ok := false
			if p.Version, ok = splice.Unquote(m.Value); !ok || p.Version == "" {
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

// ExtractClientCapabilities reads the capabilities alone (S0-5).
func ExtractClientCapabilities(params jsontext.Value) (ClientCapabilities, error) {
	p, err := readInitialize(params)
	return p.Capabilities, err
}

// Params is the params of an initialize that this host sends.
func (p InitializeParams) Params() jsontext.Value {
	d := data("protocolVersion", p.Version)
	d = append(d[:len(d)-1], `,"capabilities":`...)
	d = append(d, p.Capabilities.Raw()...)
	d = append(d, `,"clientInfo":`...)
	d = append(d, p.Info.Raw()...)
	return append(d, '}')
}

// Handshake is what a client and this host agreed on.
type Handshake struct {
	Agreement
	Client     ClientCapabilities // fixed for the session (S0-56, S4-29)
	ClientInfo Implementation
	Server     ServerCapabilities // as the client was told
}

// Handshake answers initialize: version, then restrictions of that version, then capabilities (S4-90). An error leaves nothing behind,
// so the client may try again (S0-58).
func (n Negotiation) Handshake(params jsontext.Value, server ServerCapabilities) (Handshake, error) {
	p, err := ParseInitialize(params)
	if err != nil {
		return Handshake{}, err
	}
	agreed, err := n.Initialize(p.Version)
	if err != nil {
		return Handshake{}, err
	}
	return Handshake{Agreement: agreed, Client: p.Capabilities, ClientInfo: p.Info, Server: server.Shape(agreed.Version)}, nil
}

// Result is the result of initialize: the agreed revision, what the server declared, and who it is.
func (h Handshake) Result(info Implementation, instructions string) jsontext.Value {
	return InitializeResult{h.Version.String(), h.Server, info, instructions}.result(info.Shape(h.Version))
}

// InitializeResult is what a server answers to initialize.
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
		d = append(d, splice.Quote(r.Instructions)...)
	}
	return append(d, '}')
}

// ParseInitializeResult reads it, and copies what it keeps. Only protocolVersion must be there; see serverInfo, and capabilities may be null.
func ParseInitializeResult(result jsontext.Value) (r InitializeResult, err error) {
	for m := range splice.Members(result) {
		switch m.Key() {
		case "protocolVersion":
			r.Version, _ = splice.Unquote(m.Value)
		case "capabilities":
			r.Capabilities, err = ParseServerCapabilities(m.Value)
		case "serverInfo":
			r.Info = serverInfo(m.Value)
		case "instructions":
			r.Instructions, _ = splice.Unquote(m.Value)
		}
		if err != nil {
			return InitializeResult{}, err
		}
	}
	if r.Version == "" {
		return InitializeResult{}, InvalidParams("protocolVersion is missing")
	}
	if len(r.Version) > MaxDetail { // an error that says which it was is kept
		r.Version = strings.Clone(r.Version[:MaxDetail])
	}
	r.Capabilities.raw, r.Info.raw = slices.Clone(r.Capabilities.raw), slices.Clone(r.Info.raw)
	return r, nil
}

// DiscoverResult is what a server answers to server/discover (2026-07-28 §server/discover).
type DiscoverResult struct {
	Versions     []string
	Capabilities ServerCapabilities
	Info         Implementation // in _meta
	Instructions string
}

// Result is the result of server/discover. It may not be cached: what a host offers changes with its servers.
func (r DiscoverResult) Result() jsontext.Value {
	d := jsontext.Value(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":[`)
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
		d = append(d, splice.Quote(r.Instructions)...)
	}
	d = append(d, `,"_meta":{"`+MetaServerInfo+`":`...)
	d = append(d, r.Info.Raw()...)
	return append(d, "}}"...)
}

// ParseDiscover reads it, and copies what it keeps. Some servers put serverInfo beside _meta, as drafts had it; both are read.
func ParseDiscover(result jsontext.Value) (r DiscoverResult, err error) {
	list, _ := splice.Get(result, "supportedVersions")
	for v := range splice.Elements(list) {
		if name, ok := splice.Unquote(v); ok {
			r.Versions = append(r.Versions, name)
		}
	}
	if len(r.Versions) == 0 {
		return DiscoverResult{}, InvalidParams("supportedVersions is missing")
	}
	declared, _ := splice.Get(result, "capabilities")
	if r.Capabilities, err = ParseServerCapabilities(declared); err != nil {
		return DiscoverResult{}, err
	}
	r.Instructions, _ = splice.GetString(result, "instructions")
	info, ok := splice.Get(result, "_meta", MetaServerInfo)
	if !ok {
		info, ok = splice.Get(result, "serverInfo")
	}
	if ok {
		r.Info = serverInfo(info)
	}
	r.Capabilities.raw, r.Info.raw = slices.Clone(r.Capabilities.raw), slices.Clone(r.Info.raw)
	return r, nil
}
