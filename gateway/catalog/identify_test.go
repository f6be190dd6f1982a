package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
)

// In the list of all servers no two schemas have the same $id, and references to a changed $id
// are changed with it.
func TestSchemasHaveIDsOfTheirOwn(t *testing.T) {
	const of = "?mcpd=a__t.out"
	for name, c := range map[string]struct{ schema, want string }{
		"none": {`{"title":"x"}`, `{"title":"x"}`},
		"one": {`{"$id":"https://x.example/out"}`,
			`{"$id":"https://x.example/out` + of + `"}`},
		"a bare name": {`{"$id":"Out"}`, `{"$id":"Out` + of + `"}`},
		"a URN": {`{"$id":"urn:x:y","properties":{"a":{"$ref":"urn:x:y#/$defs/b"}}}`,
			`{"$id":"urn:x:y` + of + `","properties":{"a":{"$ref":"urn:x:y` + of + `#/$defs/b"}}}`},
		"with a query": {`{"$id":"https://x.example/out?v=1"}`,
			`{"$id":"https://x.example/out?v=1&mcpd=a__t.out"}`},
		"with an empty fragment": {
			`{"$id":"https://x.example/out#","properties":{"a":{"$ref":"https://x.example/out"}}}`,
			`{"$id":"https://x.example/out` + of + `#","properties":{"a":{"$ref":"https://x.example/out` +
				of + `"}}}`,
		},
		"a place": {`{"$defs":{"b":{"$id":"#b"}},"properties":{"a":{"$ref":"#b"}}}`,
			`{"$defs":{"b":{"$id":"#b"}},"properties":{"a":{"$ref":"#b"}}}`},
		"a reference inside": {`{"$id":"https://x.example/out","properties":{"a":{"$ref":"#/$defs/b"}}}`,
			`{"$id":"https://x.example/out` + of + `","properties":{"a":{"$ref":"#/$defs/b"}}}`},
		"below, relative": {
			`{"$id":"https://x.example/s/out","$defs":{"b":{"$id":"b.json"}},"anyOf":[{"$ref":"b.json"},{"$ref":"https://x.example/s/b.json#/c"},{"$ref":"other.json"}]}`,
			`{"$id":"https://x.example/s/out` + of + `","$defs":{"b":{"$id":"b.json` + of +
				`"}},"anyOf":[{"$ref":"b.json` + of + `"},{"$ref":"https://x.example/s/b.json` + of +
				`#/c"},{"$ref":"other.json"}]}`,
		},
		"written otherwise": {
			`{"$id":"https://X.example/%7Eout","anyOf":[{"$ref":"https://x.example/~out"},{"$ref":"./%7eout#a"},{"$ref":"/~other"}]}`,
			`{"$id":"https://X.example/%7Eout` + of + `","anyOf":[{"$ref":"https://x.example/~out` + of +
				`"},{"$ref":"./%7eout` + of + `#a"},{"$ref":"/~other"}]}`,
		},
		"data": {
			`{"properties":{"$id":{"type":"string"},"a":{"const":{"$id":"x"},"default":{"$id":"x"},"enum":[{"$id":"x"}]}}}`,
			`{"properties":{"$id":{"type":"string"},"a":{"const":{"$id":"x"},"default":{"$id":"x"},"enum":[{"$id":"x"}]}}}`,
		},
		"a keyword that nobody knows": {`{"x":{"$id":"y"}}`, `{"x":{"$id":"y` + of + `"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			c.schema, c.want = typed(c.schema), typed(c.want)
			item := fmt.Sprintf(`{"name":"t","inputSchema":%s,"outputSchema":%s}`, c.schema, c.schema)
			list := catalog.New([]catalog.Server{{Name: "a",
				Items: [4][]jsontext.Value{{jsontext.Value(item)}}}}).List(catalog.Tools).Items()
			want := fmt.Sprintf(`{"name":"a__t","inputSchema":%s,"outputSchema":%s}`,
				strings.ReplaceAll(c.want, "a__t.out", "a__t.in"), c.want)
			if len(list) != 1 || string(list[0]) != want {
				t.Errorf("got  %s\nwant %s", list, want)
			}
			odd := catalog.ItemIssues(catalog.Tools, true, []jsontext.Value{jsontext.Value(item)})
			if changed := c.schema != c.want; changed != (len(odd) == 1 &&
				odd[0].Action == catalog.Repaired && odd[0].First == "t") {
				t.Errorf("counted %+v, changed %t", odd, changed)
			}
		})
	}
}

// typed returns a schema of objects.
func typed(schema string) string {
	return strings.Replace(schema, `{`, `{"type":"object",`, 1)
}

// A deeply nested schema is walked only to a bounded depth.
func TestIDsOfDeepSchemas(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 5000) + `{"$id":"x"}` + strings.Repeat(`}`, 5000)
	item := jsontext.Value(`{"name":"t","inputSchema":{"type":"object","properties":{"a":` +
		deep + `}}}`)
	if got := catalog.New([]catalog.Server{{Name: "a",
		Items: [4][]jsontext.Value{{item}}}}).List(catalog.Tools).Items(); len(got) != 1 {
		t.Errorf("got %s", got)
	}
}
