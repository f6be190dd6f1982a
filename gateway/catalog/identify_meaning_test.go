package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"mcpd/gateway/catalog"
	"mcpd/protocol/jsonedit"
)

// accepts reports whether a schema accepts a value, or why the schema does not compile.
func accepts(t *testing.T, schema, value string) string {
	t.Helper()
	read := func(text string) any {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return v
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // nothing is fetched
	if err := c.AddResource("mem:///schema", read(schema)); err != nil {
		return "does not compile"
	}
	s, err := c.Compile("mem:///schema")
	if err != nil {
		return "does not compile"
	}
	return fmt.Sprint(s.Validate(read(value)) == nil)
}

// A schema with an $id accepts the same values in the list of all servers as at its server,
// whatever kind of reference connects its parts.
func TestRenamedSchemasMeanTheSame(t *testing.T) {
	// A list of nodes. The outer schema says that nodes have numbers.
	const dynamic = `"$id":"https://x.example/s/out","$dynamicAnchor":"node","type":"object","properties":{"n":{"type":"number"},"all":%s},
		"$defs":{"list":{"$id":"list","type":"array","items":{"$dynamicRef":"%s"},"$defs":{"any":{"$dynamicAnchor":"node"}}}}`
	// The same with the keywords of 2019-09.
	const recursive = `"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"https://x.example/s/out","$recursiveAnchor":true,"type":"object",
		"properties":{"n":{"type":"number"},"all":{"$ref":"list"}},"$defs":{"list":{"$id":"list","$recursiveAnchor":true,"type":["array","object"],"items":{"$recursiveRef":"#"}}}`
	const good, bad = `{"n":1,"all":[{"n":2}]}`, `{"n":1,"all":[{"n":"x"}]}`
	for name, schema := range map[string]string{
		"a dynamic reference to a place": fmt.Sprintf(dynamic,
			`{"$ref":"list"}`, "#node"),
		"a dynamic reference to an $id": fmt.Sprintf(dynamic, `{"$ref":"list"}`,
			"list#node"),
		"a dynamic reference to a whole $id": fmt.Sprintf(dynamic, `{"$ref":"list"}`,
			"https://x.example/s/list#node"),
		"a dynamic reference in the place of a reference": fmt.Sprintf(dynamic,
			`{"$dynamicRef":"list"}`, "#node"),
		"a dynamic reference to a pointer": fmt.Sprintf(dynamic, `{"$dynamicRef":"list"}`,
			"out#/$defs/list/$defs/any"),
		"a recursive reference":                       recursive,
		"an $id with a place (draft 7)":               `"$schema":"http://json-schema.org/draft-07/schema#","$id":"https://x.example/out","type":"object","definitions":{"n":{"$id":"out#n","type":"number"}},"properties":{"n":{"$ref":"#n"},"all":{"items":{"properties":{"n":{"$ref":"https://x.example/out#n"}}}}}`,
		"an $id that is nothing but one with a place": `"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"n":{"$id":"https://x.example/out#n","type":"number"}},"properties":{"all":{"items":{"properties":{"n":{"$ref":"https://x.example/out#n"}}}}}`,
		"an anchor": `"$id":"https://x.example/out","type":"object","$defs":{"n":{"$anchor":"n","type":"number"}},"properties":{"all":{"items":{"properties":{"n":{"$ref":"out#n"}}}}}`,
		"an $id around the place where the reference stands": `"$id":"https://x.example/a/out","type":"object","$defs":{"n":{"$id":"b/n","type":"number"}},"properties":{"all":{"$id":"c/all","items":{"properties":{"n":{"$ref":"../b/n"}}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			schema := "{" + schema + "}"
			item := fmt.Sprintf(`{"name":"t","inputSchema":{"type":"object"},"outputSchema":%s}`, schema)
			list := catalog.New([]catalog.Server{{Name: "a",
				Items: [4][]jsontext.Value{{jsontext.Value(item)}}}}).List(catalog.Tools).Items()
			if len(list) != 1 {
				t.Fatalf("got %s", list)
			}
			renamed, ok := jsonedit.Get(list[0], "outputSchema")
			if !ok || string(renamed) == schema {
				t.Fatalf("got %s", list)
			}
			for _, value := range []string{good, bad} {
				if direct, got := accepts(t, schema, value), accepts(t, string(renamed), value); got != direct {
					t.Errorf("accepts %s: %s, and directly %s\n%s", value, got, direct, renamed)
				}
			}
		})
	}
}
