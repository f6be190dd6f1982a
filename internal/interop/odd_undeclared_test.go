package interop

// oddUndeclared are servers that answer requests for features that they have not declared. A client
// that ignores capabilities, as the official ones do by default, gets all answers.
func oddUndeclared() []oddRow {
	tools := []oddAsk{
		{method: "tools/list", aggregate: "it"}, {method: "tools/call", params: `{"name":"it"}`},
	}
	others := []oddAsk{
		{method: "prompts/list", aggregate: "p"}, {method: "prompts/get", params: `{"name":"p"}`},
		{method: "resources/list", aggregate: "odd://$SERVER/r"},
		{method: "resources/read", params: `{"uri":"odd://$SERVER/r"}`},
	}
	unlisted := []oddAsk{
		{method: "completion/complete",
			params:       `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`,
			notAggregate: true},
	}
	all := append(append(tools[:2:2], others...), unlisted...)
	// If a server declares a list, the aggregate has only what the server declares.
	alone := tools[:2:2]
	for _, a := range append(others[:4:4], unlisted...) {
		a.notAggregate = true
		alone = append(alone, a)
	}
	script := func(capabilities string) oddScript {
		return oddScript{
			"initialize": {result(`{"protocolVersion":"2025-11-25",` + capabilities +
				`"serverInfo":{"name":"odd","version":"1"}}`)},
			"tools/list":    {result(`{"tools":[` + oddTool("it") + `]}`)},
			"tools/call it": {result(text("ok"))},
			"prompts/list":  {result(`{"prompts":[{"name":"p"}]}`)},
			"prompts/get p": {result(`{"messages":[]}`)},
			"resources/list": {result(
				`{"resources":[{"uri":"odd://$SERVER/r","name":"r"}]}`,
			)},
			"resources/templates/list": {result(`{"resourceTemplates":[]}`)},
			"resources/read odd://$SERVER/r": {result(
				`{"contents":[{"uri":"odd://$SERVER/r","text":"t"}]}`,
			)},
			"completion/complete": {result(`{"completion":{"values":["x"]}}`)},
		}
	}
	return []oddRow{
		{part: 1, name: "undeclared", odd: "answers everything and declares nothing", over: everywhere,
			says: script(`"capabilities":{},`), asks: all},
		{part: 1, name: "undeclared-null", odd: "the same, with null for the capabilities",
			says: script(`"capabilities":null,`), asks: all},
		{part: 1, name: "undeclared-none", odd: "the same, without capabilities",
			says: script(``), asks: all},
		{part: 1, name: "undeclared-some", odd: "the same, and declares tools only",
			says: script(`"capabilities":{"tools":{}},`), asks: alone},
		{part: 1, name: "undeclared-refused",
			odd: "declares tools only, and refuses prompts in its own words", says: oddScript{
				"tools/call it": {result(text("ok"))},
				"prompts/list":  {failure(-32601, "prompts? never heard")},
				"initialize":    {greeting(`{"tools":{}}`)},
			}, asks: []oddAsk{{method: "prompts/list", notAggregate: true}}},
	}
}
