package demo

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object that this package writes. Its members are sorted by name, so that equal
// objects have equal bytes.
type object map[string]any

// encode writes a value made of objects, strings, numbers, booleans, slices of these and raw JSON.
func encode(v any) jsontext.Value {
	if raw, ok := v.(jsontext.Value); ok {
		return raw
	}
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err) // a table of this package contains something that is not JSON
	}
	return raw
}

// isObject reports whether raw is an object, or absent, which counts as an empty object.
func isObject(raw jsontext.Value) bool { return len(raw) == 0 || raw.Kind() == '{' }

// kindOf is the JSON type of a value, for error texts.
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
