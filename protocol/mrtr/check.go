package mrtr

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// Check returns an error if a modern server may not send that result to its client. The result is
// invalid if its type is unknown, if it is a task for a client without the tasks extension, or if
// it asks a question that the method does not allow or the client did not declare (2026-07-28
// §basic/patterns/mrtr). Gate holds the declarations of the request. Every error means that the
// server violated the protocol.
func Check(method string, result jsontext.Value, gate protocol.Gate) error {
	kind := TypeOf(result)
	switch {
	case result.Kind() != '{':
		return errors.New("the result is not an object")
	case kind == Complete:
		return nil
	case kind == Task && method == "tools/call" &&
		gate.Client.Has("extensions."+protocol.ExtensionTasks):
		return nil
	case kind == Task:
		return errors.New("the result is a task, and none was asked for")
	case kind == Unknown:
		v, _ := jsonedit.Get(result, memberType)
		return fmt.Errorf("resultType is %.64s", v)
	case !MayAsk(method):
		return fmt.Errorf("a result of %s must not ask for input", method)
	}
	r, err := Parse(result)
	if err != nil {
		return err
	}
	return r.Check(gate)
}

// WithResultType adds the resultType "complete" to a result that passed Check and has no resultType
// (2026-07-28 §basic).
func WithResultType(result jsontext.Value) jsontext.Value {
	if _, said := jsonedit.Get(result, memberType); !said {
		result, _ = jsonedit.Set(result, jsontext.Value(`"complete"`), memberType) // result is an object
	}
	return result
}

// Check returns an error that names the first question of r whose capability the client did not
// declare.
func (r Required) Check(gate protocol.Gate) error {
	for _, in := range r.Inputs {
		if err := gate.CheckInput(in.Method, in.Params); err != nil {
			return fmt.Errorf("inputRequests.%s: %w", in.Key, err)
		}
	}
	return nil
}
