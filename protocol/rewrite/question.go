package rewrite

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// questions says what a server may ask its client, and of what types the params and the answer are.
var questions = map[string]struct{ params, result object }{
	"sampling/createMessage": {sampleParams, sampleResult},
	"elicitation/create":     {elicitParams, elicitResult},
	"roots/list":             {otherQuestion, rootsResult},
}

// Question is the params of what a server of revision from asks its client, for a client of revision to. A legacy server and client have
// it in a request, modern ones in an entry of inputRequests. Where an elicitation by URL has an id, elicitationID is it; the caller makes
// it up for a server that has none, and may as well have put it into the params.
//
// It fails with *Inexpressible when the client cannot be asked that: the form has a field, or the conversation a content, that its
// revision lacks.
func Question(method string, from, to protocol.Version, params jsontext.Value, elicitationID string) (jsontext.Value, error) {
	p := planFor(from, to)
	if p.from == p.to {
		return params, nil
	}
	if !p.asks(method) {
		return nil, &Inexpressible{method, p.to, "a server cannot ask it"}
	}
	o := questions[method].params
	reason := ""
	switch o {
	case sampleParams:
		params, reason = p.conversation(params)
	case elicitParams:
		params, reason = p.elicitation(params, elicitationID)
	default:
		params, reason = whole(p, params, o)
	}
	if reason != "" {
		return nil, &Inexpressible{method, p.to, reason}
	}
	return params, nil
}

// asks reports whether a server of the other revision can ask its client that.
func (p *plan) asks(method string) bool {
	_, ok := questions[method]
	m, _ := protocol.LookupMethod(method)
	return ok && (m.Embedded(p.to) || m.Allows(p.to, protocol.Server))
}

// conversation rewrites the params of a sampling request.
func (p *plan) conversation(params jsontext.Value) (jsontext.Value, string) {
	if !p.to.Has(protocol.SamplingTools) {
		if tools, _ := splice.Get(params, "tools"); splice.Len(tools) > 0 {
			return nil, "the model is offered tools"
		}
		params = split(params)
	}
	return whole(p, params, sampleParams)
}

// split makes a message with several blocks into several messages of the same role.
func split(params jsontext.Value) jsontext.Value {
	messages, _ := splice.Get(params, "messages")
	several := false
	list := jsontext.Value{'['}
	for m := range splice.Elements(messages) {
		content, _ := splice.Get(m, "content")
		if content.Kind() != '[' {
			list = append(append(list, m...), ',')
			continue
		}
		several = true
		for b := range splice.Elements(content) {
			one, _ := splice.Set(m, b, "content") // it is an object: it has content
			list = append(append(list, one...), ',')
		}
	}
	if !several {
		return params
	}
	if len(list) > 1 {
		list = list[:len(list)-1]
	}
	params, _ = splice.Set(params, append(list, ']'), "messages")
	return params
}

// said rewrites a block of a conversation with a model. Blocks are what was said, so none is made into another.
func (r *rewriter) said(from, to int) {
	kind, _ := splice.Get(r.Value(from, to), "type")
	switch {
	case !r.to.Has(protocol.AudioContent) && splice.Equal(kind, "audio"):
		r.reason = "the conversation has audio"
	case splice.Equal(kind, "tool_use") || splice.Equal(kind, "tool_result"):
		if !r.to.Has(protocol.SamplingTools) {
			r.reason = "the conversation has uses of tools"
			return
		}
		r.used(from, to, splice.Equal(kind, "tool_result"))
	default:
		r.members(from, said)
	}
}

// used rewrites the use of a tool or what came of it.
func (r *rewriter) used(from, to int, result bool) {
	if !result {
		r.members(from, said)
		return
	}
	out := r.outcome(from, to)
	w := r.Walk(from)
	for r.Next(&w) {
		r.outcomeMember(&w, said, &out)
	}
	r.outcomeEnd(&w, &out)
}
