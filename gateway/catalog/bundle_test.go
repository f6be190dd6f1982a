package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
	"mcpd/protocol/jsonedit"
)

// A schema that refers to the schema of another tool has that schema embedded, wherever the other
// tool is listed.
func TestSchemasOfOtherToolsAreEmbedded(t *testing.T) {
	tool := func(name, out string) jsontext.Value {
		return jsontext.Value(`{"name":"` + name +
			`","inputSchema":{"type":"object"},"outputSchema":` + out + `}`)
	}
	outOf := func(tools ...jsontext.Value) (all []string) {
		list := catalog.New([]catalog.Server{{Name: "a",
			Items: [4][]jsontext.Value{tools}}}).List(catalog.Tools).Items()
		for _, item := range list {
			sound, fault := catalog.Repair(catalog.Tools, true, item)
			if fault != "" {
				t.Fatal(fault)
			}
			schema, _ := jsonedit.Get(sound, "outputSchema")
			all = append(all, string(schema))
		}
		return all
	}
	base := tool(
		"base",
		`{"$id":"https://x.example/base","type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"number"}}}`,
	)
	middle := tool(
		"middle", `{"$id":"https://x.example/middle","type":"object","properties":{"b":{"$ref":"base"}}}`,
	)
	user := tool(
		"user", `{"type":"object","properties":{"n":{"$ref":"https://x.example/base#/$defs/n"}}}`,
	)
	far := tool("far", `{"type":"object","properties":{"m":{"$ref":"https://x.example/middle"}}}`)

	const of = "https://x.example/base?mcpd=a__user.out"
	if got, want := outOf(user, base)[0], `{"type":"object","properties":{"n":{"$ref":"`+of+
		`#/$defs/n"}},"$defs":{"https://x.example/base":{"$id":"`+of+`","type":"object",`+
		`"properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"number"}}}}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := outOf(far, middle, base)[0]; strings.Count(got, `"$id"`) != 2 {
		t.Errorf("through another one: %s", got)
	}
	if got := outOf(base, middle)[1]; !strings.Contains(got,
		`"$id":"https://x.example/base?mcpd=a__middle.out"`) {
		t.Errorf("by a relative reference: %s", got)
	}
	if got := outOf(user)[0]; got != "" {
		t.Errorf("of a tool that there is not: %s", got)
	}
}

// The size of embedded schemas is bounded, however many tools refer to a schema.
func TestEmbeddedSchemasAreBounded(t *testing.T) {
	large := fmt.Sprintf(
		`{"name":"base","inputSchema":{"type":"object"},"outputSchema":{"$id":"https://x.example/base","type":"object","description":%q}}`, strings.Repeat("x", catalog.MaxBundled/8),
	)
	tools := []jsontext.Value{jsontext.Value(large)}
	for i := range 100 {
		tools = append(
			tools,
			jsontext.Value(
				fmt.Sprintf(
					`{"name":"t%d","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{"$ref":"https://x.example/base"}}}}`, i,
				),
			),
		)
	}
	size, whole := 0, 0
	for _, item := range catalog.New([]catalog.Server{{Name: "a",
		Items: [4][]jsontext.Value{tools}}}).List(catalog.Tools).Items() {
		size += len(item)
		if sound, _ := catalog.Repair(catalog.Tools, true, item); strings.Contains(string(sound),
			`"$defs"`) {
			whole++
		}
	}
	if size > catalog.MaxBundled+len(large)+100*300 || whole != 7 {
		t.Errorf("%d bytes, %d schemas are whole", size, whole)
	}
}
