package headers_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/headers"
)

const schema = `{"type":"object","properties":{` +
	`"region":{"type":"string","x-mcp-header":"Region"},` +
	`"limits":{"type":"object","properties":{"rows":{"type":"integer","x-mcp-header":"Rows"}}},` +
	`"dry":{"type":"boolean","x-mcp-header":"Dry-Run"},` +
	`"query":{"type":"string"}}}`

func mirrored(t testing.TB, schema string) []headers.Mirror {
	t.Helper()
	list, err := headers.Mirrors(jsontext.Value(schema))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// canonical returns a header with lines of the form "Name: value".
func canonical(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		h.Add(name, strings.TrimPrefix(value, " "))
	}
	return h
}

func TestFields(t *testing.T) {
	for _, tc := range []struct{ method, params, want string }{
		{"tools/list", `{}`, "Mcp-Method: tools/list"},
		{"tools/call", `{"name":"query"}`, "Mcp-Method: tools/call, Mcp-Name: query"},
		{"prompts/get", `{"name":"grüezi"}`,
			"Mcp-Method: prompts/get, Mcp-Name: =?base64?Z3LDvGV6aQ==?="},
		{"resources/read", `{"uri":"file:///a b"}`, "Mcp-Method: resources/read, Mcp-Name: file:///a b"},
		{"tasks/get", `{"taskId":"t1"}`, "Mcp-Method: tasks/get, Mcp-Name: t1"},
		{"tasks/list", `{"taskId":"t1"}`, "Mcp-Method: tasks/list"},
		{"tools/call", `{"name":7}`, "Mcp-Method: tools/call"},
		{
			"tools/call",
			`{"name":"q","arguments":{"region":"eu","limits":{"rows":42.0},"dry":false,"query":"x"}}`,
			"Mcp-Method: tools/call, Mcp-Name: q, Mcp-Param-Region: eu, Mcp-Param-Rows: 42, " +
				"Mcp-Param-Dry-Run: false",
		},
		{"tools/call", `{"name":"q","arguments":{"region":"","dry":null}}`,
			"Mcp-Method: tools/call, Mcp-Name: q, Mcp-Param-Region: "},
		{"tools/call", `{"name":"q","arguments":{"region":["eu"],"limits":{"rows":1.5}}}`,
			"Mcp-Method: tools/call, Mcp-Name: q"},
		{"tools/call", `{"name":"q","arguments":{"limits":[{"rows":1}]}}`,
			"Mcp-Method: tools/call, Mcp-Name: q"},
		{"tools/call", `{"name":"q","arguments":{"region":true}}`,
			"Mcp-Method: tools/call, Mcp-Name: q, Mcp-Param-Region: true"},
	} {
		r := headers.Request{
			Method: tc.method, Params: jsontext.Value(tc.params), Mirrored: mirrored(t, schema),
		}
		fields, err := r.Fields()
		var lines []string
		for _, f := range fields {
			lines = append(lines, f.Name+": "+f.Value)
		}
		if got := strings.Join(lines, ", "); got != tc.want || err != nil {
			t.Errorf("%s %s: got %s, %v; want %s", tc.method, tc.params, got, err, tc.want)
		}
	}
}

