package rewrite

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// requests says of what type the params of a request or notification are that a client sends; otherParams for those not listed.
var requests = map[string]object{
	"initialize":             initializeParams,
	"tools/call":             callParams,
	"prompts/get":            callParams,
	"resources/read":         callParams,
	"completion/complete":    completeParams,
	"notifications/progress": progressParams,
}

// Request is the params of a request or notification that a client of revision from sent, for a server of revision to. What a modern
// request says about itself goes; protocol.Meta.Set says it anew. It fails with *Inexpressible when the server's revision has no such
// method from a client.
func Request(method string, from, to protocol.Version, params jsontext.Value) (jsontext.Value, error) {
	p := planFor(from, to)
	if p.from == p.to {
		return params, nil
	}
	m, known := protocol.LookupMethod(method)
	if known && !m.Allows(p.to, protocol.Client) {
		return nil, &Inexpressible{method, p.to, "it has no such method from a client"}
	}
	if reason := p.unnamed(method, params); reason != "" {
		return nil, &Inexpressible{method, p.to, reason}
	}
	if len(params) == 0 && known && !m.Notification() && p.to.Has(protocol.PerRequestMeta) {
		return jsontext.Value("{}"), nil
	}
	o, ok := requests[method]
	if !ok {
		o = otherParams
	}
	if o == initializeParams {
		r := newRewriter(p, params)
		r.hello(r.Start())
		return r.Result(), nil
	}
	params, _ = whole(p, params, o)
	return params, nil
}

// hello rewrites the params of initialize, which name the revision.
func (r *rewriter) hello(from int) {
	for w := r.Walk(from); r.Next(&w); {
		if w.Is("protocolVersion") {
			r.Set(&w, splice.Quote(r.to.String()))
			continue
		}
		r.member(&w, initializeParams)
	}
}

// Notification is the params of a notification that a server of revision from sent, for a client of revision to. It fails with
// *Inexpressible when the client's revision has no such notification; nobody misses it there.
func Notification(method string, from, to protocol.Version, params jsontext.Value) (jsontext.Value, error) {
	p := planFor(from, to)
	if p.from == p.to {
		return params, nil
	}
	if m, known := protocol.LookupMethod(method); known && !m.Allows(p.to, protocol.Server) {
		return nil, &Inexpressible{method, p.to, "it has no such notification from a server"}
	}
	if reason := p.unnamed(method, params); reason != "" {
		return nil, &Inexpressible{method, p.to, reason}
	}
	o := otherParams
	if method == "notifications/progress" {
		o = progressParams
	}
	params, _ = whole(p, params, o)
	return params, nil
}

// unnamed says that a cancellation names no request. Where there are tasks of the core it need not: a task has a method of its own.
func (p *plan) unnamed(method string, params jsontext.Value) string {
	if method == "notifications/cancelled" && !p.to.Has(protocol.Tasks) {
		if _, ok := splice.Get(params, "requestId"); !ok {
			return "it cancels no request"
		}
	}
	return ""
}
