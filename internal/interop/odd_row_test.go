package interop

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// oddRow is one row of the corpus of odd servers: a scripted server with sloppy output, what a
// client asks it, and the expected outcomes through mcpd. TestOddServers runs all rows against one
// host, with the official clients directly and through mcpd, and writes docs/odd-servers.gen.md.
//
// To add a row, append it to the list of its part (oddAnswers and so on in odd_PART_test.go) and
// run `go generate ./internal/interop`. A row passes if each client gets the same outcome through
// `/SERVER/mcp` and through the aggregate as directly, or a better one: see worse. If a direct
// client fails, the direct outcome does not determine the outcome through mcpd. In that case oddAsk
// must name the expected outcome.
//
//	{
//		part: 1, name: "lone-surrogate", odd: "a lone surrogate in a text",
//		says: says{"tools/call cut": {result(`{"content":[{"type":"text","text":"a\ud83d"}]}`)}},
//		asks: []oddAsk{{method: "tools/call", params: `{"name":"cut"}`}},
//	},
type oddRow struct {
	part int // part of the corpus: see oddParts
	// name is the name of the server: lower case, digits and hyphens. No row's name begins with the
	// name of another row and "__".
	name string
	odd  string // what is odd, in a few words, for the page

	// over are the transports: oddStdio, oddJSON, oddEvents, oddSSE. Empty means stdio and oddJSON.
	// Each is a separate server with the name NAME-TRANSPORT.
	over []string
	// says is the script. Defaults answer requests that the script lacks. $SERVER stands for the name
	// of the server, here and in asks. Each URI has it after its scheme, as odd://$SERVER/a, so that
	// no two servers have the same URI and the items of the aggregate can be told apart.
	says oddScript
	asks []oddAsk

	// Over HTTP, the server assigns another session id with each response, and knows only the last.
	rotates        bool
	sessionless    bool // over HTTP, the server assigns no session id
	refusesAnswers bool // over HTTP, the server refuses answers to its questions with 400

	opens    string   // events of an HTTP+SSE stream before the endpoint event
	moves    int      // status of the redirects of the server's URL; 0 for none
	hops     int      // number of redirects; each adds a slash to the path; 0 is 1
	via      []string // the Location of each redirect in turn, from the requested path on
	get      string   // answer to GET: see oddGet and oddStandalone; empty is 405
	client   string   // capabilities of the client, as JSON; empty for none
	settings string   // more of the server's configuration, as `start: eager, share: session`
	tenant   string   // tenant for a row that would disturb others; empty is the shared one
}

// oddScript is a script. A key is a method, or a method and the name, URI or cursor of the request,
// as "tools/call echo", or a method and another method that the connection received before, as
// "tools/list after tools/call". The n-th request of a connection gets the n-th reply, and later
// ones get the last.
type oddScript map[string][]oddReply

// oddAsk is a request of a client. The method "pause" sends nothing for oddPause. The method "await
// METHOD" waits for a notification, "notify METHOD" sends one, and "follow" reads the resource
// whose URI is in the last result. The expected outcomes through mcpd have the form of
// oddOutcome.String. An empty one means the same outcome as directly.
type oddAsk struct {
	method string
	params string // JSON; names and URIs are the server's own

	through      string    // outcome through /SERVER/mcp
	aggregate    string    // outcome through the aggregate
	notAggregate bool      // ask only /SERVER/mcp: a documented rule changes the aggregate's answer
	modern       oddModern // outcomes in a session of 2026-07-28; zero for the same
}

// oddModern has the outcomes in a session of 2026-07-28, and the clause that requires them.
type oddModern struct{ through, aggregate, because string }

// Clauses of 2026-07-28 and of our documentation, and other reasons.
const (
	errorCodes = "2026-07-28 §basic, Error Codes"
	anySchema  = "2026-07-28 §schema, Tool"
	wholeLists = "this SDK reads all pages"
	onStreams  = "ARCHITECTURE.md, Extensions"
)

// oddReply is what a server writes for one request. The zero oddReply is a request that is never
// answered.
type oddReply struct {
	// text is the message. $ID stands for the id of the request exactly as received, $SERVER for the
	// name of the server, and $OWN for the received methods that are not those of MCP.
	text     string
	before   []string      // messages before it
	after    []string      // messages after it
	streamed []string      // messages on the standalone stream of Streamable HTTP, after the reply
	wait     time.Duration // before it
	encoding string        // of the HTTP body
	bom      bool          // begins the HTTP body with a byte order mark
	status   int           // of HTTP, with a JSON body; 0 for 200
	onStream bool          // the HTTP response is 202; the reply comes on the standalone stream
	unended  int           // how many of the two line ends after the last event are missing
	ends     bool          // the program exits after it
}

// result returns a reply with the given result.
func result(json string) oddReply {
	return oddReply{text: `{"jsonrpc":"2.0","id":$ID,"result":` + json + `}`}
}

// rawly returns a reply with exactly the given text.
func rawly(text string) oddReply { return oddReply{text: text} }

// failure returns a reply with an error.
func failure(code int, message string) oddReply {
	return rawly(fmt.Sprintf(`{"jsonrpc":"2.0","id":$ID,"error":{"code":%d,"message":%q}}`,
		code, message))
}