func TestFieldsAreBounded(t *testing.T) {
	for n, want := range map[int]error{headers.MaxValue: nil,
		headers.MaxValue + 1: protocol.ConditionTooLarge} {
		r := headers.Request{
			Method: "tools/call", Params: jsontext.Value(`{"name":"` + strings.Repeat("a", n) + `"}`),
		}
		if _, err := r.Fields(); !errors.Is(err, want) {
			t.Errorf("%d: got %v, want %v", n, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	const called = `{"name":"q","arguments":{"region":"eu","limits":{"rows":42}}}`
	for _, tc := range []struct {
		params string
		lines  string
		want   string
	}{
		{called, "mcp-method: tools/call|MCP-NAME: q|Mcp-Param-Region: eu|mcp-param-rows: 42", ""},
		{called, "Mcp-Method:  tools/call |Mcp-Name: \tq|Mcp-Param-Region: " +
			"=?base64?ZXU=?=|Mcp-Param-Rows: 4.20e1", ""},
		{called, "Mcp-Method: tools/call|Mcp-Name: q|Mcp-Param-Region: eu|Mcp-Param-Rows: " +
			"42|Mcp-Param-Other: x", ""},
		{called, "Mcp-Name: q|Mcp-Param-Region: eu|Mcp-Param-Rows: 42", "Mcp-Method: missing"},
		{called, "Mcp-Method: Tools/call|Mcp-Name: q|Mcp-Param-Region: eu|Mcp-Param-Rows: 42",
			"Mcp-Method: differs"},
		{called, "Mcp-Method: tools/call|Mcp-Method: tools/call|Mcp-Name: q",
			"Mcp-Method: sent more than once"},
		{called, "Mcp-Method: tools/call|Mcp-Param-Region: eu|Mcp-Param-Rows: 42", "Mcp-Name: missing"},
		{called, "Mcp-Method: tools/call|Mcp-Name: Q|Mcp-Param-Region: eu|Mcp-Param-Rows: 42",
			"Mcp-Name: differs"},
		{called, "Mcp-Method: tools/call|Mcp-Name: q|Mcp-Name: q", "Mcp-Name: sent more than once"},
		{called, "Mcp-Method: tools/call|Mcp-Name: =?base64?cR==?=", "Mcp-Name: is not base64"},
		{called, "Mcp-Method: tools/call|Mcp-Name: q|Mcp-Param-Rows: 42", "Mcp-Param-Region: missing"},
		{called, "Origin: https://a.example|Mcp-Method: tools/call|Mcp-Name: q|Mcp-Param-Rows: 42", ""},
		{called, "Origin: https://a.example|Mcp-Method: tools/call|Mcp-Name: q|Mcp-Param-Rows: 41",
			"Mcp-Param-Rows: differs from the body"},
		{called, "Mcp-Method: tools/call|Mcp-Name: q|Mcp-Param-Region: EU|Mcp-Param-Rows: 42",
			"Mcp-Param-Region: differs"},
		{called, "Mcp-Method: tools/call|Mcp-Name: q|Mcp-Param-Region: eu\xff",
			"Mcp-Param-Region: contains a character that is not allowed"},
		{called, "Mcp-Method: tools/call|Mcp-Name: q|Mcp-Param-Region: eu|Mcp-Param-Region: us",
			"Mcp-Param-Region: sent more than once"},
		{called, "Mcp-Method: tools/call|Mcp-Name: q|Mcp-Param-Region: eu|Mcp-Param-Rows: 42.5",
			"Mcp-Param-Rows: differs"},
		{called, "Mcp-Method: tools/call|Mcp-Name: q|Mcp-Param-Region: eu|Mcp-Param-Rows: 042",
			"Mcp-Param-Rows: differs"},
		{called, "Mcp-Method: tools/call|Mcp-Name: q|Mcp-Param-Region: eu|Mcp-Param-Rows: " +
			"42|Mcp-Param-Dry-Run: true", "Mcp-Param-Dry-Run: the argument is absent"},
		{`{"name":"q","arguments":{"dry":null}}`, "Mcp-Method: tools/call|Mcp-Name: q", ""},
		{`{"name":"q","arguments":{"region":""}}`,
			"Mcp-Method: tools/call|Mcp-Name: q|Mcp-Param-Region:", ""},
		{`{"name":"q","arguments":{"region":""}}`, "Mcp-Method: tools/call|Mcp-Name: q",
			"Mcp-Param-Region: missing"},
		{`{"name":"q","arguments":{"dry":"true"}}`,
			"Mcp-Method: tools/call|Mcp-Name: q|Mcp-Param-Dry-Run: true", ""},
		{`{"name":"q","arguments":{"dry":[true]}}`,
			"Mcp-Method: tools/call|Mcp-Name: q|Mcp-Param-Dry-Run: true", "Mcp-Param-Dry-Run: differs"},
		{`{"name":"q","arguments":{"limits":{"rows":9007199254740993}}}`,
			"Mcp-Method: tools/call|Mcp-Name: q|Mcp-Param-Rows: 9007199254740993",
			"Mcp-Param-Rows: differs"},
		{`{}`, "Mcp-Method: tools/call", ""}, // refused elsewhere, for its params
		{`{}`, "Mcp-Method: tools/call|Mcp-Name: q", "Mcp-Name: differs"},
	} {
		r := headers.Request{
			Method: "tools/call", Params: jsontext.Value(tc.params), Mirrored: mirrored(t, schema),
		}
		err := r.Check(canonical(strings.Split(tc.lines, "|")...).Values)
		switch {
		case tc.want == "" && err != nil,
			tc.want != "" && !strings.Contains(fmt.Sprint(err), "header "+tc.want):
			t.Errorf("%s with %s: got %v, want %q", tc.params, tc.lines, err, tc.want)
		case tc.want != "" && protocol.Translate(err,
			protocol.Latest).Code != protocol.CodeHeaderMismatch:
			t.Errorf("%v: is not -32020", err)
		}
	}
}

// A notification needs no fields. Mcp-Name is not checked for a method without a name.
func TestCheckAsksNoMoreThanTheMethodHas(t *testing.T) {
	note := headers.Request{Method: "notifications/cancelled", Optional: true}
	if err := note.Check(canonical().Values); err != nil {
		t.Error(err)
	}
	if err := note.Check(canonical("Mcp-Method: tools/call").Values); !errors.Is(err,
		protocol.ConditionHeaderMismatch) {
		t.Errorf("got %v", err)
	}
	list := headers.Request{Method: "tools/list"}
	if err := list.Check(canonical("Mcp-Method: tools/list",
		"Mcp-Name: anything").Values); err != nil {
		t.Error(err)
	}
}

// The fields that are sent with a request are the fields that its receiver expects.
func FuzzFieldsAreChecked(f *testing.F) {
	f.Add("tools/call", `{"name":"q","arguments":{"region":"eu","limits":{"rows":1e3},"dry":true}}`)
	f.Add("resources/read", `{"uri":"file:///ü"}`)
	f.Add("tools/call", `{"name":"q","arguments":{"region":" ","limits":{"rows":-0.0}}}`)
	f.Add("tools/call", `{"name":"q","arguments":{"limits":{"rows":0.0042e4}}}`)
	f.Add("tools/call", `{"name":"q","arguments":{"limits":{"rows":1e99999999999999999999}}}`)
	list := mirrored(f, schema)
	f.Fuzz(func(t *testing.T, method, params string) {
		raw := jsontext.Value(params)
		if !raw.IsValid() {
			headers.Request{Method: method, Params: raw, Mirrored: list}.Fields()
			return
		}
		r := headers.Request{Method: method, Params: raw, Mirrored: list}
		fields, err := r.Fields()
		if err != nil || method != strings.Trim(method, " \t") {
			return
		}
		h := http.Header{}
		for _, field := range fields {
			h.Set(field.Name, field.Value)
		}
		err = r.Check(h.Values)
		if err == nil {
			return
		}
		// Only an argument that no field can represent is sent without a field, and counts as missing.
		for _, m := range list {
			if strings.Contains(err.Error(), headers.Param+m.Name+": missing") {
				return
			}
		}
		t.Fatalf("%s %s: %v", method, params, err)
	})
}

func BenchmarkFields(b *testing.B) {
	r := headers.Request{
		Method: "tools/call",
		Params: jsontext.Value(
			`{"name":"q","arguments":{"region":"eu","limits":{"rows":42},"dry":false,"query":"x"},"_meta":{"progressToken":1}}`,
		),
		Mirrored: mirrored(b, schema),
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Fields(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	r := headers.Request{
		Method: "tools/call",
		Params: jsontext.Value(
			`{"name":"q","arguments":{"region":"eu","limits":{"rows":42},"dry":false,"query":"x"},"_meta":{"progressToken":1}}`,
		),
		Mirrored: mirrored(b, schema),
	}
	h := canonical("Mcp-Method: tools/call", "Mcp-Name: q", "Mcp-Param-Region: eu",
		"Mcp-Param-Rows: 42", "Mcp-Param-Dry-Run: false")
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Check(h.Values); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleRequest_Fields() {
	mirrored, err := headers.Mirrors(
		jsontext.Value(
			`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`,
		),
	)
	if err != nil {
		fmt.Println("not offered over HTTP:", err)
		return
	}
	call := headers.Request{
		Method: "tools/call", Params: jsontext.Value(`{"name":"query","arguments":{"region":"Zürich"}}`),
		Mirrored: mirrored,
	}
	fields, _ := call.Fields()
	for _, f := range fields {
		fmt.Printf("%s: %s\n", f.Name, f.Value)
	}
	// Output:
	// Mcp-Method: tools/call
	// Mcp-Name: query
	// Mcp-Param-Region: =?base64?WsO8cmljaA==?=
}
