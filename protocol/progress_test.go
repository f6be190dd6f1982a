package protocol_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// The progress of a request increases, and its members have the types of the schema (2025-11-25
// §basic/utilities/progress).
func TestProgressIncreases(t *testing.T) {
	var heard protocol.Progress
	for _, c := range []struct{ in, want string }{
		{`{"progressToken":1,"progress":0}`, `{"progressToken":1,"progress":0}`},
		{`{"progressToken":1,"progress":0}`, ``},
		{`{"progressToken":1,"progress":-1}`, ``},
		{`{"progressToken":1,"progress":"5"}`, ``},
		{`{"progressToken":1,"progress":null}`, ``},
		{`{"progressToken":1,"progress":1e999}`, ``},
		{`{"progressToken":1}`, ``},
		{``, ``},
		{`{"progressToken":1,"progress":0.5,"total":10,"message":"a"}`,
			`{"progressToken":1,"progress":0.5,"total":10,"message":"a"}`},
		{`{"progressToken":1,"progress":2,"total":null,"message":5}`, `{"progressToken":1,"progress":2}`},
		{`{"progressToken":2,"progress":1}`, ``},
		{`{"progressToken":2,"progress":3,"total":"9"}`, `{"progressToken":2,"progress":3}`},
	} {
		got, ok := heard.Accept(jsontext.Value(c.in))
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%s: got %s %v, want %s", c.in, got, ok, c.want)
		}
	}
}
