package protocol

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// union returns a plus the members of b that a lacks. Either may be empty. A value that is not an
// object counts as empty.
func union(a, b jsontext.Value) jsontext.Value {
	if a.Kind() != '{' {
		return b
	}
	for m := range jsonedit.Members(b) {
		name := m.Key()
		if _, ok := jsonedit.Get(a, name); ok {
			continue
		}
		a, _ = jsonedit.Set(a, m.Value, name) // a is an object, so Set cannot fail
	}
	return a
}
