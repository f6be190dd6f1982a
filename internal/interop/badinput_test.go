package interop

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonrpc"
)

// ask is one incorrect request. By default it is a POST to the endpoint of ann's session, with the
// session's id and revision.
type ask struct {
	method, path, body string
	headers            []string // names and values; an empty value leaves the header out
}

// bad is a request with the expected answer: the status, and if the answer has a body the error
// code and a pattern for the message.
type bad struct {
	name string
	ask  ask
	want string
}

// send returns a POST with the given body.
func send(body string, headers ...string) ask { return ask{body: body, headers: headers} }

// call returns a POST of the given request.
func call(method, params string, headers ...string) ask {
	return send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params),
		headers...)
}

// ping returns a correct request with the given headers, which may be wrong.
func ping(headers ...string) ask { return call("ping", "{}", headers...) }

// pathRequest returns a correct request to another path.
func pathRequest(path string, headers ...string) ask {
	a := ping(headers...)
	a.path = path
	return a
}

// methodRequest returns a request with another HTTP method and without a body.
func methodRequest(method string, headers ...string) ask {
	return ask{method: method, headers: append([]string{"Content-Type", ""}, headers...)}
}

// nested returns an object with the given number of levels.
func nested(depth int) string {
	return strings.Repeat(`{"a":`, depth-1) + "{}" + strings.Repeat("}", depth-1)
}

// members returns an object with n members.
func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `%s"k%d":0`, map[bool]string{true: ",", false: "{"}[i > 0], i)
	}
	return b.String() + "}"
}

