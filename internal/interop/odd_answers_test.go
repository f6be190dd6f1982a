package interop

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// callScript is a script with one tool, "it". Calls of the tool get the given replies.
func callScript(r ...oddReply) oddScript { return oddScript{"tools/call it": r} }

// askCall calls that tool.
var askCall = []oddAsk{{method: "tools/call", params: `{"name":"it"}`}}

// callExpecting is askCall for a row that a direct client cannot handle. The outcome is that of a
// call through mcpd.
func callExpecting(outcome string) []oddAsk {
	return []oddAsk{
		{method: "tools/call", params: `{"name":"it"}`, through: outcome, aggregate: outcome},
	}
}

// everywhere are all transports, and onWeb those with an HTTP body for each answer.
var (
	everywhere = []string{oddStdio, oddJSON, oddEvents, oddSSE}
	onWeb      = []string{oddJSON, oddEvents}
)

// withModernCode returns asks whose error has another code in a session of 2026-07-28.
func withModernCode(outcome string, asks []oddAsk) []oddAsk {
	asks = slices.Clone(asks)
	asks[0].modern = oddModern{outcome, outcome, errorCodes}
	return asks
}

// answer returns a whole answer with the text "ok", and with more members in the envelope.
func answer(more string) oddReply {
	return rawly(`{"jsonrpc":"2.0",` + more + `"result":` + text("ok") + `}`)
}

// unended returns a reply whose last event lacks n line ends of an event stream.
func unended(n int, of oddReply) oddReply { of.unended = n; return of }

// status returns a reply with an error and an HTTP status.
func status(http, code int) oddReply {
	of := failure(code, "m")
	of.status = http
	return of
}

// withoutSessions returns a row whose server assigns no session id.
func withoutSessions(of oddRow) oddRow { of.sessionless = true; return of }

// withStandalone returns a row whose server has a standalone stream.
func withStandalone(of oddRow) oddRow { of.get = oddStandalone; return of }

