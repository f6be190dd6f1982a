package interop

import (
	"strings"

	"mcpd/gateway/catalog"
)

// listing is a script that lists the given items and a good one.
func listing(method, name, good string, items ...string) oddScript {
	return oddScript{
		method: {result(`{"` + name + `":[` + strings.Join(append(items, good), ",") + `]}`)},
	}
}

// oddItems are the rows of part 2: items that violate the schemas. The aggregate repairs each of
// them or leaves it out, and shows the other items of the list and all other servers. Every odd
// item with a name is called "bad", and the item beside it "good".
func oddItems() (rows []oddRow) {
	const both, one = "bad, good", "good"
	add := func(name, odd, method, aggregate string, s oddScript) {
		rows = append(rows, oddRow{
			part: 2, name: name, odd: odd, says: s, asks: []oddAsk{{method: method, aggregate: aggregate}},
		})
	}
	tool := func(name, odd, aggregate string, items ...string) {
		add(name, odd, "tools/list", aggregate, listing("tools/list", "tools", oddTool("good"), items...))
	}
	any := func() { // the inputSchema of the last tool is valid in 2026-07-28
		rows[len(rows)-1].asks[0].modern = oddModern{both, both, anySchema}
	}
	prompt := func(name, odd, aggregate string, items ...string) {
		add(name, odd, "prompts/list", aggregate,
			listing("prompts/list", "prompts", `{"name":"good"}`, items...))
	}
	resource := func(name, odd, aggregate string, items ...string) {
		const at = "odd://$SERVER/"
		for i := range items {
			items[i] = strings.ReplaceAll(items[i], "bad", at+"bad")
		}
		aggregate = strings.NewReplacer("bad", at+"bad", "good", at+"good").Replace(aggregate)
		add(name, odd, "resources/list", aggregate,
			listing("resources/list", "resources", `{"uri":"`+at+`good","name":"n"}`, items...))
	}
	schema := func(s string) string { return `{"name":"bad","inputSchema":` + s + `}` }
	with := func(name string) string {
		return `{"name":"bad","inputSchema":{"type":"object"},` + name + `}`
	}

	tool("more-members", "members that no schema has", "",
		`{"name":"more","inputSchema":{"type":"object","x-own":[null]},"x-own":null}`)
	tool("schema-missing", "a tool without inputSchema", both, `{"name":"bad"}`)
	tool("schema-null", "inputSchema is null", both, schema(`null`))
	tool("schema-true", "inputSchema is true", both, schema(`true`))
	tool("schema-empty", "inputSchema is {}", both, schema(`{}`))
	tool("schema-array", "inputSchema is [], as PHP writes {}", both, schema(`[]`))
	tool("schema-untyped", "inputSchema without a type", both,
		schema(`{"properties":{"a":{"type":"string"}}}`))
	tool("schema-types", "the type is an array", both, schema(`{"type":["object","null"]}`))
	tool("schema-string", "inputSchema of a string", one, schema(`{"type":"string"}`))
	tool("schema-text", "inputSchema is a string", one, schema(`"object"`))
	tool("properties-array", "properties is []", both, schema(`{"type":"object","properties":[]}`))
	tool("properties-null", "properties is null", both, schema(`{"type":"object","properties":null}`))
	tool("property-null", "a property is null", both,
		schema(`{"type":"object","properties":{"a":null}}`))
	tool("property-text", "a property is a string", one,
		schema(`{"type":"object","properties":{"a":"string"}}`))
	any()
	tool("required-null", "required is null", both, schema(`{"type":"object","required":null}`))
	tool("required-object", "required is {}, as Lua writes []", both,
		schema(`{"type":"object","required":{}}`))
	tool("required-flag", "required is true", one, schema(`{"type":"object","required":true}`))
	any()
	tool("null-members", "null for every optional member", both,
		with(`"title":null,"description":null,"icons":null,"outputSchema":null,"annotations":null,"execution":null,"_meta":null`))
	tool("null-hints", "null for the hints in annotations", both,
		with(`"annotations":{"title":null,"readOnlyHint":null}`))
	tool("hint-text", "a hint that is a string", one, with(`"annotations":{"readOnlyHint":"true"}`))
	tool("description-number", "a description that is a number", one, with(`"description":7`))
	tool("icons-text", "icons is a string", one, with(`"icons":"https://odd.example/icon.png"`))
	tool("icon-no-src", "an icon without src", one, with(`"icons":[{"mimeType":"image/png"}]`))
	tool("output-text", "outputSchema is a string", both, with(`"outputSchema":"string"`))
	output := func(of string) string {
		return with(`"outputSchema":{"type":"object","properties":{"a":` + of + `}}`)
	}
	tool("output-reference", "outputSchema refers to what is not there", both,
		output(`{"$ref":"#/$defs/Missing"}`))
	tool("output-type", "outputSchema has a type that there is not", both, output(`{"type":"strin"}`))
	tool("output-pattern", "outputSchema has a pattern of Python", both,
		output(`{"type":"string","pattern":"(?P<a>b)"}`))
	tool("output-range", "outputSchema has a pattern with a class as the end of a range", both,
		output(`{"type":"string","pattern":"^[\\w-.]+$"}`))
	tool("output-format", "outputSchema has a format that is a number", both,
		output(`{"type":"string","format":5}`))
	tool("output-id", "outputSchema has the keyword id", both, output(`{"type":"string","id":5}`))
	tool("output-anchor", "outputSchema has an anchor that is none", both, output(`{"$anchor":"a b"}`))
	tool("output-anchors", "outputSchema has an anchor twice", both,
		output(`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`))
	tool("output-ids", "outputSchema has an $id twice", both,
		output(`{"$defs":{"a":{"$id":"x"},"b":{"$id":"x"}}}`))
	tool("output-id-escapes", "outputSchema has an $id with a broken escape, and refers to it", both,
		with(`"outputSchema":{"type":"object","$id":"https://odd.example/%zz","properties":{"a":{"$ref":"#/properties/b"},"b":{}}}`))
	tool("output-circle", "outputSchema refers to itself in a circle", both,
		with(`"outputSchema":{"type":"object","properties":{"a":{"$ref":"#/properties/b"},"b":{"$ref":"#/properties/a"}}}`))
	tool("number-infinite", "a number beyond double precision", one,
		schema(`{"type":"object","properties":{"a":{"maximum":1e400}}}`))
	tool("nested-deep", "an item that nests 250 deep, which the Python SDK reads no list with", one,
		with(`"_meta":`+strings.Repeat(`{"a":`, 250)+"1"+strings.Repeat("}", 250)))
	tool("output-draft-4", "outputSchema has exclusiveMinimum as in draft 4", both,
		output(`{"type":"number","minimum":0,"exclusiveMinimum":true}`))
	tool("output-nullable", "outputSchema has nullable without a type", both,
		output(`{"nullable":true,"anyOf":[{"type":"string"}]}`))
	tool("output-good", "outputSchema that is good, though unusual", "",
		with(`"outputSchema":{"type":"object","$defs":{"a/b":{"type":["string","null"]}},"properties":{`+
			`"a":{"$ref":"#/$defs/a~1b"},"b":{"pattern":"^(?=a)(?<!b)\\p{L}+[\\-\\]a]{2,3000}(c)\\1\\u{1F600}$"},"c":{"type":"integer","nullable":true},`+
			`"d":{"items":[{"type":"null"}],"enum":[1,null]},"e":{"$ref":"#"},"f":{"format":"nothing","x-own":"x"}}}`))
	tool("tool-name-number", "a tool whose name is a number", one,
		`{"name":7,"inputSchema":{"type":"object"}}`)
	// An empty name has a different name in the aggregate for each server, so the row has a single
	// transport.
	empty := func(name, odd, list, method string, s oddScript) {
		member, _, _ := strings.Cut(list, "/")
		own := strings.TrimPrefix(map[string]string{"tools": catalog.ToolName(name+"-stdio", ""),
			"prompts": catalog.External(name+"-stdio", "")}[member], name+"-stdio__")
		rows = append(rows, oddRow{part: 2, name: name, odd: odd, over: []string{oddStdio}, says: s,
			asks: []oddAsk{
				{method: list, aggregate: own + ", good"}, {method: method, params: `{"name":""}`},
			}})
	}
	listed := func(list, name, good, method string, r oddReply) oddScript {
		s := listing(list, name, good, strings.Replace(good, "good", "", 1))
		s[method] = []oddReply{r}
		return s
	}
	empty("tool-empty", "a tool whose name is empty", "tools/list", "tools/call",
		listed("tools/list", "tools", oddTool("good"), "tools/call", result(text("ok"))))
	empty("prompt-empty", "a prompt whose name is empty", "prompts/list", "prompts/get",
		listed("prompts/list", "prompts", `{"name":"good"}`, "prompts/get",
			result(`{"messages":[{"role":"user","content":{"type":"text","text":"ok"}}]}`)))
	tool("tool-unnamed", "a tool without a name", one, `{"inputSchema":{"type":"object"}}`)
	tool("tool-text", "a tool that is a string, and null", one, `"bad"`, `null`)
	tool("tool-twice", "a tool that is listed twice", both, oddTool("bad"), oddTool("bad"))
	prompt("arguments-null", "a prompt whose arguments are null", both,
		`{"name":"bad","arguments":null}`)
	prompt("arguments-object", "arguments is {}, as Lua writes []", both,
		`{"name":"bad","arguments":{}}`)
	prompt("argument-nulls", "null for every member of an argument", both,
		`{"name":"bad","description":null,"arguments":[{"name":"a","description":null,"required":null}]}`)
	prompt("argument-text", "an argument that is a string", one, `{"name":"bad","arguments":["a"]}`)
	prompt("argument-unnamed", "an argument without a name", one,
		`{"name":"bad","arguments":[{"description":"a"}]}`)
	prompt("prompt-unnamed", "a prompt without a name", one, `{"description":"bad"}`)
	add("uri-relative", "a URI without a scheme, which the Python SDK reads no list with",
		"resources/list", "",
		listing("resources/list", "resources", `{"uri":"odd://$SERVER/good","name":"n"}`,
			`{"uri":"$SERVER/bad","name":"n"}`))
	resource("resource-unnamed", "a resource without a name", one, `{"uri":"bad"}`)
	resource("resource-nulls", "null for every optional member", both,
		`{"uri":"bad","name":"n","title":null,"description":null,"mimeType":null,"size":null,"annotations":null,"_meta":null}`)
	resource("resource-no-uri", "a resource without a URI", one, `{"name":"n"}`)
	resource("resource-empty", "a resource whose name is empty", both, `{"uri":"bad","name":""}`)
	resource("uri-empty", "a URI that is empty", one, `{"uri":"","name":"n"}`)
	resource("uri-number", "a URI that is a number", one, `{"uri":7,"name":"n"}`)
	resource("size-text", "a size that is a string", one, `{"uri":"bad","name":"n","size":"12"}`)
	resource("size-float", "a size that is written as 12.0", both,
		`{"uri":"bad","name":"n","size":12.0}`)
	resource("size-fraction", "a size of 1.5", both, `{"uri":"bad","name":"n","size":1.5}`)
	resource("audience-text", "the audience is a string", one,
		`{"uri":"bad","name":"n","annotations":{"audience":"user"}}`)
	resource("modified-words", "lastModified is no time", both,
		`{"uri":"bad","name":"n","annotations":{"lastModified":"yesterday"}}`)
	const at = "odd://$SERVER/"
	add("template-nulls", "null for the members of a template, and one without a name",
		"resources/templates/list", at+"bad/{a}, "+at+"good/{a}",
		oddScript{"resources/list": {result(`{"resources":[]}`)},
			"resources/templates/list": {result(`{"resourceTemplates":[{"uriTemplate":"` + at +
				`worse/{a}"},` +
				`{"uriTemplate":"` + at +
				`bad/{a}","name":"n","description":null,"mimeType":null,"annotations":null},{"uriTemplate":"` +
				at + `good/{a}","name":"n"}]}`)}})
	return rows
}
