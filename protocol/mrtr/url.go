package mrtr

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// Consents reports whether the answers of a retry to the questions of FromURLError let the call be made anew: no page is refused. What has not
// the shape of an answer is refused with -32602. One that is missing refuses nothing: the server will say whether the page was needed.
func (r Retry) Consents() (bool, error) {
	for i := range MaxInputs {
		v, ok := r.Get(strconv.Itoa(i))
		if !ok {
			continue
		}
		if !Elicitation.Fits(v) {
			return false, protocol.InvalidParams("inputResponses." + strconv.Itoa(i) + " is no answer to " + Elicitation.Method())
		}
		if action, _ := splice.GetString(v, "action"); action != "accept" {
			return false, nil
		}
	}
	return true, nil
}

// FromURLError turns the data of error -32042, by which a 2025-11-25 server ends a call that needs its user to visit pages first, into
// the questions that a modern client is asked. A key is the position; elicitationId goes, since nothing announces the end to a modern
// client. Other modes than url are not allowed there (2025-11-25 §client/elicitation).
func FromURLError(data jsontext.Value) ([]Input, error) {
	list, _ := splice.Get(data, "elicitations")
	if list.Kind() != '[' {
		return nil, errors.New("elicitations is not an array")
	}
	var inputs []Input
	for e := range splice.Elements(list) {
		mode, _ := splice.GetString(e, "mode")
		_, linked := splice.GetString(e, "url")
		_, said := splice.GetString(e, "message")
		switch {
		case mode != "url" || !linked || !said:
			return nil, fmt.Errorf("elicitations.%d is not one of mode url", len(inputs))
		case len(inputs) == MaxInputs:
			return nil, fmt.Errorf("elicitations has more than %d", MaxInputs)
		}
		inputs = append(inputs, Embed(strconv.Itoa(len(inputs)), kinds[Elicitation].method, e))
	}
	if len(inputs) == 0 {
		return nil, errors.New("elicitations is empty")
	}
	return inputs, nil
}

// ElicitationID is the id of the elicitation that a 2025-11-25 server asks for by a request: only one
// of mode url has an id.
func ElicitationID(method string, params jsontext.Value) (id string, ok bool) {
	if mode, _ := splice.GetString(params, "mode"); method != kinds[Elicitation].method || mode != "url" {
		return "", false
	}
	return splice.GetString(params, "elicitationId")
}

// ElicitationIDs are the ids in the data of error -32042, of MaxInputs elicitations at most.
func ElicitationIDs(data jsontext.Value) (ids []string) {
	list, _ := splice.Get(data, "elicitations")
	if list.Kind() != '[' {
		return nil
	}
	n := 0
	for e := range splice.Elements(list) {
		if n++; n > MaxInputs {
			break
		}
		if id, ok := splice.GetString(e, "elicitationId"); ok {
			ids = append(ids, id)
		}
	}
	return ids
}
