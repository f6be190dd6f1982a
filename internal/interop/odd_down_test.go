package interop

import (
	"fmt"
	"io"
	"net/http"
	"slices"
)

// oddDown are the rows of part 10: servers that end their streams, sessions or programs, or print
// lines that are no messages.
func oddDown() (rows []oddRow) {
	calls := oddScript{"tools/call it": {result(text("one"))}}
	asks := []oddAsk{
		{method: "tools/list", aggregate: "it"},
		{method: "tools/call", params: `{"name":"it"}`},
		{method: "tools/call", params: `{"name":"it"}`},
	}
	for _, get := range []struct{ is, odd string }{
		{"ends", "each GET is a stream that ends at once, to be opened again in 50 ms"},
		{"primed", "the same, with the id of an event first"},
		{"cut", "each GET is a stream that is cut"},
		{"page", "each GET is answered with a page"},
		{"trouble", "each GET is answered with 500"},
		{"gateway", "each GET is answered with 502"},
		{"missing", "each GET is answered with 404, as by a server that knows only POST"},
	} {
		rows = append(rows, oddRow{
			part: 10, name: "get-" + get.is, odd: get.odd, over: []string{oddJSON, oddEvents}, get: get.is,
			says: calls, asks: asks,
		})
	}
	noisy := func(name, odd string, script oddScript) oddRow {
		return oddRow{part: 10, name: name, odd: odd, over: []string{oddStdio}, says: script, asks: asks}
	}
	greets := greeting(`{"tools":{}}`)
	greets.before = []string{"Listening on port 3000"}
	after := result(text("one"))
	after.after = []string{"GET /mcp 200", "", "{}"}
	slow := greeting(`{"tools":{}}`)
	slow.before = []string{"npm warn deprecated", "Starting...", "[info] ready"}
	builds, installs := result(text("one")), greeting(`{"tools":{}}`)
	builds.before = slices.Repeat([]string{"[1/300] compiling x.c"}, 300)
	installs.before = slices.Repeat([]string{"npm warn deprecated"}, 300)
	ends := result(text("one"))
	ends.ends = true
	forgets := rawly(
		`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32001,"message":"Session not found"}}`,
	)
	forgets.status = http.StatusNotFound
	twice := func(second string) []oddAsk {
		return []oddAsk{
			{method: "tools/call", params: `{"name":"it"}`},
			{method: "pause"},
			{method: "tools/call", params: `{"name":"it"}`, through: second, aggregate: second},
		}
	}
	return append(rows,
		oddRow{
			part: 10, name: "ends-behind", odd: "the program ends behind its first answer",
			over:     []string{oddStdio},
			settings: "share: session", says: oddScript{"tools/call it": {ends}}, asks: twice(`"one"`),
		},
		oddRow{
			part: 10, name: "forgets", odd: "it forgets its session, and answers the second call with 404",
			over:     onWeb,
			settings: "share: session", says: oddScript{"tools/call it": {result(text("one")), forgets}},
			asks: twice(`"one"`),
		},
		oddRow{
			part: 10, name: "rotates",
			odd: "it gives another session id with each response, and knows the last alone", over: onWeb,
			rotates: true,
			says: oddScript{"tools/call it": {result(text("one"))},
				"prompts/list": {result(`{"prompts":[]}`)}}, asks: asks,
		},
		oddRow{
			part: 10, name: "lists-late", odd: "it lists its tools after 1.5 s", over: everywhere,
			says: oddScript{
				"tools/list":    {late(oddPause, result(`{"tools":[`+oddTool("it")+`]}`))},
				"tools/call it": {result(text("one"))},
			},
			asks: asks[1:],
		},
		noisy("says-port", "prints where it listens before it shakes hands", oddScript{
			"initialize": {greets}, "tools/call it": {result(text("one"))},
		}),
		noisy("says-start", "prints three lines before it shakes hands", oddScript{
			"initialize": {slow}, "tools/call it": {result(text("one"))},
		}),
		noisy("says-install", "prints 300 lines of an installation before it shakes hands", oddScript{
			"initialize": {installs}, "tools/call it": {result(text("one"))},
		}),
		noisy("says-build", "prints 300 lines of a build before each answer", oddScript{
			"tools/call it": {builds},
		}),
		noisy("says-requests", "prints a line for each request behind its answer", oddScript{
			"tools/call it": {after},
		}),
	)
}

// oddGet answers a GET of Streamable HTTP in the given way.
func oddGet(out http.ResponseWriter, r *http.Request, how string) {
	switch how {
	case "ends", "primed", "cut":
		out.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(out, "retry: 50\n")
		if how == "primed" {
			fmt.Fprint(out, "id: 1\n")
		}
		fmt.Fprint(out, "data:\n\n")
		if how == "cut" {
			_ = http.NewResponseController(out).Flush()
			panic(http.ErrAbortHandler)
		}
	case "page":
		out.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(out, "<html>")
	case "trouble":
		out.WriteHeader(http.StatusInternalServerError)
	case "gateway":
		out.WriteHeader(http.StatusBadGateway)
	case "missing":
		http.Error(out, "Cannot GET "+r.URL.Path, http.StatusNotFound)
	}
}
