package mrtr

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// Response is one answer in a retry: the bare result, as it arrived.
type Response struct {
	Key   string
	Value jsontext.Value
}

// Retry is the part of a request that refers to the earlier request it continues. The zero Retry
// continues no request.
type Retry struct {
	Responses []Response
	State     jsontext.Value // a JSON string; empty for none
}

// IsRetry reports whether the params of a request continue an earlier request.
func IsRetry(params jsontext.Value) bool {
	_, responses := jsonedit.Get(params, memberResponses)
	_, state := jsonedit.Get(params, memberState)
	return responses || state
}

// Continues reports whether m continues an earlier request.
func Continues(m jsonrpc.Message) bool {
	return (m.MayHave(memberResponses) || m.MayHave(memberState)) && IsRetry(m.Elided())
}

// ParseRetry reads inputResponses and requestState from the params of a request. Malformed params
// yield an error with code -32602. The caller must check each answer against its question
// ([Kind.Fits]).
func ParseRetry(params jsontext.Value) (r Retry, err error) {
	responses, ok := jsonedit.Get(params, memberResponses)
	r.State, _ = jsonedit.Get(params, memberState)
	switch {
	case ok && responses.Kind() != '{':
		return Retry{}, protocol.InvalidParams("inputResponses is not an object")
	case len(r.State) > 0 && r.State.Kind() != '"':
		return Retry{}, protocol.InvalidParams("requestState is not a string")
	}
	for m := range jsonedit.Members(responses) {
		if len(r.Responses) == MaxResponses {
			return Retry{}, protocol.InvalidParams(fmt.Sprintf("inputResponses has more than %d members",
				MaxResponses))
		}
		r.Responses = append(r.Responses, Response{m.Key(), m.Value})
	}
	return r, nil
}

// Clone returns a copy of r that shares no memory with the request.
func (r Retry) Clone() Retry {
	all := make([]Response, len(r.Responses))
	for i, response := range r.Responses {
		all[i] = Response{response.Key, response.Value.Clone()}
	}
	return Retry{all, r.State.Clone()}
}

// Get returns the answer with that key, and whether there is one.
func (r Retry) Get(key string) (jsontext.Value, bool) {
	for _, response := range r.Responses {
		if response.Key == key {
			return response.Value, true
		}
	}
	return nil, false
}

// Strip removes inputResponses and requestState from params: for a legacy server, and for the first
// of several attempts.
func Strip(params jsontext.Value) jsontext.Value {
	return jsonedit.Without(params, memberResponses, memberState)
}

// Set returns the params of a request as those of a retry with the content of r. Earlier
// inputResponses and requestState are replaced.
func (r Retry) Set(params jsontext.Value) jsontext.Value {
	params = Strip(params)
	if len(r.Responses) > 0 {
		object := jsontext.Value{'{'}
		for i, response := range r.Responses {
			if i > 0 {
				object = append(object, ',')
			}
			object = append(object, jsonedit.Quote(response.Key)...)
			object = append(object, ':')
			object = append(object, response.Value...)
		}
		params, _ = jsonedit.Set(params, append(object, '}'), memberResponses) // params is an object
	}
	if len(r.State) > 0 {
		params, _ = jsonedit.Set(params, r.State, memberState)
	}
	return params
}
