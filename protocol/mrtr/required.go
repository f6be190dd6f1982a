package mrtr

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// ResultType is the type of a modern server's result (2026-07-28 §basic).
type ResultType uint8

// The types of results.
const (
	Unknown       ResultType = iota // must be treated as invalid
	Complete                        // also a result without resultType, as from older servers
	InputRequired                   // Parse reads it
	Task                            // a task of the tasks extension
)

// TypeOf returns the type of a result.
func TypeOf(result jsontext.Value) ResultType {
	if result.Kind() != '{' {
		return Unknown
	}
	v, ok := jsonedit.Get(result, memberType)
	if !ok {
		return Complete
	}
	switch text, _ := jsonedit.Unquote(v); text {
	case "complete":
		return Complete
	case "input_required":
		return InputRequired
	case "task":
		return Task
	}
	return Unknown
}

// Input is one question of an input_required result, an entry of inputRequests.
type Input struct {
	Key    string
	Method string
	Params jsontext.Value // empty when absent, which only roots/list allows
}

// Required is the content of an input_required result, which has inputRequests, a requestState, or
// both.
type Required struct {
	Inputs []Input
	State  jsontext.Value // a JSON string; empty for none, which differs from ""
}

// Parse reads an input_required result of a server. The questions keep the order of the result.
// Every error means that the server violated the protocol.
func Parse(result jsontext.Value) (r Required, err error) {
	requests, asks := jsonedit.Get(result, memberRequests)
	r.State, _ = jsonedit.Get(result, memberState)
	switch {
	case !asks && len(r.State) == 0:
		return Required{}, errors.New("input_required has neither inputRequests nor requestState")
	case asks && requests.Kind() != '{':
		return Required{}, errors.New("inputRequests is not an object")
	case len(r.State) > 0 && r.State.Kind() != '"':
		return Required{}, errors.New("requestState is not a string")
	case len(r.State) > MaxState:
		return Required{}, fmt.Errorf("requestState is larger than %d bytes", MaxState)
	}
	for m := range jsonedit.Members(requests) {
		in, err := parseInput(m)
		if err != nil {
			return Required{}, err
		}
		if len(r.Inputs) == MaxInputs {
			return Required{}, fmt.Errorf("inputRequests has more than %d members", MaxInputs)
		}
		r.Inputs = append(r.Inputs, in)
	}
	return r, nil
}

func parseInput(m jsonedit.Member) (in Input, err error) {
	if len(m.Name) > MaxKey {
		return Input{}, fmt.Errorf("a key of inputRequests is longer than %d bytes", MaxKey)
	}
	in.Key = m.Key()
	in.Method, _ = jsonedit.GetString(m.Value, "method")
	in.Params, _ = jsonedit.Get(m.Value, "params")
	kind, ok := KindOf(in.Method)
	switch {
	case !ok:
		return Input{}, fmt.Errorf("inputRequests.%s has method %.64q", in.Key, in.Method)
	case len(in.Params) == 0 && kind != Roots:
		return Input{}, fmt.Errorf("inputRequests.%s has no params", in.Key)
	case len(in.Params) > 0 && in.Params.Kind() != '{':
		return Input{}, fmt.Errorf("inputRequests.%s.params is not an object", in.Key)
	}
	return in, nil
}

// Result returns r as an input_required result.
func (r Required) Result() jsontext.Value {
	out := jsontext.Value(`{"resultType":"input_required"`)
	for i, in := range r.Inputs {
		if i == 0 {
			out = append(out, `,"inputRequests":{`...)
		} else {
			out = append(out, ',')
		}
		out = append(out, jsonedit.Quote(in.Key)...)
		out = append(out, `:{"method":`...)
		out = append(out, jsonedit.Quote(in.Method)...)
		if len(in.Params) > 0 {
			out = append(out, `,"params":`...)
			out = append(out, in.Params...)
		}
		out = append(out, '}')
	}
	if len(r.Inputs) > 0 {
		out = append(out, '}')
	}
	if len(r.State) > 0 {
		out = append(out, `,"requestState":`...)
		out = append(out, r.State...)
	}
	return append(out, '}')
}

// SetState replaces the requestState of an input_required result, which must be an object. All
// other bytes stay. A host uses SetState to wrap a server's state into its own.
func SetState(result, state jsontext.Value) jsontext.Value {
	result, _ = jsonedit.Set(result, state, memberState) // Parse has checked that result is an object
	return result
}

// Embed turns a request of a legacy server into an input with that key. It removes the members that
// only a request of its own may have.
func Embed(key, method string, params jsontext.Value) Input {
	params = jsonedit.Without(params, "_meta", "task", "elicitationId")
	if kind, _ := KindOf(method); kind == Roots {
		// The request has no params of its own, but some clients cannot read an input without params.
		params = jsontext.Value("{}")
	}
	return Input{Key: key, Method: method, Params: params}
}
