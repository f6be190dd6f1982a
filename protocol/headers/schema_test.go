package headers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/headers"
)

func TestMirrors(t *testing.T) {
	annotated := func(inner string) string {
		return `{"type":"object","properties":{"a":` + inner + `}}`
	}
	many := strings.Builder{}
	for i := range headers.MaxParams + 1 {
		fmt.Fprintf(&many, `"p%d":{"type":"string","x-mcp-header":"H%d"},`, i, i)
	}
	for _, tc := range []struct{ schema, want string }{
		{``, "[]"},
		{`{"type":"object"}`, "[]"},
		{schema, "[{[region] Region string} {[limits rows] Rows integer} {[dry] Dry-Run boolean}]"},
		{annotated(`{"type":"string","x-mcp-header":"!#$%&'*+-.^_` + "`" + `|~09azAZ"}`),
			"[{[a] !#$%&'*+-.^_`|~09azAZ string}]"},
		{annotated(`{"type":"string","x\u002dmcp-header":"X"}`), "[{[a] X string}]"},
		{annotated(`{"$ref":"#/$defs/d","type":"string","x-mcp-header":"X"}`), "[{[a] X string}]"},
		// Data and property names are not annotations.
		{
			annotated(`{"default":{"x-mcp-header":""},"enum":[{"x-mcp-header":""}],"examples":[{"properties":{"x-mcp-header":""}}]}`), "[]",
		},
		{`{"properties":{"x-mcp-header":{"type":"number"},"items":{"type":"string","x-mcp-header":"X"}}}`,
			"[{[items] X string}]"},
		// Rule 1: a token.
		{annotated(`{"type":"string","x-mcp-header":""}`), "is not a token"},
		{annotated(`{"type":"string","x-mcp-header":"a b"}`), "is not a token"},
		{annotated(`{"type":"string","x-mcp-header":"a:b"}`), "is not a token"},
		{annotated(`{"type":"string","x-mcp-header":"grün"}`), "is not a token"},
		{annotated(`{"type":"string","x-mcp-header":"a\r\nb"}`), "is not a token"},
		{annotated(`{"type":"string","x-mcp-header":7}`), "is not a token"},
		{annotated(`{"type":"string","x-mcp-header":null}`), "is not a token"},
		// Rule 2: unique regardless of case.
		{
			`{"properties":{"a":{"type":"string","x-mcp-header":"X"},"b":{"properties":{"c":{"type":"string","x-mcp-header":"x"}}}}}`, "is there twice",
		},
		// Rule 3: the type.
		{annotated(`{"type":"number","x-mcp-header":"X"}`), "is none"},
		{annotated(`{"type":"object","x-mcp-header":"X"}`), "is none"},
		{annotated(`{"type":"array","x-mcp-header":"X"}`), "is none"},
		{annotated(`{"type":"null","x-mcp-header":"X"}`), "is none"},
		{annotated(`{"type":["string","null"],"x-mcp-header":"X"}`), "is none"},
		{annotated(`{"x-mcp-header":"X"}`), "is none"},
		// Rule 5: only properties lead to the annotation.
		{`{"type":"string","x-mcp-header":"X"}`, "not reached through properties only"},
		{annotated(`{"items":{"type":"string","x-mcp-header":"X"}}`),
			"not reached through properties only"},
		{annotated(`{"items":{"properties":{"b":{"type":"string","x-mcp-header":"X"}}}}`),
			"not reached through properties only"},
		{annotated(`{"prefixItems":[{"type":"string","x-mcp-header":"X"}]}`),
			"not reached through properties only"},
		{`{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"X"}}}]}`,
			"not reached through properties only"},
		{`{"anyOf":[{"type":"string","x-mcp-header":"X"}]}`, "not reached through properties only"},
		{`{"allOf":[{"type":"string","x-mcp-header":"X"}]}`, "not reached through properties only"},
		{`{"not":{"type":"string","x-mcp-header":"X"}}`, "not reached through properties only"},
		{`{"if":{"properties":{"a":{"type":"string","x-mcp-header":"X"}}}}`,
			"not reached through properties only"},
		{`{"then":{"properties":{"a":{"type":"string","x-mcp-header":"X"}}}}`,
			"not reached through properties only"},
		{`{"else":{"properties":{"a":{"type":"string","x-mcp-header":"X"}}}}`,
			"not reached through properties only"},
		{`{"$defs":{"a":{"type":"string","x-mcp-header":"X"}}}`, "not reached through properties only"},
		{`{"patternProperties":{".*":{"type":"string","x-mcp-header":"X"}}}`,
			"not reached through properties only"},
		{`{"additionalProperties":{"type":"string","x-mcp-header":"X"}}`,
			"not reached through properties only"},
		// Bounds.
		{`{"properties":{` + strings.TrimSuffix(many.String(), ",") + `}}`, "more than 64"},
		{strings.Repeat(`{"properties":{"a":`, 70) + `{"x-mcp-header":1}` + strings.Repeat(`}}`, 70),
			"deeper than 64"},
	} {
		found, err := headers.Mirrors(jsontext.Value(tc.schema))
		got := fmt.Sprint(found)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != tc.want || !strings.Contains(got, tc.want) {
			t.Errorf("%.200s: got %s, want %s", tc.schema, got, tc.want)
		}
	}
}

// FuzzMirrors reads arbitrary schemas without a panic, and finds no more mirrors than the bound.
func FuzzMirrors(f *testing.F) {
	f.Add([]byte(schema))
	f.Add([]byte(`{"oneOf":[{"x-mcp-header":""}],"$defs":{"a":{"x-mcp-header":"X"}}}`))
	f.Add([]byte(`{"x-mcp-header`))
	f.Add([]byte(strings.Repeat(`{"not":`, 70) + `{"x-mcp-header":1}` + strings.Repeat(`}`, 70)))
	f.Fuzz(func(t *testing.T, schema []byte) {
		list, err := headers.Mirrors(schema)
		if len(list) > headers.MaxParams || err != nil && list != nil {
			t.Fatalf("%q: got %v, %v", schema, list, err)
		}
	})
}
