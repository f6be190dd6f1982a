package interop

import (
	"strings"
	"time"
)

// oddAsking is the script of a server that sends questions during a call, and does not wait for the
// answers. Another call returns how many of the questions have no answer after a second.
func oddAsking(before []string, after ...string) oddScript {
	return oddScript{
		"tools/call ask": {{
			before: before, text: `{"jsonrpc":"2.0","id":$ID,"result":` + text("asked") + `}`, after: after,
		}},
		"tools/call pause": {{text: `{"jsonrpc":"2.0","id":$ID,"result":` + text("later") + `}`,
			wait: 1200 * time.Millisecond}},
		"tools/call answers": {result(text("$LATE unanswered"))},
	}
}

// askAsking calls the tools of oddAsking.
var askAsking = []oddAsk{
	{method: "tools/call", params: `{"name":"ask"}`},
	{method: "tools/call", params: `{"name":"pause"}`},
	{method: "tools/call", params: `{"name":"answers"}`},
}

// oddQuestion returns a question of a server. $N stands for a number that is different each time.
func oddQuestion(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`
}

// oddAsks are the rows of part 9: servers that ask without waiting. Each question gets an answer or
// an error, whatever happens to the call, and the call gets its result.
func oddAsks() []oddRow {
	const (
		form    = `{"message":"name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`
		page    = `{"mode":"url","message":"go","url":"https://odd.example/","elicitationId":"e"}`
		prompt  = `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":1}`
		elicits = `{"elicitation":{}}`
		samples = `{"sampling":{}}`
	)
	everywhere := []string{oddStdio, oddEvents, oddSSE}
	row := func(name, odd, client string, over []string, says oddScript) oddRow {
		return oddRow{
			part: 9, name: name, odd: odd, client: client, over: over, says: says, asks: askAsking,
		}
	}
	piped := []string{oddStdio}
	during := func(lines ...string) oddScript { return oddAsking(lines) }
	elsewhere := func(key string, reply oddReply) oddRow {
		script := during()
		delete(script, "tools/call ask")
		reply.before = []string{oddQuestion(`"q-$N"`, "elicitation/create", form)}
		script[key] = []oddReply{reply}
		return oddRow{part: 9, client: elicits, over: piped, says: script}
	}
	prompts := elsewhere("prompts/get p", result(`{"messages":[]}`))
	prompts.name, prompts.odd = "ask-prompt", "a question during prompts/get"
	prompts.asks = append([]oddAsk{{method: "prompts/get", params: `{"name":"p"}`}}, askAsking[1:]...)
	reads := elsewhere("resources/read odd://$SERVER/a",
		result(`{"contents":[{"uri":"odd://$SERVER/a","text":"a"}]}`))
	reads.name, reads.odd = "ask-read", "a question during resources/read"
	reads.asks = append([]oddAsk{{method: "resources/read", params: `{"uri":"odd://$SERVER/a"}`}},
		askAsking[1:]...)
	deaf := during(oddQuestion(`"q-$N"`, "elicitation/create", form))
	deaf["tools/call ask"][0].wait = 1200 * time.Millisecond
	return []oddRow{
		{
			part: 9, name: "ask-deaf",
			odd:  "keeps no session, refuses the answer with 400 and goes on without it",
			over: []string{oddEvents}, sessionless: true, refusesAnswers: true, says: deaf,
			asks: askAsking[:1],
		},
		row("ask-form", "a form that it does not wait for", elicits, everywhere,
			during(oddQuestion(`"q-$N"`, "elicitation/create", form))),
		row("ask-undeclared", "a form that the client has not declared", "", everywhere,
			during(oddQuestion(`"q-$N"`, "elicitation/create", form))),
		row("ask-page", "a page that the client has not declared", elicits, piped,
			during(oddQuestion(`"q-$N"`, "elicitation/create", page))),
		row("ask-sample", "sampling that it does not wait for", samples, piped,
			during(oddQuestion(`"q-$N"`, "sampling/createMessage", prompt))),
		row("ask-roots", "roots during a call", `{"roots":{}}`, everywhere,
			during(oddQuestion(`"q-$N"`, "roots/list", `{}`))),
		row("ask-ping", "a ping during a call", "", piped, during(oddQuestion(`"q-$N"`, "ping", `{}`))),
		row("ask-roots-bare", "roots, without params", `{"roots":{}}`, everywhere,
			during(`{"jsonrpc":"2.0","id":"q-$N","method":"roots/list"}`)),
		row("ask-sample-undeclared", "sampling that the client has not declared", "", piped,
			during(oddQuestion(`"q-$N"`, "sampling/createMessage", prompt))),
		row("ask-kinds", "a form and roots at once", `{"elicitation":{},"roots":{}}`, piped,
			during(oddQuestion(`"a-$N"`, "elicitation/create", form),
				oddQuestion(`"b-$N"`, "roots/list", `{}`))),
		row("ask-unknown", "a method that nobody knows", elicits, piped,
			during(oddQuestion(`"q-$N"`, "odd/question", `{}`))),
		row("ask-long", "a question whose id has 1,000 bytes", elicits, everywhere,
			during(oddQuestion(`"`+strings.Repeat("q", 1000)+`-$N"`, "elicitation/create", form))),
		row("ask-number", "a number as the id of a question", elicits, piped,
			during(oddQuestion(`7$N`, "elicitation/create", form))),
		row("ask-twice", "the same id twice at once", elicits, piped,
			during(oddQuestion(`"q-$N"`, "elicitation/create", form),
				oddQuestion(`"q-$N"`, "elicitation/create", form))),
		row("ask-many", "three questions at once", elicits, piped,
			during(oddQuestion(`"a-$N"`, "elicitation/create", form),
				oddQuestion(`"b-$N"`, "elicitation/create", form),
				oddQuestion(`"c-$N"`, "elicitation/create", form))),
		row("ask-behind", "a question behind the result", elicits, piped,
			oddAsking(nil, oddQuestion(`"q-$N"`, "elicitation/create", form))),
		row("ask-roots-behind", "roots behind the result, of a client without roots", "", piped,
			oddAsking(nil, oddQuestion(`"q-$N"`, "roots/list", `{}`))),
		prompts, reads,
	}
}
