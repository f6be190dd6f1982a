package rewrite

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// Answer is what a client of revision from answered to such a question, for the server of revision to that asked: the result of a request
// or an entry of inputResponses. It fails with *Inexpressible when the server cannot be told; it has no use for such an answer.
func Answer(method string, from, to protocol.Version, result jsontext.Value) (jsontext.Value, error) {
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
		result, reason = p.utterance(result)
	case elicitResult:
		result, reason = p.filled(result)
	default:
		result, reason = whole(p, result, o)
	}
	if reason != "" {
		return nil, &Inexpressible{method, p.to, reason}
	}
	return result, nil
}

// utterance rewrites what a model said. Where it may be one block only, texts become one.
func (p *plan) utterance(result jsontext.Value) (jsontext.Value, string) {
	content, _ := splice.Get(result, "content")
	if !p.to.Has(protocol.SamplingTools) && content.Kind() == '[' {
		one, ok := joined(content)
		if !ok {
			return nil, "the model said more than one thing that is not text"
		}
		result, _ = splice.Set(result, one, "content") // it is an object: it has content
	}
	return whole(p, result, sampleResult)
}

// joined is the only block of a list, or its texts one below the other.
func joined(list jsontext.Value) (jsontext.Value, bool) {
	if only, ok := splice.Get(list, "0"); ok && splice.Len(list) == 1 {
		return only, true
	}
	one := jsontext.Value(`{"type":"text","text":"`)
	start := len(one)
	for b := range splice.Elements(list) {
		kind, _ := splice.Get(b, "type")
		if !splice.Equal(kind, "text") {
			return nil, false
		}
		if len(one) > start {
			one = append(one, `\n`...)
		}
		said, _ := splice.Get(b, "text")
		one = append(one, inner(said)...)
	}
	return append(one, `"}`...), true
}

// filled rewrites what a user entered.
func (p *plan) filled(result jsontext.Value) (jsontext.Value, string) {
	if !p.to.Has(protocol.RichForms) {
		content, _ := splice.Get(result, "content")
		for m := range splice.Members(content) {
			if m.Value.Kind() == '[' {
				return nil, "a field of the form has several values"
			}
		}
	}
	return whole(p, result, elicitResult)
}
