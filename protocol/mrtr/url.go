package mrtr

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// AcceptsPages reports whether the retry permits a new attempt at a call that ended with error
// -32042: no answer refuses a page. The questions are those of FromURLError. A malformed answer
// yields an error with code -32602. A missing answer refuses nothing, because the server then
// decides whether the page was necessary.
func (r Retry) AcceptsPages() (bool, error) {
	for i := range MaxInputs {
		v, ok := r.Get(strconv.Itoa(i))
		if !ok {
			continue
		}
		if !Elicitation.Fits(v) {
			return false, protocol.InvalidParams("inputResponses." + strconv.Itoa(i) +
				" is not an answer to " +
				Elicitation.Method())
		}
		if action, _ := jsonedit.GetString(v, "action"); action != "accept" {
			return false, nil
		}
	}
	return true, nil
}

// FromURLError turns the data of error -32042 into questions for a modern client. A 2025-11-25
// server ends a call with that error if its user must visit pages first. The key of a question is
// its position. The elicitationId is removed, because a modern client receives no notification of
// completion. All elicitations must have mode url (2025-11-25 §client/elicitation); otherwise
// FromURLError returns an error.
func FromURLError(data jsontext.Value) ([]Input, error) {
	list, _ := jsonedit.Get(data, "elicitations")
	if list.Kind() != '[' {
		return nil, errors.New("elicitations is not an array")
	}
	var inputs []Input
	for e := range jsonedit.Elements(list) {
		mode, _ := jsonedit.GetString(e, "mode")
		_, linked := jsonedit.GetString(e, "url")
		_, said := jsonedit.GetString(e, "message")
		switch {
		case mode != "url" || !linked || !said:
			return nil, fmt.Errorf("elicitations.%d is not one of mode url", len(inputs))
		case len(inputs) == MaxInputs:
			return nil, fmt.Errorf("elicitations has more than %d items", MaxInputs)
		}
		inputs = append(inputs, Embed(strconv.Itoa(len(inputs)), kinds[Elicitation].method, e))
	}
	if len(inputs) == 0 {
		return nil, errors.New("elicitations is empty")
	}
	return inputs, nil
}

// ElicitationID returns the id of the elicitation that a 2025-11-25 server requests. Only an
// elicitation with mode url has an id.
func ElicitationID(method string, params jsontext.Value) (id string, ok bool) {
	if mode, _ := jsonedit.GetString(params, "mode"); method != kinds[Elicitation].method ||
		mode != "url" {
		return "", false
	}
	return jsonedit.GetString(params, "elicitationId")
}

// ElicitationIDs returns the ids in the data of error -32042, of at most MaxInputs elicitations.
func ElicitationIDs(data jsontext.Value) (ids []string) {
	list, _ := jsonedit.Get(data, "elicitations")
	if list.Kind() != '[' {
		return nil
	}
	n := 0
	for e := range jsonedit.Elements(list) {
		if n++; n > MaxInputs {
			break
		}
		if id, ok := jsonedit.GetString(e, "elicitationId"); ok {
			ids = append(ids, id)
		}
	}
	return ids
}
