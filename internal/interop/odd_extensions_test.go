package interop

import "fmt"

// things completes the script of a server with the extension acme/things. The given script has the
// methods of the extension.
func things(script oddScript) oddScript {
	script["initialize"] = []oddReply{greeting(`{"tools":{},"extensions":{"acme/things":{"n":1}}}`)}
	script["things/own"] = []oddReply{result(`{"own":"$OWN"}`)}
	return script
}

// hasThings are the capabilities of a client with the same extension.
const hasThings = `{"extensions":{"acme/things":{}}}`

// app returns a tool whose _meta names its page.
func app(meta string) string {
	return `{"name":"show","inputSchema":{"type":"object"},"_meta":{` + meta + `}}`
}

// page returns a page of this server.
func page(uri string) oddReply {
	return result(
		fmt.Sprintf(
			`{"contents":[{"uri":%q,"mimeType":"text/html;profile=mcp-app","text":"<html>$SERVER</html>"}]}`,
			uri,
		),
	)
}

// apps is the script of a server with a tool that has a page, which is listed or not.
func apps(meta string, listed bool) oddScript {
	script := oddScript{
		"initialize": {greeting(`{"tools":{},"resources":{}}`)},
		"tools/list": {result(`{"tools":[` + app(meta) + `]}`)},
		"tools/call": {result(`{"content":[{"type":"text","text":"x","_meta":{` + meta +
			`}}],"_meta":{` + meta + `}}`)},
		"resources/read": {page("ui://widget/main.html")},
		"resources/list": {result(`{"resources":[]}`)},
	}
	if listed {
		script["resources/list"] = []oddReply{
			result(`{"resources":[{"uri":"ui://widget/main.html","name":"page","mimeType":"text/html;profile=mcp-app"}]}`),
		}
	}
	return script
}

// askApp lists the tool, calls it and reads the page that the result names.
var askApp = []oddAsk{
	{method: "tools/list"}, {method: "tools/call", params: `{"name":"show"}`}, {method: "follow"},
	{method: "resources/list"}, {method: "resources/read", params: `{"uri":"ui://widget/main.html"}`},
}

const (
	metaUI    = `"ui":{"resourceUri":"ui://widget/main.html","visibility":["model","app"]}`
	metaFlat  = `"ui/resourceUri":"ui://widget/main.html"`
	metaOlder = `"openai/outputTemplate":"ui://widget/main.html"`
)

// oddExtensions are the rows of part 4: methods outside the core of MCP, and MCP Apps.
func oddExtensions() []oddRow {
	// The aggregate has no such extension.
	alone := func(asks ...string) (all []oddAsk) {
		for i := 0; i < len(asks); i += 2 {
			all = append(all, oddAsk{method: asks[i], params: asks[i+1], notAggregate: true})
		}
		return all
	}
	// last sets the outcome of the last ask in a session of 2026-07-28.
	last := func(outcome, because string, asks []oddAsk) []oddAsk {
		asks[len(asks)-1].modern = oddModern{outcome, outcome, because}
		return asks
	}
	return []oddRow{
		{part: 4, name: "ext-request", odd: "a method of an extension that both declare",
			over: everywhere, client: hasThings,
			says: things(oddScript{"things/list": {result(`{"things":[{"n":1.0}],"nextCursor":"c"}`)}}),
			asks: alone("things/list", `{"cursor":"a","_meta":{"x":1}}`, "things/own", `{}`)},
		{part: 4, name: "ext-experimental", odd: "the same as an experimental capability",
			client: `{"experimental":{"acme/things":{}}}`,
			says: oddScript{
				"initialize":  {greeting(`{"tools":{},"experimental":{"acme/things":{}}}`)},
				"things/list": {result(`{"things":[]}`)},
			},
			asks: alone("things/list", `{}`)},
		{part: 4, name: "ext-error", odd: "an error with a code of the extension", client: hasThings,
			says: things(oddScript{"things/get": {failure(-32050, "no such thing")}}),
			asks: last("error -32603: no such thing", errorCodes, alone("things/get", `{"id":"x"}`))},
		{part: 4, name: "ext-unknown", odd: "a method that the server does not know", client: hasThings,
			says: things(oddScript{}), asks: alone("things/none", `{}`)},
		{part: 4, name: "ext-sloppy", odd: "a result with odd members", client: hasThings,
			says: things(oddScript{
				"things/list": {result(
					`{"things":null,"content":{},"isError":"no","resultType":7,"x":"\ud83d"}`,
				)},
			}),
			asks: alone("things/list", `{}`)},
		{part: 4, name: "ext-notifies", odd: "a notification of the extension during a request",
			client: hasThings, over: []string{oddStdio, oddEvents, oddSSE},
			says: things(oddScript{"things/watch": {{
				before: []string{`{"jsonrpc":"2.0","method":"notifications/things/changed","params":{"n":1}}`},
				text:   `{"jsonrpc":"2.0","id":$ID,"result":{}}`,
			}}}), asks: alone("things/watch", `{}`, "await notifications/things/changed", "")},
		{part: 4, name: "ext-notifies-later", odd: "a notification of the extension behind a result",
			over: []string{oddStdio}, client: hasThings,
			says: things(oddScript{"things/watch": {{
				text:  `{"jsonrpc":"2.0","id":$ID,"result":{}}`,
				after: []string{`{"jsonrpc":"2.0","method":"notifications/things/changed"}`},
			}}}), asks: last(oddNoAnswer, onStreams,
				alone("things/watch", `{}`, "await notifications/things/changed", ""))},
		{part: 4, name: "ext-notified", odd: "a notification of the client", client: hasThings,
			says: things(oddScript{}),
			asks: last(`{"own":"['things/own']"}`, onStreams,
				alone("notify notifications/things/seen", `{"n":1}`, "things/own", `{}`))},
		{part: 4, name: "ext-known-prefix", odd: "a method below a known name", client: hasThings,
			says: things(oddScript{"resources/directory/read": {result(`{"entries":[]}`)}}),
			asks: alone("resources/directory/read", `{"uri":"skill://x"}`)},

		{part: 4, name: "app-listed", odd: "a page that other servers list too", says: apps(metaUI, true),
			asks: askApp},
		{part: 4, name: "app-hidden", odd: "a page that is not listed", says: apps(metaUI, false),
			asks: askApp},
		{part: 4, name: "app-flat", odd: "a page named by the older member", says: apps(metaFlat, false),
			asks: askApp},
		{part: 4, name: "app-older", odd: "a page named as before there was a specification",
			says: apps(metaOlder, false), asks: askApp},
		{part: 4, name: "app-both", odd: "all of these, one with escapes",
			says: apps(metaUI+`,"ui\/resourceUri":"ui:\/\/widget\/main.html",`+metaOlder, true),
			asks: askApp},
		{part: 4, name: "app-odd", odd: "members of `ui` that are none",
			says: apps(`"ui":null,"ui/resourceUri":7`, false), asks: askApp[:2]},
	}
}
