package interop

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// oddRow is one row of the corpus of odd servers: a scripted server whose output is sloppy, what a
// client asks it, and what comes through mcpd. TestOddServers runs all rows against one host, with
// the official clients directly and through mcpd, and writes docs/odd-servers.gen.md.
//
// To add a row, append it to the list of its part (oddAnswers and so on in odd_PART_test.go) and run
// `go generate ./internal/interop`. A row passes when each client gets through `/SERVER/mcp` and
// through the aggregate what it gets directly, or better: see worse. Where a direct client fails, what
// comes through is not determined by that: name it in oddAsk.
//
//	{
//		part: 1, name: "lone-surrogate", odd: "a lone surrogate in a text",
//		says: says{"tools/call cut": {result(`{"content":[{"type":"text","text":"a\ud83d"}]}`)}},
//		asks: []oddAsk{{method: "tools/call", params: `{"name":"cut"}`}},
//	},
type oddRow struct {
	part int    // part of the corpus: see oddParts
	name string // name of the server: lower case, digits and hyphens; no row's name begins with another's and "__"
	odd  string // what is odd, in a few words, for the page

	// over are the transports: oddStdio, oddJSON, oddEvents, oddSSE. Empty means stdio and oddJSON. Each is
	// a server of its own, which is named NAME-TRANSPORT.
	over []string
	// says is the script. What it does not have is answered by defaults. $SERVER is the name of the
	// server, here and in asks; each URI has it after its scheme, as odd://$SERVER/a, so that no two
	// servers have the same and the aggregate's items can be told apart.
	says says
	asks []oddAsk

	rotates     bool // over HTTP, it gives another session id with each response, and knows the last alone
	sessionless bool // over HTTP, it gives no session id
	deaf        bool // over HTTP, it refuses answers to its questions with 400

	opens    string   // events of an HTTP+SSE stream before the one that says where to post
	moves    int      // status of the redirect that whoever asks at the URL gets; 0 for none
	hops     int      // redirects in turn: each adds a slash to the path; 0 is 1
	via      []string // the Location of each redirect in turn, the first from the path that is asked
	get      string   // what the server answers to GET: see oddGet and oddStanding; empty is 405
	client   string   // what the client declares, as JSON; empty for nothing
	settings string   // more of the server's configuration, as `start: eager, share: session`
	tenant   string   // a tenant of its own, for what would disturb the others; empty is the shared one
}

// says is a script. Its keys are methods, or a method and the name, URI or cursor that a request is
// for, as "tools/call echo", or a method and another that the connection was sent before, as
// "tools/list after tools/call". The n-th request of a connection gets the n-th reply, later ones the
// last.
type says map[string][]oddReply

// oddAsk is what a client asks. The method "pause" asks nothing for oddPause. The method "await METHOD" waits for a notification, "notify METHOD"
// sends one, and "follow" reads the resource whose URI stands in the last result. What is expected
// through mcpd is written as oddOutcome.String has it; empty means the same as directly.
type oddAsk struct {
	method string
	params string // JSON; names and URIs are the server's own

	through   string    // what comes through /SERVER/mcp
	aggregate string    // what comes through the aggregate
	alone     bool      // ask only /SERVER/mcp: the aggregate answers otherwise by a documented rule
	modern    oddModern // what comes through in a session of 2026-07-28 instead; zero for the same
}

// oddModern is what comes through in a session of 2026-07-28, and the clause that has it so.
type oddModern struct{ through, aggregate, because string }

// Clauses of 2026-07-28, and what we say of it.
const (
	errorCodes = "2026-07-28 §basic, Error Codes"
	anySchema  = "2026-07-28 §schema, Tool"
	wholeLists = "this SDK reads all pages"
	onStreams  = "ARCHITECTURE.md, Extensions"
)

// oddReply is what a server writes for one request. The zero oddReply is a request that is never
// answered.
type oddReply struct {
	text     string        // the message; $ID is the id of the request, as it came, $SERVER the server's name, $OWN the methods heard that are not MCP's
	before   []string      // messages ahead of it
	after    []string      // messages behind it
	beside   []string      // messages on the standing stream of Streamable HTTP, once it is written
	wait     time.Duration // before it
	encoding string        // of the HTTP body
	bom      bool          // begins the HTTP body with a byte order mark
	status   int           // of HTTP, with a JSON body; 0 for 200
	aside    bool          // the HTTP response is 202: it comes on the standing stream
	unended  int           // how many of the two line ends behind the last event are missing
	ends     bool          // the program ends behind it
}

// result is a reply with this result.
func result(json string) oddReply {
	return oddReply{text: `{"jsonrpc":"2.0","id":$ID,"result":` + json + `}`}
}

// rawly is a reply as it is written.
func rawly(text string) oddReply { return oddReply{text: text} }

// failure is a reply with an error.
func failure(code int, message string) oddReply {
	return rawly(fmt.Sprintf(`{"jsonrpc":"2.0","id":$ID,"error":{"code":%d,"message":%q}}`, code, message))
}

// oddTool is a tool of this name as a list has it.
func oddTool(name string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)
}

// text is the result of a call that has this text, which is JSON without quotes.
func text(s string) string { return fmt.Sprintf(`{"content":[{"type":"text","text":"%s"}]}`, s) }

// The transports of odd servers.
const (
	oddStdio  = "stdio"
	oddJSON   = "json"   // Streamable HTTP that answers with a JSON body
	oddEvents = "events" // Streamable HTTP that answers with an event stream
	oddSSE    = "sse"    // HTTP+SSE of 2024-11-05
)

// oddParts are the headings of the page.
var oddParts = []string{1: "Answers of servers", 2: "Odd items", 3: "Lists", 4: "Extensions", 5: "Names", 6: "What servers say unasked",
	7: "Revisions and the way to a server", 8: "Left alone",
	9: "Questions that nobody waits for", 10: "Down and back"}

// oddRows is the whole corpus. Each part is in a file of its own.
func oddRows() []oddRow {
	return slices.Concat(oddAnswers(), oddUndeclared(), oddItems(), oddIDs(), oddLists(), oddExtensions(), oddNames(), oddTold(), oddRevisions(), oddMoves(), oddOpens(), oddIdle(), oddValues(), oddAsks(), oddDown())
}

// oddServer is a row over one transport.
type oddServer struct {
	*oddRow
	name, over string
}

// oddServers are all servers of the corpus.
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

// oddByName are the same by name.
var oddByName = sync.OnceValue(func() map[string]oddServer {
	all := map[string]oddServer{}
	for _, s := range oddServers() {
		all[s.name] = s
	}
	return all
})

// server is the row over one transport, with the server's name in the place of $SERVER.
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
	script := says{}
	for key, replies := range r.says {
		replies = slices.Clone(replies)
		for i, reply := range replies {
			replies[i].text, replies[i].before, replies[i].after = fill(reply.text), all(reply.before), all(reply.after)
			replies[i].beside = all(reply.beside)
		}
		script[fill(key)] = replies
	}
	asks := slices.Clone(r.asks)
	for i, a := range asks {
		asks[i].params, asks[i].through, asks[i].aggregate = fill(a.params), fill(a.through), fill(a.aggregate)
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

// defaults is what a server answers that its script does not have: it declares what the script's keys
// need, and lists a tool for each "tools/call NAME", and so on.
func (r *oddRow) defaults() says {
	d := says{"ping": {result(`{}`)}}
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

// greeting is the answer to initialize with these capabilities.
func greeting(capabilities string) oddReply {
	return result(`{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":{"name":"odd","version":"1"}}`)
}
