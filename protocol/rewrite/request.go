package rewrite

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// requests gives the type of the params of a client's request or notification. The type is
// otherParams for a method that is not listed.
var requests = map[string]object{
	"initialize":             initializeParams,
	"tools/call":             callParams,
	"prompts/get":            callParams,
	"resources/read":         callParams,
	"completion/complete":    completeParams,
	"notifications/progress": progressParams,
}

// Request translates the params of a client's request or notification for the server. From is the
// client's revision, to the server's. Request removes the members of _meta that describe a modern
// request; protocol.Meta.Set adds new ones. The error is an *Inexpressible if the server's revision
// has no such method from a client.
func Request(method string, from, to protocol.Version,
	params jsontext.Value) (jsontext.Value, error) {
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
		r.initializeParams(r.Start())
		return r.Result(), nil
	}
	params, _ = rewriteValue(p, params, o)
	return params, nil
}

// initializeParams rewrites the params of initialize, which name the revision.
func (r *rewriter) initializeParams(from int) {
	for w := r.Walk(from); r.Next(&w); {
		if w.Is("protocolVersion") {
			r.Set(&w, jsonedit.Quote(r.to.String()))
			continue
		}
		r.member(&w, initializeParams)
	}
}

// Notification translates the params of a server's notification for the client. From is the
// server's revision, to the client's. The error is an *Inexpressible if the client's revision has
// no such notification; the caller then drops the notification.
func Notification(method string, from, to protocol.Version,
	params jsontext.Value) (jsontext.Value, error) {
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
	params, _ = rewriteValue(p, params, o)
	return params, nil
}

// unnamed returns a reason if a cancellation names no request. Revisions with core tasks permit
// that, because a task has its own method to cancel it.
func (p *plan) unnamed(method string, params jsontext.Value) string {
	if method == "notifications/cancelled" && !p.to.Has(protocol.Tasks) {
		if _, ok := jsonedit.Get(params, "requestId"); !ok {
			return "it cancels no request"
		}
	}
	return ""
}
