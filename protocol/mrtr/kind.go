package mrtr

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// Kind is the kind of input that a question asks for.
type Kind uint8

// The kinds.
const (
	Elicitation Kind = iota + 1
	Sampling
	Roots

	kindCount = int(iota) + 1
)

// kinds describes each kind.
var kinds = [kindCount]struct {
	method string
	prefix string // of the keys that mcpd assigns
	fits   func(v jsontext.Value) bool
	meta   bool // its result keeps _meta (2026-07-28 schema)
}{
	Elicitation: {"elicitation/create", "elicit", validElicitResult, false},
	Sampling:    {"sampling/createMessage", "sample", validSamplingResult, true},
	Roots:       {"roots/list", "roots", validRootsResult, false},
}

// KindOf returns the kind of question that a method asks, and false for any other method.
func KindOf(method string) (Kind, bool) {
	for k := Elicitation; int(k) < kindCount; k++ {
		if kinds[k].method == method {
			return k, true
		}
	}
	return 0, false
}

// Method is the method that asks the question.
func (k Kind) Method() string { return kinds[k].method }

// String is the kind in one word, with which keys begin.
func (k Kind) String() string { return kinds[k].prefix }

// Fits reports whether v has the form of an answer to such a question: all members that the schema
// requires are present and have the right type. Fits does not check content blocks, or members that
// the schema does not require.
func (k Kind) Fits(v jsontext.Value) bool { return v.Kind() == '{' && kinds[k].fits(v) }

// EmbeddedAnswer returns the answer of a legacy client as it stands in inputResponses. It removes
// _meta, except from an answer to sampling/createMessage.
func (k Kind) EmbeddedAnswer(result jsontext.Value) jsontext.Value {
	if kinds[k].meta {
		return result
	}
	return jsonedit.Without(result, "_meta")
}

// Refusal returns the answer that stands for no answer: an elicitation is cancelled. It returns
// false for other kinds, which have no such answer.
func (k Kind) Refusal() (jsontext.Value, bool) {
	return jsontext.Value(`{"action":"cancel"}`), k == Elicitation
}

// validElicitResult reports whether v is a valid result of elicitation/create.
func validElicitResult(v jsontext.Value) bool {
	switch action, _ := jsonedit.GetString(v, "action"); action {
	case "accept", "decline", "cancel":
	default:
		return false
	}
	content, ok := jsonedit.Get(v, "content")
	if !ok || content.Kind() == 'n' {
		return true // some clients write null for an absent member
	}
	if content.Kind() != '{' {
		return false
	}
	for m := range jsonedit.Members(content) {
		switch m.Value.Kind() {
		case '{', 'n':
			return false
		case '[':
			for e := range jsonedit.Elements(m.Value) {
				if e.Kind() != '"' {
					return false
				}
			}
		}
	}
	return true
}

// validSamplingResult reports whether v is a valid result of sampling/createMessage.
func validSamplingResult(v jsontext.Value) bool {
	role, _ := jsonedit.GetString(v, "role")
	_, named := jsonedit.GetString(v, "model")
	content, _ := jsonedit.Get(v, "content")
	return (role == "user" || role == "assistant") && named &&
		(content.Kind() == '{' || isArrayOfObjects(content))
}

// validRootsResult reports whether v is a valid result of roots/list.
func validRootsResult(v jsontext.Value) bool {
	roots, _ := jsonedit.Get(v, "roots")
	if !isArrayOfObjects(roots) {
		return false
	}
	for root := range jsonedit.Elements(roots) {
		if _, ok := jsonedit.GetString(root, "uri"); !ok {
			return false
		}
	}
	return true
}

// isArrayOfObjects reports whether v is an array of objects.
func isArrayOfObjects(v jsontext.Value) bool {
	for e := range jsonedit.Elements(v) {
		if e.Kind() != '{' {
			return false
		}
	}
	return v.Kind() == '['
}