// oddTool returns the list entry of a tool with the given name.
func oddTool(name string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)
}

// text returns the result of a call with the given text, which is the content of a JSON string.
func text(s string) string { return fmt.Sprintf(`{"content":[{"type":"text","text":"%s"}]}`, s) }

// The transports of odd servers.
const (
	oddStdio  = "stdio"
	oddJSON   = "json"   // Streamable HTTP that answers with a JSON body
	oddEvents = "events" // Streamable HTTP that answers with an event stream
	oddSSE    = "sse"    // HTTP+SSE of 2024-11-05
)

// oddParts are the headings of the page.
var oddParts = []string{1: "Answers of servers", 2: "Odd items", 3: "Lists", 4: "Extensions",
	5: "Names", 6: "What servers say unasked",
	7: "Revisions and the way to a server", 8: "Left alone",
	9: "Questions that nobody waits for", 10: "Down and back"}

// oddRows returns the whole corpus. Each part has its own file.
func oddRows() []oddRow {
	return slices.Concat(oddAnswers(), oddUndeclared(), oddItems(), oddIDs(), oddLists(),
		oddExtensions(), oddNames(), oddNotifications(), oddRevisions(), oddRedirects(), oddOpens(),
		oddIdle(),
		oddValues(), oddAsks(), oddDown())
}

// oddServer is a row over one transport.
type oddServer struct {
	*oddRow
	name, over string
}

// oddServers returns all servers of the corpus.
var oddServers = sync.OnceValue(func() (all []oddServer) {
	for _, row := range oddRows() {
		over := row.over
		if len(over) == 0 {
			over = []string{oddStdio, oddJSON}
		}
		for _, o := range over {
			all = append(all, row.server(o))
		}
	}
	return all
})

// oddByName returns the servers by name.
var oddByName = sync.OnceValue(func() map[string]oddServer {
	all := map[string]oddServer{}
	for _, s := range oddServers() {
		all[s.name] = s
	}
	return all
})

// server returns the row over one transport, with $SERVER replaced by the server's name.
func (r oddRow) server(over string) oddServer {
	name := r.name + "-" + over
	fill := func(s string) string { return strings.ReplaceAll(s, "$SERVER", name) }
	all := func(list []string) []string {
		list = slices.Clone(list)
		for i := range list {
			list[i] = fill(list[i])
		}
		return list
	}
	script := oddScript{}
	for key, replies := range r.says {
		replies = slices.Clone(replies)
		for i, reply := range replies {
			replies[i].text, replies[i].before, replies[i].after = fill(reply.text), all(reply.before),
				all(reply.after)
			replies[i].streamed = all(reply.streamed)
		}
		script[fill(key)] = replies
	}
	asks := slices.Clone(r.asks)
	for i, a := range asks {
		asks[i].params, asks[i].through, asks[i].aggregate = fill(a.params), fill(a.through),
			fill(a.aggregate)
	}
	row := r
	row.says, row.asks = script, asks
	return oddServer{&row, name, over}
}

// oddNamed finds a server of the corpus.
func oddNamed(name string) oddServer {
	if s, ok := oddByName()[name]; ok {
		return s
	}
	panic("no odd server " + name)
}

// defaults returns the answers to requests that the script lacks. The server declares the
// capabilities that the script's keys need, and lists a tool for each "tools/call NAME", and so on.
func (r *oddRow) defaults() oddScript {
	d := oddScript{"ping": {result(`{}`)}}
	declared := map[string]bool{}
	named := map[string][]string{} // by method of the list
	for _, key := range slices.Sorted(maps.Keys(r.says)) {
		method, of, _ := strings.Cut(key, " ")
		group, _, _ := strings.Cut(method, "/")
		switch group {
		case "tools", "prompts", "resources":
			declared[group] = true
		case "completion":
			declared["completions"] = true
		}
		switch {
		case of == "":
		case method == "tools/call":
			named["tools"] = append(named["tools"], oddTool(of))
		case method == "prompts/get":
			named["prompts"] = append(named["prompts"], fmt.Sprintf(`{"name":%q}`, of))
		case method == "resources/read":
			named["resources"] = append(named["resources"], fmt.Sprintf(`{"uri":%q,"name":"r"}`, of))
		}
	}
	for list := range declared {
		d[list+"/list"] = []oddReply{result(`{"` + list + `":[` + strings.Join(named[list], ",") + `]}`)}
	}
	if declared["resources"] {
		d["resources/templates/list"] = []oddReply{result(`{"resourceTemplates":[]}`)}
	}
	var capabilities []string
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		capabilities = append(capabilities, fmt.Sprintf(`%q:{}`, name))
	}
	d["initialize"] = []oddReply{greeting(`{` + strings.Join(capabilities, ",") + `}`)}
	return d
}

// greeting returns an answer to initialize with the given capabilities.
func greeting(capabilities string) oddReply {
	return result(`{"protocolVersion":"2025-11-25","capabilities":` + capabilities +
		`,"serverInfo":{"name":"odd","version":"1"}}`)
}
