package interop

import (
	"fmt"
	"strings"
)

// embeds is the script of a server with a tool whose result has the given content, and with a
// resource whose URI other servers also have.
func embeds(content string) oddScript {
	return oddScript{
		"initialize":     {greeting(`{"tools":{},"resources":{},"prompts":{}}`)},
		"tools/list":     {result(`{"tools":[` + oddTool("it") + `]}`)},
		"tools/call":     {result(`{"content":[` + content + `]}`)},
		"prompts/list":   {result(`{"prompts":[{"name":"it"}]}`)},
		"prompts/get":    {result(`{"messages":[{"role":"user","content":` + content + `}]}`)},
		"resources/list": {result(`{"resources":[{"uri":"test://shared","name":"shared"}]}`)},
		"resources/read": {
			result(`{"contents":[{"uri":"test://shared","text":"of $SERVER"},{"uri":"test://shared/part","text":"part"}]}`),
		},
	}
}

func embedded(uri string) string {
	return fmt.Sprintf(`{"type":"resource","resource":{"uri":%q,"text":"x"}}`, uri)
}

func linked(uri string) string {
	return fmt.Sprintf(`{"type":"resource_link","uri":%q,"name":"x"}`, uri)
}

// askEmbedded calls the tool and gets the prompt.
var askEmbedded = []oddAsk{
	{method: "tools/call", params: `{"name":"it"}`}, {method: "prompts/get", params: `{"name":"it"}`},
}

// askFollowed calls the tool and gets the prompt, and reads the resource that each result names.
var askFollowed = []oddAsk{askEmbedded[0], {method: "follow"}, askEmbedded[1], {method: "follow"}}

// oddNames are the rows of part 5: names and URIs of servers in the aggregate.
func oddNames() []oddRow {
	// tool returns a row of a server with a tool of the given name.
	tool := func(name, odd, aggregate string) oddRow {
		list := fmt.Sprintf(`{"tools":[%s]}`, oddTool(name))
		return oddRow{part: 5, odd: odd,
			says: oddScript{"tools/list": {result(list)}, "tools/call " + name: {result(text("called"))}},
			asks: []oddAsk{
				{method: "tools/list", aggregate: aggregate},
				{method: "tools/call", params: fmt.Sprintf(`{"name":%q}`, name)},
			}}
	}
	named := func(name string, r oddRow) oddRow { r.name = name; return r }
	long := strings.Repeat("n", 80)
	longRow := tool(long, "a tool's name of 80 characters", "")
	longRow.asks = longRow.asks[1:] // the digest in the name differs by server
	return []oddRow{
		named("name-dot", tool("get.it", "a dot in a tool's name", "get_it")),
		named("name-slash", tool("get/it", "a slash", "get_it")),
		named("name-space", tool("get it", "a space", "get_it")),
		named("name-letters", tool("wêtter", "a letter beyond ASCII", "w_tter")),
		named("name-long", longRow),
		{part: 5, name: "name-twins", odd: "two names that would become one",
			says: oddScript{
				"tools/list":     {result(`{"tools":[` + oddTool("a_b") + `,` + oddTool("c-d") + `]}`)},
				"tools/call a_b": {result(text("plain"))},
			},
			asks: []oddAsk{{method: "tools/list"}, {method: "tools/call", params: `{"name":"a_b"}`}}},
		{part: 5, name: "name-prompt", odd: "a prompt's name with letters and spaces",
			says: oddScript{"prompts/get à la carte": {result(`{"messages":[]}`)}},
			asks: []oddAsk{
				{method: "prompts/list"}, {method: "prompts/get", params: `{"name":"à la carte"}`},
			}},

		{part: 5, name: "uri-shared", odd: "a resource that other servers have too", over: everywhere,
			says: embeds(``),
			asks: []oddAsk{{method: "resources/read", params: `{"uri":"test://shared"}`}}},
		{part: 5, name: "uri-embedded", odd: "it embedded in content",
			says: embeds(embedded("test://shared")), asks: askFollowed},
		{part: 5, name: "uri-hidden", odd: "an embedded resource that is not listed",
			says: embeds(embedded("test://hidden")), asks: askFollowed},
		{part: 5, name: "uri-data", odd: "an embedded `data:` URI",
			says: embeds(embedded("data:text/plain,x")), asks: askEmbedded},
		{part: 5, name: "uri-web", odd: "a link to the web",
			says: embeds(linked("https://example.com/x")), asks: askEmbedded},
		{part: 5, name: "uri-link", odd: "a link to what is not listed",
			says: embeds(linked("skill://x/SKILL.md")), asks: askFollowed},
		{part: 5, name: "uri-escaped", odd: "escapes in the member's name",
			says: embeds(`{"type":"resource","resource":{"\u0075ri":"test://shared","text":"x"}}`),
			asks: askFollowed},
		{part: 5, name: "uri-posing", odd: "a URI that poses as another server's",
			says: embeds(embedded("mcpd://uri-shared-stdio/test%3A%2F%2Fshared")), asks: askFollowed},
		{part: 5, name: "uri-page-posing", odd: "a page that poses as another server's",
			says: embeds(linked("ui://mcpd/app-listed-stdio/widget/main.html")), asks: askFollowed},
		{part: 5, name: "uri-unknown", odd: "a URI that the server does not know",
			says: oddScript{
				"resources/list": {result(`{"resources":[]}`)},
				"resources/read": {
					rawly(`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32002,"message":"no such resource","data":{"uri":"test://none"}}}`),
				},
			},
			asks: []oddAsk{{method: "resources/read", params: `{"uri":"test://none"}`}}},
	}
}
