package demo

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object that this package writes. Members come out sorted by name, so that equal objects have equal bytes.
type object map[string]any

// encode writes a value made of objects, strings, numbers, booleans, slices of these and raw JSON.
func encode(v any) jsontext.Value {
	if raw, ok := v.(jsontext.Value); ok {
		return raw
	}
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err) // a table of this package holds something that is not JSON
	}
	return raw
}

// isObject reports whether raw is an object, or absent and so an empty one.
func isObject(raw jsontext.Value) bool { return len(raw) == 0 || raw.Kind() == '{' }

// kindOf names what a value is, as error texts do.
func kindOf(raw jsontext.Value) string {
	switch raw.Kind() {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '0':
		return "number"
	case '[':
		return "array"
	}
	return "object"
}