// oddAnswers are the rows of part 1: unusual forms of answers.
func oddAnswers() []oddRow {
	row := func(name, odd string, over []string, says oddScript, asks []oddAsk) oddRow {
		return oddRow{part: 1, name: name, odd: odd, over: over, says: says, asks: asks}
	}
	compressed := func(coding string, of oddReply) oddReply { of.encoding = coding; return of }
	marked := answer(`"id":$ID,`)
	marked.bom = true
	named := func(name string) []oddAsk {
		return []oddAsk{
			{method: "tools/list"}, {method: "tools/call", params: fmt.Sprintf(`{"name":%q}`, name)},
		}
	}
	greets := func(json string) oddScript {
		return oddScript{"initialize": {result(json)}, "tools/call it": {result(text("ok"))}}
	}
	own := func(tenant string, of oddRow) oddRow { of.tenant = tenant; return of }
	return []oddRow{
		row("lone-high", "a lone high surrogate in a text", everywhere,
			callScript(result(text(`cut \ud83d here`))), askCall),
		row("lone-low", "a lone low surrogate", everywhere,
			callScript(result(text(`\ude00 at the start`))), askCall),
		row("lone-two", "two high surrogates before a low one", nil,
			callScript(result(text(`\ud83d\ud83d\ude00`))), askCall),
		row("lone-list", "a lone surrogate in one description of a list", everywhere,
			oddScript{"tools/list": {result(
				`{"tools":[{"name":"cut","description":"\ud83d","inputSchema":{"type":"object"}},` +
					oddTool("good") + `]}`,
			)}, "tools/call good": {result(text("ok"))}}, named("good")),
		row("lone-name", "a lone surrogate in the name of a member", nil,
			callScript(result(`{"content":[],"structuredContent":{"a\ud83d":1}}`)), askCall),
		row("lone-link", "a lone surrogate in the URI of a link, which the aggregate renames", everywhere,
			callScript(
				result(`{"content":[{"type":"resource_link","uri":"https://odd.example/\ud83d","name":"n"}]}`),
			), askCall),
		row("lone-resource", "a lone surrogate in a resource", nil, oddScript{
			"resources/read odd://$SERVER/a": {result(
				`{"contents":[{"uri":"odd://$SERVER/a","text":"\udc00"}]}`,
			)},
		},
			[]oddAsk{{method: "resources/read", params: `{"uri":"odd://$SERVER/a"}`}}),
		row("lone-prompt", "a lone surrogate in a prompt", nil, oddScript{
			"prompts/get p": {result(
				`{"messages":[{"role":"user","content":{"type":"text","text":"\ud800"}}]}`,
			)},
		},
			[]oddAsk{{method: "prompts/get", params: `{"name":"p"}`}}),
		row("lone-error", "a lone surrogate in the message of an error", everywhere,
			callScript(rawly(`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32050,"message":"cut \ud83d"}}`)),
			withModernCode("error -32603: cut \ufffd", askCall)),
		row("lone-progress", "a lone surrogate in a notification ahead of the answer", []string{
			oddStdio, oddEvents, oddSSE,
		},
			callScript(oddReply{text: result(text("ok")).text,
				before: []string{`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\ud83d"}}`}}), askCall),
		row("latin1", "a byte that is not UTF-8", everywhere,
			callScript(result(text("caf\xe9"))), askCall),
		row("double-result", "the result twice", nil,
			callScript(rawly(`{"jsonrpc":"2.0","id":$ID,"result":`+text("first")+`,"result":`+
				text("last")+`}`)),
			askCall),
		row("double-content", "a member of the result twice", everywhere,
			callScript(
				result(`{"content":[{"type":"text","text":"first"}],"content":[{"type":"text","text":"last"}]}`),
			), askCall),
		row("double-link", "the URI of a link twice, which the aggregate renames", nil,
			callScript(
				result(`{"content":[{"type":"resource_link","uri":"https://first.example/","name":"n","uri":"https://last.example/"}]}`),
			), askCall),
		row("double-name", "the name of a tool twice in the list", everywhere,
			oddScript{"tools/list": {result(
				`{"tools":[{"name":"first","name":"last","inputSchema":{"type":"object"}}]}`,
			)}, "tools/call last": {result(text("ok"))}}, named("last")),
		row("double-escaped", "a member twice, once with an escape", nil,
			callScript(result(`{"content":[{"type":"text","text":"first","te\u0078t":"last"}]}`)), askCall),
		row("null-error", `"error": null beside the result`, everywhere,
			callScript(answer(`"id":$ID,"error":null,`)), callExpecting(`"ok"`)),
		row("null-result", `"result": null beside an error`, nil,
			callScript(
				rawly(`{"jsonrpc":"2.0","id":$ID,"result":null,"error":{"code":-32050,"message":"m"}}`),
			),
			withModernCode("error -32603: m", callExpecting("error -32050: m"))),
		row("null-method", `"method": null in an answer`, nil,
			callScript(answer(`"id":$ID,"method":null,"params":null,`)), callExpecting(`"ok"`)),
		row("text-id", "the id as a text", everywhere, callScript(answer(`"id":"$ID",`)),
			callExpecting(`"ok"`)),
		row("fraction-id", "the id with a fraction of nothing", everywhere,
			callScript(answer(`"id":$ID.0,`)),
			callExpecting(`"ok"`)),
		row("exponent-id", "the id with an exponent", nil, callScript(answer(`"id":$IDe0,`)),
			callExpecting(`"ok"`)),
		row("zero-id", "the id as a text with a zero before it", everywhere,
			callScript(answer(`"id":"0$ID",`)), callExpecting(`"ok"`)),
		row("spaced-id", "the id as a text with white space around it", nil,
			callScript(answer(`"id":" $ID\n",`)), callExpecting(`"ok"`)),
		row("signed-id", "the id as a text with a sign and a fraction of nothing", nil,
			callScript(answer(`"id":"+$ID.0",`)), callExpecting(`"ok"`)),
		row("stray-id", "answers with ids that nobody asked for before the right one", []string{
			oddStdio, oddEvents, oddSSE,
		},
			callScript(oddReply{text: answer(`"id":$ID,`).text,
				before: []string{answer(`"id":"none",`).text, answer(`"id":"",`).text, answer(`"id":-1,`).text,
					answer(`"id":1e300,`).text}}), askCall),
		row("more-envelope", "members beside those of JSON-RPC", nil,
			callScript(answer(`"id":$ID,"took":7,`)), callExpecting(`"ok"`)),
		row("bom", "a byte order mark before the body", []string{oddJSON}, callScript(marked), askCall),
		row("spaces", "white space around and in the answer", []string{oddJSON},
			callScript(rawly(" \r\n\t{ \"jsonrpc\" : \"2.0\" ,\n \"id\" : $ID , \"result\" : "+text("ok")+
				" }\r\n ")), askCall),
		row("code-fraction", "an error's code with a fraction of nothing", everywhere,
			callScript(rawly(`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32050.0,"message":"m"}}`)),
			withModernCode("error -32603: m", callExpecting("error -32050: m"))),
		row("visit-first", "error -32042, which asks for a visit to a page, for clients that have not "+
			"declared it", nil,
			callScript(
				rawly(`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32042,"message":"log in first","data":{"elicitations":[{"mode":"url","elicitationId":"e-$SERVER","url":"https://odd.example/","message":"log in"}]}}}`),
			),
			[]oddAsk{
				{method: "tools/call", params: `{"name":"it"}`, modern: oddModern{
					"error -32021: log in first", "error -32021: log in first", errorCodes,
				}},
			}),
		row("array-long", "an answer in an array behind 60 notifications", []string{oddJSON},
			callScript(rawly(`[`+strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/odd"},`, 60)+
				`{"jsonrpc":"2.0","id":$ID,"result":`+text("ok")+`}]`)), callExpecting(`"ok"`)),
		row("number-long", "a number of 5,000 digits beside the result", everywhere,
			callScript(result(`{"_meta":{"odd.example/n":0.`+strings.Repeat("1", 5000)+`},`+text("ok")[1:])),
			askCall),
		withStandalone(row("accepted",
			"202 to a call, whose answer has come on the standing stream", []string{
				oddJSON,
			},
			callScript(oddReply{text: answer(`"id":$ID,`).text, onStream: true}), callExpecting(`"ok"`))),
		withStandalone(row("accepted-late", "the same, where the answer comes a second later", []string{
			oddJSON,
		},
			callScript(oddReply{text: answer(`"id":$ID,`).text, onStream: true, wait: time.Second}),
			callExpecting(`"ok"`))),
		row("array-body", "an answer in an array", []string{oddJSON},
			callScript(rawly(`[{"jsonrpc":"2.0","id":$ID,"result":`+text("ok")+`}]`)),
			callExpecting(`"ok"`)),
		row("charset-coding", "a character set in the place of a content coding", onWeb,
			callScript(compressed("utf-8", answer(`"id":$ID,`))), askCall),
		row("draft-revision", "a server of before the first revision", nil,
			greets(`{"protocolVersion":"2024-10-07","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`), callExpecting(`"ok"`)),
		row("gzip", "a body compressed with gzip, which was not asked for", onWeb,
			callScript(compressed("gzip", answer(`"id":$ID,`))), askCall),
		row("x-gzip", "the same under its old name", onWeb,
			callScript(compressed("x-gzip", answer(`"id":$ID,`))), askCall),
		row("deflate", "a body compressed with deflate", onWeb,
			callScript(compressed("deflate", answer(`"id":$ID,`))), askCall),
		row("br", "a body compressed with Brotli", onWeb,
			callScript(compressed("br", answer(`"id":$ID,`))),
			callExpecting(`"ok"`)),
		row("br-list", "a list compressed with Brotli", onWeb, oddScript{
			"tools/list": {compressed("br", result(`{"tools":[`+oddTool("a")+`]}`))},
		},
			[]oddAsk{{method: "tools/list", through: "a", aggregate: "a"}}),
		row("zstd", "a body compressed with Zstandard", onWeb,
			callScript(compressed("zstd", answer(`"id":$ID,`))), callExpecting(`"ok"`)),
		row("event-unended", "an event stream whose last event lacks its blank line", []string{oddEvents},
			callScript(unended(1, answer(`"id":$ID,`))), callExpecting(`"ok"`)),
		row("event-cut", "an event stream whose last event lacks the end of its line",
			[]string{oddEvents}, callScript(unended(2, answer(`"id":$ID,`))), callExpecting(`"ok"`)),
		withoutSessions(row("status-404",
			"404 with an error about this request, of a server without sessions", []string{oddJSON},
			callScript(status(404, -32050)),
			withModernCode("error -32603: m", callExpecting("error -32050: m")))),
		withoutSessions(row("status-400", "400 with such an error", []string{oddJSON},
			callScript(status(400, -32050)),
			withModernCode("error -32603: m", callExpecting("error -32050: m")))),
		withoutSessions(row("status-500", "500 with such an error", []string{oddJSON},
			callScript(status(500, -32050)),
			withModernCode("error -32603: m", callExpecting("error -32050: m")))),
		row("gzip-list", "a compressed list", onWeb,
			oddScript{"tools/list": {compressed("gzip", result(`{"tools":[`+oddTool("a")+`]}`))}},
			[]oddAsk{{method: "tools/list"}}),
		row("no-version", "serverInfo without a version", everywhere,
			greets(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd"}}`), callExpecting(`"ok"`)),
		row("number-version", "a version that is a number", nil,
			greets(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":1.5}}`), callExpecting(`"ok"`)),
		row("no-server-info", "no serverInfo", nil,
			greets(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`), callExpecting(`"ok"`)),
		row("null-title", "null for the title and icons of serverInfo", nil,
			greets(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1","title":null,"icons":null}}`), callExpecting(`"ok"`)),
		row("null-capability", "null for a capability", nil,
			greets(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":null},"serverInfo":{"name":"odd","version":"1"}}`), callExpecting(`"ok"`)),
		row("null-instructions", "null for the instructions", nil,
			greets(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"},"instructions":null}`), callExpecting(`"ok"`)),
		row("instructions-long", "200,000 bytes of instructions, which only the aggregate cuts", nil,
			greets(
				`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"},"instructions":"`+strings.Repeat("words ", 33_334)+`"}`,
			),
			[]oddAsk{{method: "initialize", notAggregate: true}}),
		row("server-info-long", "a title of 300,000 bytes in serverInfo", nil,
			greets(
				`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1","title":"`+strings.Repeat("words ", 50_000)+`"}}`,
			),
			[]oddAsk{
				{method: "initialize", notAggregate: true}, {method: "tools/call", params: `{"name":"it"}`},
			}),
		row("capabilities-large", "300,000 bytes of capabilities, of which only the aggregate shows less",
			nil,
			greets(
				`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"experimental":{"odd":{"words":"`+
					strings.Repeat("words ", 50_000)+`"}}},"serverInfo":{"name":"odd","version":"1"}}`,
			),
			[]oddAsk{
				{method: "experimental", notAggregate: true}, {method: "tools/call", params: `{"name":"it"}`},
			}),
		own("flags", row("capabilities-flags",
			"true and {} for capabilities, where the schemas have the other", nil,
			greets(`{"protocolVersion":"2025-11-25","capabilities":{"tools":true,"logging":true,"completions":true,"resources":{"subscribe":{}}},"serverInfo":{"name":"odd","version":"1"}}`),
			[]oddAsk{{method: "tools/call", params: `{"name":"it"}`, aggregate: `"ok"`}})),
		row("error-both", "an error and a result", nil,
			callScript(rawly(`{"jsonrpc":"2.0","id":$ID,"result":`+text("ok")+
				`,"error":{"code":-32050,"message":"m"}}`)),
			withModernCode("error -32603: m", callExpecting("error -32050: m"))),
		row("error-silent", "an error without a message", nil,
			callScript(rawly(`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32050}}`)),
			withModernCode("error -32603: ", callExpecting("error -32050: "))),
		row("error-null", "null for the message of an error", nil,
			callScript(rawly(`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32050,"message":null}}`)),
			withModernCode("error -32603: ", callExpecting("error -32050: "))),
		row("error-codeless", "an error without a code", nil,
			callScript(rawly(`{"jsonrpc":"2.0","id":$ID,"error":{"message":"m"}}`)),
			callExpecting("error -32603: m")),
		row("error-word", "a word for the code of an error", nil,
			callScript(rawly(`{"jsonrpc":"2.0","id":$ID,"error":{"code":"E_FAIL","message":"m"}}`)),
			callExpecting("error -32603: m")),
		row("error-text", "an error that is a text", nil,
			callScript(rawly(`{"jsonrpc":"2.0","id":$ID,"error":"it failed"}`)),
			callExpecting("error -32603: it failed")),
		row("result-null", "a result that is null", nil,
			callScript(rawly(`{"jsonrpc":"2.0","id":$ID,"result":null}`)), callExpecting(`{"content":[]}`)),
		row("result-type", "a resultType, which its revision does not know", nil,
			callScript(result(`{"resultType":"input_required","content":[]}`)), askCall),
		row("bom-twice", "two byte order marks before the body", []string{oddJSON},
			callScript(rawly("\xef\xbb\xbf\xef\xbb\xbf"+answer(`"id":$ID,`).text)), askCall),
		row("capabilities-null", "null for the capabilities", nil,
			greets(`{"protocolVersion":"2025-11-25","capabilities":null,"serverInfo":{"name":"odd","version":"1"}}`), []oddAsk{{method: "initialize", notAggregate: true}}),
		row("deep", "a result 500 deep", nil,
			callScript(result(`{"content":[],"structuredContent":{"a":`+strings.Repeat("[", 500)+
				strings.Repeat("]", 500)+`}}`)), askCall),
		row("many", "a result of 300,000 values", []string{oddJSON},
			callScript(result(`{"content":[],"structuredContent":{"a":[`+
				strings.Repeat("0,", 300_000)+`0]}}`)),
			askCall),
		row("big-number", "a number that no float holds", nil,
			callScript(result(`{"content":[],"structuredContent":{"a":12345678901234567890}}`)), askCall),
		row("is-error", "a failed call with members of its own", nil,
			callScript(result(`{"isError":true,"content":[{"type":"text","text":"it failed"}],"x":null}`)),
			askCall),
	}
}