var badMessages = []bad{
	{"no JSON", send(`{"jsonrpc":`), "400 -32700 the text ends where a value should be at byte 11"},
	{"no body", send(""), "400 -32700 ."},
	{"two messages", send(
		`{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}`,
	), "400 -32700 ."},
	{"byte order mark", send("\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`), "400 -32700 ."},
	{"UTF-16", send("\xff\xfe{\x00"), "400 -32700 ."},
	{"invalid UTF-8", call("tools/call", `{"name":"`+"\xc3"+`"}`), "400 -32700 UTF-8"},
	{"lone surrogate", call("tools/call", `{"name":"\ud800"}`), "400 -32700 ."},
	{"NaN", call("tools/call", `{"name":"x","arguments":{"a":NaN}}`), "400 -32700 ."},
	{"duplicate method", send(`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`),
		`400 -32700 a second member "method"`},
	{"duplicate id, one escaped", send(`{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"ping"}`),
		`400 -32700 a second member "id"`},
	{"duplicate in _meta", call("ping", `{"_meta":{"a":1,"a":2}}`), `400 -32700 a second member "a"`},
	{"member in another case", send(`{"jsonrpc":"2.0","id":1,"Method":"ping"}`), "400 -32600 method"},
	{"member with a zero behind it", send(`{"jsonrpc":"2.0","id":1,"method\u0000":"ping"}`),
		"400 -32600 method"},
	{"id of 2^63", send(`{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}`), "200 result"},
	{"id of 100000 bytes", send(`{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 100_000) +
		`","method":"ping"}`), "400 -32600 id"},
	{"number of 100000 digits", call("tools/call", `{"a":`+strings.Repeat("1", 100_000)+`}`),
		"400 -32600 number"},
	{"depth 65", call("tools/call", nested(64)), "400 -32600 deep"},
	{"member that folds", send(`{"jsonrpc":"2.0","id":1,"method":"ping","param\u017f":{}}`),
		"200 result"},
	{"no version", send(`{"id":1,"method":"ping"}`), "400 -32600 jsonrpc"},
	{"version 1.0", send(`{"jsonrpc":"1.0","id":1,"method":"ping"}`), "400 -32600 jsonrpc"},
	{"version is a number", send(`{"jsonrpc":2.0,"id":1,"method":"ping"}`), "400 -32600 jsonrpc"},
	{"id null", send(`{"jsonrpc":"2.0","id":null,"method":"ping"}`), "400 -32600 id"},
	{"id true", send(`{"jsonrpc":"2.0","id":true,"method":"ping"}`), "400 -32600 id"},
	{"id object", send(`{"jsonrpc":"2.0","id":{},"method":"ping"}`), "400 -32600 id"},
	{"id array", send(`{"jsonrpc":"2.0","id":[1],"method":"ping"}`), "400 -32600 id"},
	{"id fraction", send(`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`), "400 -32600 id"},
	{"id of 300 bytes", send(`{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 300) +
		`","method":"ping"}`), "400 -32600 id"},
	{"id empty is an id", send(`{"jsonrpc":"2.0","id":"","method":"ping"}`), "200 result"},
	{"method is a number", send(`{"jsonrpc":"2.0","id":1,"method":7}`), "400 -32600 method"},
	{"method and result", send(`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`),
		"400 -32600 ."},
	{"result and error", send(`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}`),
		"400 -32600 ."},
	{"error without code", send(`{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}`),
		"400 -32600 code"},
	{"params is a number", call("ping", "7"), "400 -32600 params"},
	{"params is an array", call("tools/list", "[1]"), "200 -32602 params is not an object"},
	{"a string alone", send(`"ping"`), "400 -32600 ."},
	{"too deep", call("tools/call", nested(80)), "400 -32600 deep"},
	{"far too deep", send(strings.Repeat("[", 100_000)), "400 -32600 ."},
	{"too many members", call("tools/call", members(10_001)), "400 -32600 ."},
	{"too large", send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"` +
		strings.Repeat("a", 200_000) + `"}}`), "413 -32012 exceeds 131072 bytes"},
	{"batch where there are none", send(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`),
		"400 -32600 2025-11-25 has no batches"},
	{"empty batch", send(`[]`), "400 -32600 ."},
	{"initialize in a batch", send("[" + hello + "]"),
		"400 -32600 initialize must not be part of a batch"},
}

var badCalls = []bad{
	{"unknown method", call("tools/destroy", "{}"), "200 -32601 method .tools/destroy. not found"},
	{"method of another revision", call("server/discover", "{}"), "200 -32601 not found"},
	{"method that servers send", call("sampling/createMessage", "{}"), "200 -32601 not found"},
	{"params missing", send(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`), "200 -32602 name"},
	{"name missing", call("tools/call", "{}"), "200 -32602 name"},
	{"name is a number", call("tools/call", `{"name":7}`), "200 -32602 name"},
	{"unknown tool", call("tools/call", `{"name":"nowhere__x"}`),
		"200 -32602 tool .nowhere__x. not found"},
	{"unknown tool of a server", call("tools/call", `{"name":"proc__nothing"}`),
		"200 -32602 unknown tool"},
	{"unknown prompt", call("prompts/get", `{"name":"nowhere"}`),
		"200 -32602 prompt .nowhere. not found"},
	{"uri missing", call("resources/read", "{}"), "200 -32602 uri"},
	{"unknown resource", call("resources/read", `{"uri":"no://where"}`),
		"200 -32002 resource .no://where. not found"},
	{"unknown resource to watch", call("resources/subscribe", `{"uri":"no://where"}`),
		"200 -32002 resource .no://where. not found"},
	{"resource of an unknown server", call("resources/read", `{"uri":"mcpd://nowhere/x%3Ay"}`),
		"200 -32002 not found"},
	{"reference of no known type",
		call("completion/complete", `{"ref":{"type":"x"},"argument":{"name":"a","value":"b"}}`),
		"200 -32602 ref.type"},
	{"forged cursor", call("tools/list", `{"cursor":"AAAA"}`),
		"200 -32602 cursor is invalid or expired"},
	{"unknown log level", call("logging/setLevel", `{"level":"loud"}`), "200 -32602 level"},
	{"a server whose program is not there", call("tools/call", `{"name":"dead__x"}`),
		`200 -32008 server "dead" is quarantined: .*not found: command "/no/such/program"`},
	{"a server that never answers", call("tools/call", `{"name":"silent__x"}`),
		"200 -32009 no answer within 5"},
	{"a result that is too large", call("tools/call", `{"name":"mirror__flood"}`),
		`200 -32603 server "mirror" sent an invalid answer: .*more than 16777216`},
	{"cancelling what is unknown",
		send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never"}}`),
		"202"},
	{"an answer that nobody waits for", send(`{"jsonrpc":"2.0","id":"never","result":{}}`), "202"},
	{"an unknown notification", send(`{"jsonrpc":"2.0","method":"notifications/nothing"}`), "202"},
	{"_meta too large", call("ping", `{"_meta":{"a":"`+strings.Repeat("a", 90_000)+`"}}`),
		"200 -32602 _meta"},
	{"_meta is a text", call("ping", `{"_meta":"x"}`), "200 -32602 _meta"},
	{"_meta too deep", call("tools/list", `{"_meta":`+nested(20)+`}`),
		"200 -32602 _meta is deeper than 8"},
	{"_meta with too many members", call("tools/list", `{"_meta":`+members(65)+`}`),
		"200 -32602 _meta .* 64 members"},
	{"progress token of the wrong type",
		call("tools/call", `{"name":"mirror__mirror","arguments":{},"_meta":{"progressToken":{}}}`),
		"200 result"},
	{"_meta of another tenant",
		call(
			"tools/call",
			`{"name":"proc__echo","arguments":{"text":"x"},"_meta":{"tenant":"zeta","io.modelcontextprotocol/tenant":"zeta","principal":"zoe"}}`,
		), "200 result"},
	{"a trace that is none", call("tools/call",
		`{"name":"proc__echo","arguments":{"text":"x"},"_meta":{"traceparent":"zz-0","tracestate":7,"baggage":"`+strings.Repeat("a=b,", 2500)+`"}}`), "200 result"},
	{"a file of this machine", call("resources/read", `{"uri":"file:///etc/passwd"}`),
		"200 -32002 not found"},
	{"a program for a URI", call("resources/read", `{"uri":"javascript:alert(1)"}`),
		"200 -32002 not found"},
	{"a URI with a password", call("resources/read", `{"uri":"http://ann:secret@127.0.0.1/"}`),
		"200 -32002 not found"},
	{"a URI of 64 KiB", call("resources/read",
		`{"uri":"fixture://proc/item/`+strings.Repeat("%2e", 21_000)+`"}`), "200 -32002 not found"},
	{"another method in the header", ping("Mcp-Method", "tools/list"),
		"400 -32600 Mcp-Method: differs"},
	{"another name in the header",
		call("tools/call", `{"name":"proc__echo","arguments":{"text":"x"}}`, "Mcp-Name", "proc__fail"),
		"400 -32600 Mcp-Name: differs"},
	{"method and name in the header",
		call("tools/call", `{"name":"proc__echo","arguments":{"text":"x"}}`, "Mcp-Method", "tools/call",
			"Mcp-Name", "proc__echo"), "200 result"},
	{"a request of 2026-07-28",
		call("tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`,
			"Mcp-Session-Id", "", "Mcp-Protocol-Version", ""), "400 -32020 MCP-Protocol-Version"},
	{"a header of 2026-07-28", ping("Mcp-Protocol-Version", "2026-07-28"),
		"400 -32600 a session is not of revision 2026-07-28"},
	{"an unknown revision", ping("Mcp-Protocol-Version", "2031-01-01"),
		"400 -32600 2031-01-01.*those are 2026-07-28, 2025-11-25"},
	{"no revision at all", ping("Mcp-Protocol-Version", "latest"),
		"400 -32600 latest.*those are 2026-07-28, 2025-11-25"},
	{"another revision than the session's", ping("Mcp-Protocol-Version", "2025-06-18"),
		"400 -32600 header says revision 2025-06-18, the session 2025-11-25"},
	{"initialized twice", send(hello), "400 -32600 initialized already"},
	{"initialize without params",
		send(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, "Mcp-Session-Id", ""), "200 -32602 ."},
	{"initialize without a revision",
		call("initialize", `{"capabilities":{},"clientInfo":{"name":"x","version":"1"}}`,
			"Mcp-Session-Id", ""), "200 -32602 protocolVersion"},
	{"initialize with capabilities of the wrong type",
		call(
			"initialize",
			`{"protocolVersion":"2025-11-25","capabilities":[],"clientInfo":{"name":"x","version":"1"}}`,
			"Mcp-Session-Id", "",
		), "200 -32602 capabilities"},
	{"a call before initialize", ping("Mcp-Session-Id", ""), "400 -32600 Mcp-Session-Id is required"},
}

var badSessions = []bad{
	{"unknown session", ping("Mcp-Session-Id", strings.Repeat("A", 52)),
		"404 -32602 session not found"},
	{"a session id that is none", ping("Mcp-Session-Id", "\u00e9"), "404 -32602 session not found"},
	{"a session id without end", ping("Mcp-Session-Id", strings.Repeat("A", 2000)),
		"404 -32602 session not found"},
	{"two session ids", ping("Mcp-Session-Id", "a", "Mcp-Session-Id", "b"),
		"400 -32600 header Mcp-Session-Id given more than once"},
	{"session of another principal", ping("Authorization", "Bearer key-of-bob"),
		"404 -32602 session not found"},
	{"stream of another principal's session",
		methodRequest("GET", "Authorization", "Bearer key-of-bob"),
		"404 -32602 session not found"},
	{"end of another principal's session",
		methodRequest("DELETE", "Authorization", "Bearer key-of-bob"),
		"404 -32602 session not found"},
	{"session of another tenant", pathRequest("/t/zeta/mcp", "Authorization", "Bearer key-of-zoe"),
		"404 -32602 session not found"},
	{"session of another endpoint", pathRequest("/t/acme/proc/mcp"), "404 -32602 session not found"},
	{"session id in the query", pathRequest("/t/acme/mcp?Mcp-Session-Id=x", "Mcp-Session-Id", ""),
		"400 -32600 Mcp-Session-Id is required"},
	{"stream without session", methodRequest("GET", "Mcp-Session-Id", ""),
		"400 -32600 Mcp-Session-Id is required"},
	{"end of no session", methodRequest("DELETE", "Mcp-Session-Id", ""),
		"400 -32600 Mcp-Session-Id is required"},
	{"resuming behind an unknown event", methodRequest("GET", "Last-Event-Id", "forged"),
		"400 -32600 cannot resume"},
	{"resuming by POST", ping("Last-Event-Id", "x"), "400 -32600 resume a stream with GET"},
}

var badRequests = []bad{
	{"text/plain", ping("Content-Type", "text/plain"), "415 -32600 application/json"},
	{"no content type", ping("Content-Type", ""), "415 -32600 application/json"},
	{"a form", ping("Content-Type", "multipart/form-data; boundary=x"), "415 -32600 application/json"},
	{"compressed", ping("Content-Encoding", "gzip"), "415 -32600 encoding"},
	{"takes HTML only", ping("Accept", "text/html"), "406 -32600 accept"},
	{"takes no streams", ping("Accept", "application/json"), "406 -32600 accept"},
	{"takes anything", ping("Accept", "*/*"), "200 result"},
	{"stream that takes JSON only", methodRequest("GET", "Accept", "application/json"),
		"406 -32600 accept"},
	{"stream with a body", ask{method: "GET", body: "{}"}, "400 -32600 GET takes no body"},
	{"PUT", methodRequest("PUT"), "405 -32600 method PUT"},
	{"PATCH", methodRequest("PATCH"), "405 -32600 method PATCH"},
	{"TRACE", methodRequest("TRACE"), "405 -32600 method TRACE"},
	{"OPTIONS that is no preflight", methodRequest("OPTIONS"), "405 -32600 method OPTIONS"},
	{"preflight of a foreign page",
		methodRequest("OPTIONS", "Origin", "https://evil.example",
			"Access-Control-Request-Method", "POST"),
		"403 -32600 origin"},
	{"foreign host", ping("Host", "evil.example.com"), "403 -32600 host"},
	{"foreign host with a port", ping("Host", "evil.example.com:80"), "403 -32600 host"},
	{"host that begins like ours", ping("Host", "localhost.evil.example"), "403 -32600 host"},
	{"host with two dots at its end", ping("Host", "localhost.."), "403 -32600 host"},
	{"host in another case is ours", ping("Host", "LocalHost:99"), "200 result"},
	{"foreign origin", ping("Origin", "https://evil.example"), "403 -32600 [oO]rigin"},
	{"origin null", ping("Origin", "null"), "403 -32600 origin"},
	{"origin that begins like ours", ping("Origin", "http://localhost.evil.example"),
		"403 -32600 origin"},
	{"origin of another port", ping("Origin", "http://127.0.0.1:1"), "403 -32600 origin"},
	{"two origins", ping("Origin", "http://localhost", "Origin", "https://evil.example"),
		"403 -32600 [oO]rigin"},
	{"cross-site without origin", ping("Sec-Fetch-Site", "cross-site"), "403 -32600 cross-site"},
	{"stream for a foreign origin", methodRequest("GET", "Origin", "https://evil.example"),
		"403 -32600 [oO]rigin"},
	{"end for a foreign origin", methodRequest("DELETE", "Origin", "https://evil.example"),
		"403 -32600 [oO]rigin"},
	{"token in the query", pathRequest("/t/acme/mcp?access_token=key-of-ann", "Authorization", ""),
		"400 -32600 query"},
	{"query without end", pathRequest("/t/acme/mcp?" + strings.Repeat("a&", 200)), "400 -32600 query"},
	{"path without end", pathRequest("/" + strings.Repeat("a", 9000)), "414 -32600 8192"},
	{"headers without end", ping("X-Long", strings.Repeat("a", 40_000)), "431"},
	{"too many headers", ping(manyHeaders(120)...), "431 -32600 100"},
	{"two keys", ping("Authorization", "Bearer key-of-ann", "Authorization", "Bearer key-of-bob"),
		"400 -32600 header Authorization given more than once"},
	{"scheme in another case is a key", ping("Authorization", "bEARER key-of-ann"), "200 result"},
	{"unknown server", pathRequest("/t/acme/nowhere/mcp"),
		"404 -32600 there is no server nowhere: the tenant has proc, mirror, dead, silent"},
	{"reserved name", pathRequest("/t/acme/sse"), "405 -32600 method POST"},
}

// badPaths are paths that must not lead to a server, although some parsers would normalize them to
// one that does (S11).
var badPaths = []string{
	"/", "/t/acme", "/t/acme/", "/t//mcp", "//t/acme/mcp", "/t/acme//mcp", "/t/acme/mcp//",
	"/t/acme/./mcp", "/t/acme/../acme/mcp", "/t/zeta/../acme/mcp",
	"/t/%61cme/mcp", "/t/acme%2fmcp", "/t/acme%2Fproc/mcp", "/t/%2e%2e/t/acme/mcp", "/t/acme;x/mcp",
	"/t/acme/mcp;x", "/t/ACME/mcp", "/T/acme/mcp",
	"/t/acme/MCP", "/t/acme/Proc/mcp", "/t/acme\u0301/mcp", "/t/\u0430cme/mcp", "/t/acme%00/mcp",
	"/t/acme/proc%00/mcp", "/t/acme/proc/proc/mcp",
	"/t/acme\\mcp", "/t/acme/mcp%3f", "/t/acme/mcp%23",
}

func manyHeaders(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("X-Header-%d", i), "x")
	}
	return list
}

// check compares a reply with the expected answer of a table row.
func (r reply) check(t *testing.T, want string) {
	t.Helper()
	words := strings.SplitN(want, " ", 3)
	if got := fmt.Sprint(r.status); got != words[0] {
		t.Errorf("status = %s, want %s; the answer is %.300q", got, words[0], r.body)
		return
	}
	if len(words) == 1 {
		return
	}
	m := r.message(t)
	if words[1] == "result" {
		if m.Kind() != jsonrpc.KindResult {
			t.Errorf("got %.300q, want a result", r.body)
		}
		return
	}
	if m.Error == nil || fmt.Sprint(m.Error.Code) != words[1] ||
		!regexp.MustCompile(words[2]).MatchString(m.Error.Message) {
		t.Errorf("got %.300q, want %s", r.body, want)
		return
	}
	if strings.Contains(string(r.body), "goroutine") || strings.Contains(string(r.body), "key-of-") {
		t.Errorf("the answer says too much: %s", r.body)
	}
	if kind := jsontext.Value(m.Error.Data).Kind(); r.status != http.StatusOK && kind != '{' {
		t.Errorf("the answer has no reason: %s", r.body)
	}
}
