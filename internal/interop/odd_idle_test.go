package interop

import "time"

// oddPause is how long the ask "pause" waits. It is longer than the idle times of the rows below.
const oddPause = 1500 * time.Millisecond

// oddIdle are the rows of part 8: servers that mcpd closes while they are idle, and starts again. A
// client gets the same results as directly, where the connection stays open.
func oddIdle() []oddRow {
	const stop, release = "idle_stop: 300ms", "idle_release: 300ms"
	keeps := oddScript{
		"prompts/get p": {result(
			`{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]}`,
		)},
		"tools/call t":                 {result(text("nothing is known of an earlier request"))},
		"tools/call after prompts/get": {result(text("known"))},
	}
	call := oddAsk{method: "tools/call", params: `{"name":"t"}`}
	pause := oddAsk{method: "pause"}
	again := []oddAsk{{method: "prompts/get", params: `{"name":"p"}`}, pause, call, pause, call}
	plain := oddScript{
		"tools/call t": {result(text("ok"))},
		"resources/read odd://$SERVER/r": {result(
			`{"contents":[{"uri":"odd://$SERVER/r","text":"here"}]}`,
		)},
	}
	prompts := oddScript{
		"tools/call t": {result(text("ok"))}, "prompts/get p": {result(`{"messages":[]}`)},
	}
	web := []string{oddJSON, oddEvents}
	return []oddRow{
		{part: 8, name: "idle-keeps",
			odd: "keeps something for its session, and is closed by idle_stop between two calls", over: web,
			settings: stop, says: keeps, asks: again},
		{part: 8, name: "idle-program", odd: "ended by idle_stop between two calls", over: everywhere,
			settings: stop, says: plain,
			asks: []oddAsk{
				call, pause, call, {method: "resources/read", params: `{"uri":"odd://$SERVER/r"}`},
			}},
		{part: 8, name: "idle-lists", odd: "its list is asked for while it is closed by idle_stop",
			over:     everywhere,
			settings: stop, says: plain,
			asks: []oddAsk{call, pause, {method: "tools/list", params: `{}`}, call}},
		{part: 8, name: "idle-slow", odd: "takes 2 s to shake hands, also after idle_stop",
			over:     []string{oddStdio, oddJSON},
			settings: stop,
			says: oddScript{
				"initialize":   {late(2*time.Second, greeting(`{"tools":{}}`))},
				"tools/call t": {result(text("ok"))},
			},
			asks: []oddAsk{call, pause, call}},
		{part: 8, name: "idle-read", odd: "a resource is read first after idle_stop", over: everywhere,
			settings: stop, says: plain,
			asks: []oddAsk{call, pause, {method: "resources/read", params: `{"uri":"odd://$SERVER/r"}`}}},
		{part: 8, name: "idle-prompt", odd: "prompts are listed, and one is had, after idle_stop",
			over:     everywhere,
			settings: stop, says: prompts,
			asks: []oddAsk{
				call, pause, {method: "prompts/list", params: `{}`},
				{method: "prompts/get", params: `{"name":"p"}`},
			}},
		{part: 8, name: "release-keeps",
			odd: "keeps something for its session, whose client has a stream open for longer than " +
				"idle_release", over: web,
			settings: release, says: keeps, asks: again},
		{part: 8, name: "release-own",
			odd:      "the same, with a connection that each session has for itself",
			over:     []string{oddStdio, oddSSE},
			settings: release + ", share: session", says: keeps, asks: again},
		{part: 8, name: "release-shared",
			odd: "the same of a program that the sessions of a principal share", over: []string{oddStdio},
			settings: release, says: keeps, asks: again},
	}
}
