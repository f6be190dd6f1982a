package interop

// Clauses by which a session of 2026-07-28 gets fewer notifications than an older one.
const (
	onListen = "2026-07-28 §basic/patterns/subscriptions: changes are told to who listens"
	eras     = "ARCHITECTURE.md, Extensions: between two eras passes what both ends have declared"
)

// oddNotifications are the rows of part 6: unsolicited notifications that are declared nowhere, and
// lists that change in a session.
func oddNotifications() []oddRow {
	const (
		changed = `{"jsonrpc":"2.0","method":"notifications/acme/changed","params":{"n":1}}`
		plain   = `{"jsonrpc":"2.0","method":"acme/changed"}`
		tools   = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	)
	call := oddAsk{method: "tools/call", params: `{"name":"it"}`, notAggregate: true}
	await := func(method string) oddAsk {
		return oddAsk{
			method: "await " + method, notAggregate: true, modern: oddModern{oddNoAnswer, oddNoAnswer, eras},
		}
	}
	streams := []string{oddStdio, oddEvents, oddSSE}
	says := func(r oddReply) oddScript {
		r.text = result(text("ok")).text
		return oddScript{"tools/call it": {r}}
	}
	grows := func(capabilities string, r oddReply) map[string][]oddReply {
		r.text = result(text("ok")).text
		return map[string][]oddReply{
			"initialize": {greeting(capabilities)}, "tools/call it": {r},
			"tools/call grown": {result(text("grown"))},
			"tools/list":       {result(`{"tools":[` + oddTool("it") + `]}`)},
			"tools/list after tools/call": {result(`{"tools":[` + oddTool("it") + `,` +
				oddTool("grown") + `]}`)},
		}
	}
	const (
		told = "notifications/tools/list_changed"
		line = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":"late"}}`
		logs = `{"name":"it","_meta":{"io.modelcontextprotocol/logLevel":"info"}}`
	)
	log := func(name, odd string, over []string, r oddReply) oddRow {
		r.text = result(text("ok")).text
		return oddRow{
			part: 6, name: name, odd: odd, over: over, get: oddStandalone, settings: "share: session",
			says: map[string][]oddReply{
				"initialize": {greeting(`{"tools":{},"logging":{}}`)}, "logging/setLevel": {result(`{}`)},
				"tools/call it": {r},
			},
			asks: []oddAsk{{method: "tools/call", params: logs}, {method: "await notifications/message"}},
		}
	}
	askGrows := []oddAsk{
		{method: "tools/call", params: `{"name":"it"}`},
		{method: "await " + told, modern: oddModern{oddNoAnswer, oddNoAnswer, onListen}},
		{method: "tools/list"}, {method: "tools/call", params: `{"name":"grown"}`},
	}
	return []oddRow{
		log("log-during", "a log line during a call", streams, oddReply{before: []string{line}}),
		log("log-late", "a log line on the standing stream, behind the answer to the call",
			[]string{oddJSON, oddEvents}, oddReply{streamed: []string{line}}),
		{part: 6, name: "note-during", odd: "a notification that nobody declared, during a call",
			over: streams,
			says: says(oddReply{before: []string{changed}}),
			asks: []oddAsk{call, await("notifications/acme/changed")}},
		{part: 6, name: "note-behind", odd: "the same behind the result", over: []string{
			oddStdio, oddSSE,
		},
			says: says(oddReply{after: []string{changed}}),
			asks: []oddAsk{call, await("notifications/acme/changed")}},
		{part: 6, name: "note-plain", odd: "one whose method does not begin as others do, without params",
			over: streams,
			says: says(oddReply{before: []string{plain}}), asks: []oddAsk{call, await("acme/changed")}},
		{part: 6, name: "note-known-prefix", odd: "one below a known name", over: []string{oddStdio},
			says: says(oddReply{
				before: []string{`{"jsonrpc":"2.0","method":"notifications/tools/warmed","params":{}}`},
			}),
			asks: []oddAsk{call, await("notifications/tools/warmed")}},
		{part: 6, name: "note-client", odd: "a notification of the client that nobody declared",
			over: everywhere,
			says: map[string][]oddReply{"tools/call it": {result(text("$OWN"))}},
			asks: []oddAsk{
				{method: "notify notifications/acme/seen", params: `{"n":1}`, notAggregate: true},
				{method: "tools/call", params: `{"name":"it"}`, notAggregate: true, modern: oddModern{
					`"[]"`, `"[]"`, eras,
				}},
			}},
		{part: 6, name: "grows-during", settings: "share: session",
			odd: "a tool that a call adds, told during it", over: streams,
			says: grows(`{"tools":{"listChanged":true}}`, oddReply{before: []string{tools}}),
			asks: askGrows},
		{part: 6, name: "grows-behind", settings: "share: session",
			odd: "the same told behind the result", over: []string{oddStdio, oddSSE},
			says: grows(`{"tools":{"listChanged":true}}`, oddReply{after: []string{tools}}), asks: askGrows},
		{part: 6, name: "grows-undeclared", settings: "share: session",
			odd: "the same, where the server does not declare that it tells", over: streams,
			says: grows(`{"tools":{}}`, oddReply{before: []string{tools}}), asks: askGrows},
	}
}
