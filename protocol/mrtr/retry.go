package mrtr

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// Response is one answer of a retry: the bare result, as it arrived.
type Response struct {
	Key   string
	Value jsontext.Value
}

// Retry is what a request says about an earlier one that it continues. The zero Retry continues nothing.
type Retry struct {
	Responses []Response
	State     jsontext.Value // a JSON string; empty for none
}

// IsRetry reports whether the params of a request continue an earlier one.
func IsRetry(params jsontext.Value) bool {
	_, responses := splice.Get(params, memberResponses)
	_, state := splice.Get(params, memberState)
	return responses || state
}

// Continues reports whether a request continues an earlier one.
func Continues(m jsonrpc.Message) bool {
	return (m.May(memberResponses) || m.May(memberState)) && IsRetry(m.Outline())
}

// ParseRetry reads inputResponses and requestState. What is malformed is refused with -32602; whether each answer fits its question is
// for whoever knows the question ([Kind.Fits]).
func ParseRetry(params jsontext.Value) (r Retry, err error) {
	responses, ok := splice.Get(params, memberResponses)
	r.State, _ = splice.Get(params, memberState)
	switch {
	case ok && responses.Kind() != '{':
		return Retry{}, protocol.InvalidParams("inputResponses is not an object")
	case len(r.State) > 0 && r.State.Kind() != '"':
		return Retry{}, protocol.InvalidParams("requestState is not a string")
	}
	for m := range splice.Members(responses) {
		if len(r.Responses) == MaxResponses {
			return Retry{}, protocol.InvalidParams(fmt.Sprintf("inputResponses has more than %d", MaxResponses))
		}
		r.Responses = append(r.Responses, Response{m.Key(), m.Value})
	}
	return r, nil
}

// Clone is the same in memory of its own, so that the request it came with is not kept for it.
func (r Retry) Clone() Retry {
	all := make([]Response, len(r.Responses))
	for i, response := range r.Responses {
		all[i] = Response{response.Key, response.Value.Clone()}
	}
	return Retry{all, r.State.Clone()}
}

// Get is the answer under that key.
func (r Retry) Get(key string) (jsontext.Value, bool) {
	for _, response := range r.Responses {
		if response.Key == key {
			return response.Value, true
		}
	}
	return nil, false
}

// Strip takes what makes a retry out of params: for a legacy server, and for the first of several attempts.
func Strip(params jsontext.Value) jsontext.Value {
	return splice.Without(params, memberResponses, memberState)
}

// Set makes the params of a request those of a retry that says r. What they continued before is gone.
func (r Retry) Set(params jsontext.Value) jsontext.Value {
	params = Strip(params)
	if len(r.Responses) > 0 {
		object := jsontext.Value{'{'}
		for i, response := range r.Responses {
			if i > 0 {
				object = append(object, ',')
			}
			object = append(object, splice.Quote(response.Key)...)
			object = append(object, ':')
			object = append(object, response.Value...)
		}
		params, _ = splice.Set(params, append(object, '}'), memberResponses) // params are an object
	}
	if len(r.State) > 0 {
		params, _ = splice.Set(params, r.State, memberState)
	}
	return params
}
