package mrtr

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// Check reports what is wrong with a result of a modern server: a type that is not known, a task for a client that follows none, or a
// question that the method does not allow or for which the client has not declared the capability (2026-07-28 §basic/patterns/mrtr). The
// gate is what the request said. Every error means that the server broke the protocol.
func Check(method string, result jsontext.Value, gate protocol.Gate) error {
	kind := TypeOf(result)
	switch {
	case result.Kind() != '{':
		return errors.New("the result is not an object")
	case kind == Complete:
		return nil
	case kind == Task && method == "tools/call" && gate.Client.Has("extensions."+protocol.ExtensionTasks):
		return nil
	case kind == Task:
		return errors.New("the result is a task, and none was asked for")
	case kind == Unknown:
		v, _ := splice.Get(result, memberType)
		return fmt.Errorf("resultType is %.64s", v)
	case !MayAsk(method):
		return fmt.Errorf("a result of %s may not ask", method)
	}
	r, err := Parse(result)
	if err != nil {
		return err
	}
	return r.Check(gate)
}

// Typed is a result that Check has passed, which says its type to whoever wants to hear it (2026-07-28 §basic).
func Typed(result jsontext.Value) jsontext.Value {
	if _, said := splice.Get(result, memberType); !said {
		result, _ = splice.Set(result, jsontext.Value(`"complete"`), memberType) // it is an object
	}
	return result
}

// Check reports the question of r that the client has not declared that it can be asked.
func (r Required) Check(gate protocol.Gate) error {
	for _, in := range r.Inputs {
		if err := gate.CheckInput(in.Method, in.Params); err != nil {
			return fmt.Errorf("inputRequests.%s: %w", in.Key, err)
		}
	}
	return nil
}
