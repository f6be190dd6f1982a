package rewrite

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// Answer translates the answer of a client to a question of a server. From is the client's
// revision, to the server's. The result is that of a request, or an entry of inputResponses. The
// error is an *Inexpressible if the answer has no form in the server's revision.
func Answer(method string, from, to protocol.Version,
	result jsontext.Value) (jsontext.Value, error) {
	p := planFor(from, to)
	if p.from == p.to {
		return result, nil
	}
	if !p.asks(method) {
		return nil, &Inexpressible{method, p.to, "a server cannot ask it"}
	}
	if result.Kind() != '{' {
		return nil, &Inexpressible{method, p.to, "the answer is not an object"}
	}
	o := questions[method].result
	reason := ""
	switch o {
	case sampleResult:
		result, reason = p.modelAnswer(result)
	case elicitResult:
		result, reason = p.formAnswer(result)
	default:
		result, reason = rewriteValue(p, result, o)
	}
	if reason != "" {
		return nil, &Inexpressible{method, p.to, reason}
	}
	return result, nil
}

// modelAnswer rewrites the answer of a model. If the target revision permits only one block,
// several text blocks become one.
func (p *plan) modelAnswer(result jsontext.Value) (jsontext.Value, string) {
	content, _ := jsonedit.Get(result, "content")
	if !p.to.Has(protocol.SamplingTools) && content.Kind() == '[' {
		one, ok := joined(content)
		if !ok {
			return nil, "the model said more than one thing that is not text"
		}
		result, _ = jsonedit.Set(result, one, "content") // result has content, so it is an object
	}
	return rewriteValue(p, result, sampleResult)
}

// joined returns the only block of a list, or one block with all texts on separate lines. It
// returns false if the list has several blocks that are not all text.
func joined(list jsontext.Value) (jsontext.Value, bool) {
	if only, ok := jsonedit.Get(list, "0"); ok && jsonedit.Len(list) == 1 {
		return only, true
	}
	one := jsontext.Value(`{"type":"text","text":"`)
	start := len(one)
	for b := range jsonedit.Elements(list) {
		kind, _ := jsonedit.Get(b, "type")
		if !jsonedit.Equal(kind, "text") {
			return nil, false
		}
		if len(one) > start {
			one = append(one, `\n`...)
		}
		said, _ := jsonedit.Get(b, "text")
		one = append(one, inner(said)...)
	}
	return append(one, `"}`...), true
}

// formAnswer rewrites the input of a user.
func (p *plan) formAnswer(result jsontext.Value) (jsontext.Value, string) {
	if !p.to.Has(protocol.RichForms) {
		content, _ := jsonedit.Get(result, "content")
		for m := range jsonedit.Members(content) {
			if m.Value.Kind() == '[' {
				return nil, "a field of the form has several values"
			}
		}
	}
	return rewriteValue(p, result, elicitResult)
}
