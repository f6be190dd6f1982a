package interop

import (
	"fmt"
	"strings"
	"time"
)

// toolPage returns a result of tools/list with the given tools, and with more members after them.
func toolPage(more string, names ...string) oddReply {
	var all []string
	for _, name := range names {
		all = append(all, oddTool(name))
	}
	return result(`{"tools":[` + strings.Join(all, ",") + `]` + more + `}`)
}

// late returns a reply that is delayed.
func late(wait time.Duration, r oddReply) oddReply {
	r.wait = wait
	return r
}

// oddLists are the rows of part 3: lists that fail, are late, or have many pages. At /SERVER/mcp, a
// failed list is the server's error. The aggregate shows the items of the other servers and reports
// in _meta what is missing.
func oddLists() []oddRow {
	list := []oddAsk{{method: "tools/list", params: `{}`}}
	missing := []oddAsk{{method: "tools/list", params: `{}`, aggregate: "nothing"}}
	long := fmt.Sprintf(`{"name":"long","description":%q,"inputSchema":{"type":"object"}}`,
		strings.Repeat("words ", 2000))
	large := fmt.Sprintf(`{"name":"large","inputSchema":{"type":"object","description":%q}}`,
		strings.Repeat("words ", 50000))
	return []oddRow{
		{part: 3, name: "list-fails", odd: "tools/list fails: its source cannot be reached",
			says: oddScript{"tools/list": {failure(-32603, "no network")}}, asks: missing},
		{part: 3, name: "list-fails-first",
			odd:  "tools/list fails once on each connection; mcpd has asked before",
			says: oddScript{"tools/list": {failure(-32603, "warming up"), toolPage("", "a")}},
			asks: []oddAsk{{method: "tools/list", params: `{}`, through: "a", aggregate: "a"}, list[0]}},
		{part: 3, name: "list-unknown", odd: "declares tools and does not know tools/list",
			says: oddScript{"tools/list": {failure(-32601, "what is tools/list?")}}, asks: missing},
		{part: 3, name: "list-late", odd: "tools/list takes 7 s", tenant: "late",
			says: oddScript{"tools/list": {late(7*time.Second, toolPage("", "a"))}}, asks: list},
		{part: 3, name: "list-never", odd: "prompts/list is never answered, tools/list is",
			tenant: "never",
			says: oddScript{
				"tools/list": {toolPage("", "a")}, "prompts/list": {{}},
				"tools/call a": {result(text("works"))},
			},
			asks: []oddAsk{list[0], {method: "tools/call", params: `{"name":"a"}`}}},
		{part: 3, name: "list-one-fails", odd: "resources/templates/list fails, resources/list does not",
			says: oddScript{"resources/list": {result(`{"resources":[{"uri":"odd://r","name":"r"}]}`)},
				"resources/templates/list": {failure(-32000, "no templates today")}},
			asks: []oddAsk{{method: "resources/list", params: `{}`, notAggregate: true},
				{method: "resources/templates/list", params: `{}`, aggregate: "nothing",
					modern: oddModern{"error -32603: no templates today", "nothing", errorCodes}}}},
		{part: 3, name: "pages", odd: "three pages, which the aggregate shows as one, by cursors that " +
			"only the server knows",
			says: oddScript{
				"tools/list":         {toolPage(`,"nextCursor":"cat:7/é"`, "a")},
				"tools/list cat:7/é": {toolPage(`,"nextCursor":"3"`, "b")}, "tools/list 3": {toolPage("", "c")},
			},
			asks: []oddAsk{
				{method: "tools/list", params: `{}`, through: "a", aggregate: "a, b, c", modern: oddModern{
					"a, b, c", "a, b, c", wholeLists,
				}},
				{method: "tools/list", params: `{"cursor":"cat:7/é"}`, notAggregate: true},
				{method: "tools/list", params: `{"cursor":"3"}`, notAggregate: true}}},
		{part: 3, name: "page-fails", odd: "the second page fails",
			says: oddScript{
				"tools/list":   {toolPage(`,"nextCursor":"2"`, "a")},
				"tools/list 2": {failure(-32603, "no second page")},
			},
			asks: []oddAsk{
				{method: "tools/list", params: `{}`, notAggregate: true},
				{method: "tools/list", params: `{"cursor":"2"}`, notAggregate: true}}},
		{part: 3, name: "cursor-empty", odd: "nextCursor is empty", says: oddScript{
			"tools/list": {toolPage(`,"nextCursor":""`, "a")},
		},
			asks: []oddAsk{{method: "tools/list", params: `{}`, notAggregate: true}}},
		{part: 3, name: "cursor-null", odd: "nextCursor is null", says: oddScript{
			"tools/list": {toolPage(`,"nextCursor":null`, "a")},
		},
			asks: []oddAsk{{method: "tools/list", params: `{}`, aggregate: "a"}}},
		{part: 3, name: "cursor-again", odd: "every page has the same items and the same nextCursor",
			says: oddScript{"tools/list": {toolPage(`,"nextCursor":"again"`, "a")}},
			asks: []oddAsk{{method: "tools/list", params: `{}`, notAggregate: true}}},
		{part: 3, name: "cursor-refused", odd: "refuses every cursor",
			says: oddScript{
				"tools/list": {toolPage("", "a")}, "tools/list x": {failure(-32602, "no such page")},
			},
			asks: []oddAsk{{method: "tools/list", params: `{"cursor":"x"}`, notAggregate: true}}},
		{part: 3, name: "page-extras", odd: "members of no schema beside the items, and _meta",
			says: oddScript{"tools/list": {toolPage(`,"total":1,"_meta":{"odd/x":{"y":[1]}}`, "a")}},
			asks: []oddAsk{{method: "tools/list", params: `{}`, notAggregate: true}}},
		{part: 3, name: "description-long",
			odd:  "a description of 12,000 bytes, which only the aggregate shortens",
			says: oddScript{"tools/list": {result(`{"tools":[` + long + `]}`)}},
			asks: []oddAsk{{method: "tools/list", params: `{}`, notAggregate: true}}},
		{part: 3, name: "schema-large",
			odd:  "a schema of 300,000 bytes, which only the aggregate leaves out",
			says: oddScript{"tools/list": {result(`{"tools":[` + large + `]}`)}}, asks: missing},
		{part: 3, name: "list-own", odd: "a session has an instance of its own",
			settings: "share: session",
			says:     oddScript{"tools/list": {toolPage("", "a")}, "tools/call a": {result(text("works"))}},
			asks:     []oddAsk{list[0], {method: "tools/call", params: `{"name":"a"}`}, list[0]}},
	}
}
