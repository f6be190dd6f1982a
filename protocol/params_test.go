package protocol_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// A refusal names the invalid member.
func TestParamsAreChecked(t *testing.T) {
	for _, c := range []struct{ method, params, wrong string }{
		{"tools/call", ``, "params.name is missing"},
		{"tools/call", `{"arguments":{}}`, "params.name is missing"},
		{"tools/call", `{"name":5}`, "params.name is not a string"},
		{"tools/call", `{"name":null}`, "params.name is not a string"},
		{"tools/call", `{"name":"a","arguments":[1]}`, "params.arguments is not an object"},
		{"tools/call", `{"name":"a","arguments":"{}"}`, "params.arguments is not an object"},
		{"prompts/get", `{"name":{}}`, "params.name is not a string"},
		{"prompts/get", `{"name":"a","arguments":7}`, "params.arguments is not an object"},
		{"resources/read", `{"uri":{}}`, "params.uri is not a string"},
		{"resources/subscribe", `{}`, "params.uri is missing"},
		{"resources/unsubscribe", `{"uri":1}`, "params.uri is not a string"},
		{"completion/complete", `{"ref":"a","argument":{}}`, "params.ref.type is missing"},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"b"}}`,
			"params.argument.value is missing"},
		{
			"completion/complete",
			`{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"b","value":5}}`,
			"params.argument.value is not a string",
		},
		{"tools/list", `{"cursor":5}`, "params.cursor is not a string"},
		{"tasks/update", `{"taskId":"a"}`, "params.inputResponses is missing"},
		{"tasks/update", `{"taskId":"a","inputResponses":null}`,
			"params.inputResponses is not an object"},

		{"tasks/update", `{"taskId":"a","inputResponses":{}}`, ""},
		{"tools/call", `{"name":"a"}`, ""},
		{"tools/call", `{"name":"a","arguments":null}`, ""},
		{"tools/call", `{"name":"a","arguments":{"b":[1]},"more":1}`, ""},
		{"completion/complete", `{"ref":{"type":"ref/prompt"},"argument":{"name":"b","value":""}}`, ""},
		{"tools/list", `{"cursor":null}`, ""},
		{"tools/list", ``, ""},
		{"own/method", `{"name":5}`, ""},
	} {
		m := jsonrpc.Request(jsonrpc.IntID(1), c.method, jsontext.Value(c.params))
		read, broken := jsonrpc.Decode(m.Append(nil), jsonrpc.Limits{})
		err := protocol.CheckParams(m)
		if again := protocol.CheckParams(read); broken != nil || fmt.Sprint(again) != fmt.Sprint(err) {
			t.Errorf("%s %s: %v, %v when it was read", c.method, c.params, again, broken)
		}
		switch {
		case c.wrong == "" && err != nil:
			t.Errorf("%s %s: %v", c.method, c.params, err)
		case c.wrong != "" && (protocol.ConditionOf(err) != protocol.ConditionInvalidParams ||
			!strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s %s: got %v, want %q", c.method, c.params, err, c.wrong)
		}
	}
}
