package interop

import "fmt"

// oddIDs are pairs of servers with different schemas that have the same $id. The official clients
// use one validator for all schemas of a list, which finds a schema by its $id.
func oddIDs() (rows []oddRow) {
	add := func(name, odd, schema, content string) {
		rows = append(rows, oddRow{part: 2, name: name, odd: odd, says: oddScript{
			"tools/list": {result(
				`{"tools":[{"name":"it","inputSchema":{"$id":"https://odd.example/in","type":"object"},"outputSchema":` + schema + `}]}`,
			)},
			"tools/call it": {result(`{"content":[],"structuredContent":` + content + `}`)},
		},
			asks: []oddAsk{
				{method: "tools/list", aggregate: "it"}, {method: "tools/call", params: `{"name":"it"}`},
			}})
	}
	for _, one := range []struct{ name, kind, value string }{{"one", "string", `"x"`},
		{"two", "number", "1"}} {
		content := `{"a":` + one.value + `}`
		add("schema-id-"+one.name, "two servers have the same $id in an outputSchema",
			fmt.Sprintf(`{"$id":"https://odd.example/out","type":"object","properties":{"a":{"type":%q}}}`,
				one.kind), content)
		add("schema-inner-"+one.name,
			"two servers have the same $id below an outputSchema, and refer to it",
			fmt.Sprintf(`{"$id":"https://odd.example/%s","type":"object","$defs":{"a":{"$id":"inner","type":%q}},"properties":{"a":{"$ref":"inner"}}}`,
				one.name, one.kind), content)
		add("schema-dynamic-"+one.name, "two servers have the same $id around a $dynamicRef",
			fmt.Sprintf(`{"$id":"https://odd.example/tree","$dynamicAnchor":"node","type":"object","properties":{"a":{"type":%q},"all":{"type":"array","items":{"$dynamicRef":"#node"}}}}`,
				one.kind), `{"all":[`+content+`]}`)
		add("schema-accent-"+one.name,
			"two servers have the same $id outside of ASCII, and refer to it by its percent-encoded form",
			fmt.Sprintf(`{"$id":"https://odd.example/größe","type":"object","$defs":{"a":{"$id":"maß","type":%q}},"properties":{"a":{"$ref":"ma%%C3%%9F"}}}`,
				one.kind), content)
		add("schema-plain-"+one.name, "the same, and refer to it as it is",
			fmt.Sprintf(`{"$id":"https://odd.example/länge","type":"object","$defs":{"a":{"$id":"maß","type":%q}},"properties":{"a":{"$ref":"maß"}}}`,
				one.kind), content)
	}
	rows = append(rows, oddRow{part: 2, name: "schema-beside",
		odd: "an outputSchema refers to the $id of another tool's", says: oddScript{
			"tools/list": {result(`{"tools":[{"name":"base","inputSchema":{"type":"object"},"outputSchema":{"$id":"https://odd.example/$SERVER","type":"object","$defs":{"n":{"type":"number"}}}},` +
				`{"name":"it","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{"$ref":"https://odd.example/$SERVER#/$defs/n"}},"required":["a"]}}]}`)},
			"tools/call it": {result(`{"content":[],"structuredContent":{"a":1}}`)},
		},
		asks: []oddAsk{
			{method: "tools/list", aggregate: "base, it"}, {method: "tools/call", params: `{"name":"it"}`},
		}})
	return rows
}
