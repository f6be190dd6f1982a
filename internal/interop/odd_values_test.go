package interop

// oddValues are servers of 2026-07-28 whose results are not objects. Clients of older revisions get
// the results wrapped in an object, as the official server SDKs do for them.
func oddValues() []oddRow {
	const text12 = `[{"text":"[1,2]","type":"text"}]`
	row := func(name, odd, schema, value, legacy, modern string) oddRow {
		if schema != "" {
			schema = `,"outputSchema":` + schema
		}
		const framed = `"resultType":"complete","ttlMs":0,"cacheScope":"private",`
		return oddRow{
			part: 1, name: name, odd: odd, says: oddScript{
				"initialize": {failure(-32601, "method not found")},
				"server/discover": {result(`{` + framed +
					`"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)},
				"tools/list": {result(`{` + framed +
					`"tools":[{"name":"it","inputSchema":{"type":"object"}` + schema + `}]}`)},
				"tools/call it": {result(`{"resultType":"complete","content":[],"structuredContent":` +
					value + `}`)},
			},
			asks: []oddAsk{
				{method: "tools/list", through: "it", aggregate: "it"},
				{
					method: "tools/call", params: `{"name":"it"}`, through: legacy, aggregate: legacy,
					modern: oddModern{modern, modern, anySchema},
				},
			},
		}
	}
	return []oddRow{
		row("value-array", "a result that is an array, as its schema says",
			`{"type":"array","items":{"type":"number"}}`, `[1,2]`,
			`{"content":`+text12+`,"structuredContent":{"result":[1,2]}}`,
			`{"content":[],"structuredContent":[1,2]}`),
		row("value-reference", "the same, with a schema that refers to its own parts",
			`{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"number"}}}`, `[1,2]`,
			`{"content":`+text12+`,"structuredContent":{"result":[1,2]}}`,
			`{"content":[],"structuredContent":[1,2]}`),
		row("value-free", "the same without a schema", "", `[1,2]`,
			`{"content":`+text12+`,"structuredContent":{"result":[1,2]}}`,
			`{"content":[],"structuredContent":[1,2]}`),
		row("value-text", "a result that is a text", `{"type":"string"}`, `"x"`,
			`{"content":[{"text":"\"x\"","type":"text"}],"structuredContent":{"result":"x"}}`,
			`{"content":[],"structuredContent":"x"}`),
		row("value-choice", "a result that is no object in any case, by a schema without a type",
			`{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"number"}}]}`, `[1,2]`,
			`{"content":`+text12+`,"structuredContent":{"result":[1,2]}}`,
			`{"content":[],"structuredContent":[1,2]}`),
		row("value-union", "an object, by a schema without a type that allows nothing else",
			`{"oneOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"]}]}`, `{"a":1}`,
			`{"content":[],"structuredContent":{"a":1}}`, `{"content":[],"structuredContent":{"a":1}}`),
		row("value-untyped", "an object, by a schema of properties without a type",
			`{"properties":{"a":{"type":"number"}},"required":["a"]}`, `{"a":1}`,
			`{"content":[],"structuredContent":{"a":1}}`, `{"content":[],"structuredContent":{"a":1}}`),
		row("value-any", "an object, where the schema allows arrays too",
			`{"anyOf":[{"type":"object"},{"type":"array"}]}`, `{"a":1}`,
			`{"content":[],"structuredContent":{"a":1}}`, `{"content":[],"structuredContent":{"a":1}}`),
	}
}
