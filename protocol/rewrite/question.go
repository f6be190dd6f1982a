package rewrite

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// questions lists the questions that a server may ask its client, with the types of their params
// and answers.
var questions = map[string]struct{ params, result object }{
	"sampling/createMessage": {sampleParams, sampleResult},
	"elicitation/create":     {elicitParams, elicitResult},
	"roots/list":             {otherQuestion, rootsResult},
}

// Question translates the params of a server's question for the client. From is the server's
// revision, to the client's. The question is a request between legacy peers, and an entry of
// inputRequests between modern peers. ElicitationID is the id of a URL elicitation in revisions
// that require one. For a server without such ids the caller creates the id, and passes it here or
// in the params.
//
// The error is an *Inexpressible if the client's revision lacks a field of the form or a content of
// the conversation.
func Question(method string, from, to protocol.Version, params jsontext.Value,
	elicitationID string) (jsontext.Value, error) {
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
		params, reason = p.samplingParams(params)
	case elicitParams:
		params, reason = p.elicitation(params, elicitationID)
	default:
		params, reason = rewriteValue(p, params, o)
	}
	if reason != "" {
		return nil, &Inexpressible{method, p.to, reason}
	}
	return params, nil
}

// asks reports whether a server of the target revision can ask that question.
func (p *plan) asks(method string) bool {
	_, ok := questions[method]
	m, _ := protocol.LookupMethod(method)
	return ok && (m.Embedded(p.to) || m.Allows(p.to, protocol.Server))
}

// samplingParams rewrites the params of a sampling request.
func (p *plan) samplingParams(params jsontext.Value) (jsontext.Value, string) {
	if !p.to.Has(protocol.SamplingTools) {
		if tools, _ := jsonedit.Get(params, "tools"); jsonedit.Len(tools) > 0 {
			return nil, "the model is offered tools"
		}
		params = split(params)
	}
	return rewriteValue(p, params, sampleParams)
}

// split turns a message with several blocks into several messages of the same role.
func split(params jsontext.Value) jsontext.Value {
	messages, _ := jsonedit.Get(params, "messages")
	several := false
	list := jsontext.Value{'['}
	for m := range jsonedit.Elements(messages) {
		content, _ := jsonedit.Get(m, "content")
		if content.Kind() != '[' {
			list = append(append(list, m...), ',')
			continue
		}
		several = true
		for b := range jsonedit.Elements(content) {
			one, _ := jsonedit.Set(m, b, "content") // m has content, so it is an object
			list = append(append(list, one...), ',')
		}
	}
	if !several {
		return params
	}
	if len(list) > 1 {
		list = list[:len(list)-1]
	}
	params, _ = jsonedit.Set(params, append(list, ']'), "messages")
	return params
}

// said rewrites a block of a conversation with a model. It does not convert kinds of content,
// because a conversation must stay as it was.
func (r *rewriter) said(from, to int) {
	kind, _ := jsonedit.Get(r.Value(from, to), "type")
	switch {
	case !r.to.Has(protocol.AudioContent) && jsonedit.Equal(kind, "audio"):
		r.reason = "the conversation has audio"
	case jsonedit.Equal(kind, "tool_use") || jsonedit.Equal(kind, "tool_result"):
		if !r.to.Has(protocol.SamplingTools) {
			r.reason = "the conversation has uses of tools"
			return
		}
		r.used(from, to, jsonedit.Equal(kind, "tool_result"))
	default:
		r.members(from, conversationBlock)
	}
}

// used rewrites the use of a tool, or the result of that use.
func (r *rewriter) used(from, to int, result bool) {
	if !result {
		r.members(from, conversationBlock)
		return
	}
	out := r.outcome(from, to)
	w := r.Walk(from)
	for r.Next(&w) {
		r.outcomeMember(&w, conversationBlock, &out)
	}
	r.outcomeEnd(&w, &out)
}
