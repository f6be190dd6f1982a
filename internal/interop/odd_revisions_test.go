package interop

import "strings"

// refusingScript is the script of a server that refuses initialize in the newest revision with the
// given reply, and supports the revision speaks.
func refusingScript(with oddReply, speaks string) oddScript {
	return oddScript{
		"initialize": {with},
		"initialize " + speaks: {result(`{"protocolVersion":"` + speaks +
			`","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`)},
		"tools/call it": {result(text("ok"))},
	}
}

// refusal returns an error that refuses a revision.
func refusal(code, message, data string) oddReply {
	return rawly(`{"jsonrpc":"2.0","id":$ID,"error":{"code":` + code + `,"message":"` + message + `"` +
		data + `}}`)
}

// supporting returns the error data that the specification prescribes for a refusal.
func supporting(revisions string) string {
	return `,"data":{"supported":[` + revisions + `],"requested":"2025-11-25"}`
}

// onlyModern is the server/discover result of a server that supports only 2026-07-28.
const onlyModern = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`

// modernScript is the script of such a server, which answers initialize with the given reply.
func modernScript(initialize oddReply) oddScript {
	return oddScript{
		"initialize": {initialize}, "server/discover": {result(onlyModern)},
		"tools/list": {result(`{"resultType":"complete","tools":[` + oddTool("it") +
			`],"ttlMs":0,"cacheScope":"private"}`)},
		"tools/call it": {result(`{"resultType":"complete",` + text("ok")[1:])},
	}
}

// oddRevisions are rows of part 7: the revisions that servers support, and how they report them.
func oddRevisions() []oddRow {
	row := func(name, odd string, over []string, says oddScript, asks []oddAsk) oddRow {
		return oddRow{part: 7, name: name, odd: odd, over: over, says: says, asks: asks}
	}
	status := refusal("-32000",
		"Unsupported protocol version: 2025-11-25 (supported: 2025-06-18, 2025-03-26)", "")
	status.status = 400
	bare := rawly("protocol version 2025-11-25 is not supported, use 2024-11-05")
	bare.status = 400
	older := func(revision string) oddScript {
		return oddScript{
			"initialize": {result(`{"protocolVersion":"` + revision +
				`","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"odd","version":"1"}}`)},
			"tools/call it":       {result(text("ok"))},
			"prompts/get p":       {result(`{"messages":[]}`)},
			"completion/complete": {result(`{"completion":{"values":["rome"]}}`)},
		}
	}
	completes := []oddAsk{{
		method: "completion/complete", notAggregate: true,
		params: `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"city","value":"r"}}`,
	}}
	large := []oddAsk{
		{method: "tools/call", params: `{"name":"it","_meta":{"odd.example/x":"` +
			strings.Repeat("x", 64<<10) + `"}}`},
	}
	return []oddRow{
		row("refuse-spec", "refuses 2025-11-25 as the specification has it, and names the oldest",
			everywhere,
			refusingScript(refusal("-32602", "Unsupported protocol version", supporting(`"2024-11-05"`)),
				"2024-11-05"), callExpecting(`"ok"`)),
		row("refuse-several", "refuses 2025-11-25 and names three", nil,
			refusingScript(refusal("-32602", "no", supporting(`"2024-11-05","2025-06-18","2025-03-26"`)),
				"2025-06-18"), callExpecting(`"ok"`)),
		row("refuse-unknown", "names one that nobody knows beside one of ours", nil,
			refusingScript(refusal("-32602", "no", supporting(`"2031-01-01","2025-03-26"`)), "2025-03-26"),
			callExpecting(`"ok"`)),
		row("refuse-words", "names what it speaks in words only", nil,
			refusingScript(refusal("-32603",
				"Unsupported protocol version 2025-11-25. Supported: 2025-03-26, 2024-11-05",
				""), "2025-03-26"), callExpecting(`"ok"`)),
		row("refuse-range", "names the oldest and the newest that it speaks", nil,
			refusingScript(refusal("-32000", "no", `,"data":{"min":"2024-11-05","max":"2025-06-18"}`),
				"2025-06-18"), callExpecting(`"ok"`)),
		row("refuse-modern-code", "refuses with the code of 2026-07-28, and names an older one", nil,
			refusingScript(refusal("-32022", "no", supporting(`"2025-06-18"`)), "2025-06-18"),
			callExpecting(`"ok"`)),
		row("refuse-status", "refuses with status 400 and a JSON-RPC error", []string{oddJSON},
			refusingScript(status, "2025-06-18"), callExpecting(`"ok"`)),
		row("refuse-text", "refuses with status 400 and a text", []string{oddJSON},
			refusingScript(bare, "2024-11-05"), callExpecting(`"ok"`)),
		row("modern-only", "knows no initialize: it speaks 2026-07-28 only", nil,
			modernScript(failure(-32601, "method not found")), callExpecting(`"ok"`)),
		row("modern-greeting", "answers initialize with 2026-07-28, which has none", nil,
			modernScript(
				result(`{"protocolVersion":"2026-07-28","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`),
			), callExpecting(`"ok"`)),
		row("offers-older", "answers initialize with the revision before", everywhere,
			older("2025-06-18"), askCall),
		row("offers-oldest", "answers initialize with the first revision", everywhere,
			older("2024-11-05"), askCall),
		row("complete-oldest", "completes arguments in the first revision, which declares nothing of it",
			everywhere, older("2024-11-05"), completes),
		row("answers-meta", "answers with 64 KiB of _meta", everywhere,
			callScript(result(`{"_meta":{"odd.example/x":"`+strings.Repeat("x", 64<<10)+`"},`+
				text("ok")[1:])),
			askCall),
		row("large-meta", "is asked with 64 KiB of _meta", everywhere,
			callScript(answer(`"id":$ID,`)), large),
	}
}

// oddRedirects are rows of part 7: servers that redirect to another path.
func oddRedirects() (rows []oddRow) {
	for _, r := range []struct {
		name, odd    string
		status, hops int
	}{
		{"moved-307", "redirects from its URL to the same with a slash", 307, 1},
		{"moved-308", "the same, for good", 308, 1},
		{"moved-twice", "redirects twice", 307, 2},
		{"moved-thrice", "redirects three times", 308, 3},
	} {
		rows = append(rows, oddRow{
			part: 7, name: r.name, odd: r.odd, over: onWeb, says: callScript(answer(`"id":$ID,`)),
			asks:  askCall,
			moves: r.status, hops: r.hops,
		})
	}
	return append(rows, oddRow{
		part: 7, name: "moved-relative", odd: "redirects twice, to a path that is relative to the first",
		over: []string{oddJSON, oddEvents, oddSSE},
		says: callScript(answer(`"id":$ID,`)), asks: askCall,
		via: []string{"$AT/deep/a?$QUERY", "b/?$QUERY"},
	})
}

// oddOpens are rows of part 7: HTTP+SSE streams that begin with an event other than the endpoint.
func oddOpens() (rows []oddRow) {
	for _, r := range []struct{ name, odd, opens string }{
		{"opens-connected", "begins its stream with an event of its own",
			"event: connected\ndata: {\"ok\":true}\n\n"},
		{"opens-ping", "begins its stream with a ping", "event: ping\ndata: 1\n\n"},
		{"opens-words", "begins its stream with words", "data: hello\n\n"},
		{"opens-message", "begins its stream with a notification",
			"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"},
	} {
		rows = append(rows, oddRow{
			part: 7, name: r.name, odd: r.odd, over: []string{oddSSE}, says: callScript(answer(`"id":$ID,`)),
			asks: askCall, opens: r.opens,
		})
	}
	return rows
}
