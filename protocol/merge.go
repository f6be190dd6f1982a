package protocol

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// union is a with the members of b that it lacks. Either may be empty; what is not an object counts as empty.
func union(a, b jsontext.Value) jsontext.Value {
	if a.Kind() != '{' {
		return b
	}
	for m := range splice.Members(b) {
		name := m.Key()
		if _, ok := splice.Get(a, name); ok {
			continue
		}
		a, _ = splice.Set(a, m.Value, name) // a is an object, so there is a place
	}
	return a
}
