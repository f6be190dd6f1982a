package oddclients

// ping, hello and discover are correct requests of the two eras.
const (
	ping  = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	hello = `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"odd","version":"1"}}}`
	discover = `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"odd","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	modern = "MCP-Protocol-Version: 2026-07-28\nMcp-Method: server/discover\n"
)

// odd is one request as sent, with the expected answer. In the header fields $KEY stands for a key
// of the tenant, $HOST for the address of the host and $SESSION for the id of an open session.
type odd struct {
	name string
	// head is the request line and the header fields. The test adds Host, Authorization, Content-Type,
	// Accept and Content-Length where they are missing. "!Name" leaves a field out.
	head  string
	body  string
	proxy bool     // sent by a trusted proxy
	want  string   // status code
	has   []string // parts of the answer, header included
	lacks []string
	right string // why this answer is correct
}

const post = "POST /t/acme/mcp HTTP/1.1\n"

var table = []odd{
	// The host that the request names.
	{name: "a trailing dot in Host", head: post + "Host: localhost.", body: hello, want: "200",
		right: "the dot ends a fully qualified name (RFC 3986 §3.2.2)"},
	{name: "a trailing dot before a port", head: post + "Host: mcp.example.com.:8443", body: hello,
		want:  "200",
		right: "the same, whatever port a proxy was asked at"},
	{name: "two trailing dots", head: post + "Host: localhost..", body: hello, want: "403",
		right: "no such name exists"},
	{name: "a subdomain of a listed domain", head: post + "Host: a.b.apps.example.org", body: hello,
		want:  "200",
		right: "`.apps.example.org` in `hosts` means its subdomains"},
	{name: "the listed domain itself", head: post + "Host: apps.example.org", body: hello, want: "403",
		has:   []string{`hosts`},
		right: "and not the domain itself"},
	{name: "a name that ends like a listed domain", head: post + "Host: evilapps.example.org",
		body: hello, want: "403",
		right: "a subdomain ends at a dot"},
	{name: "an unknown host", head: post + "Host: rebound.example", body: hello, want: "403",
		has: []string{`rebound.example`, `add it to hosts`}, right: "the refusal says which key to set"},
	{name: "a name in capitals", head: post + "Host: LOCALHOST", body: hello, want: "200",
		right: "names have no case"},

	// The origin of the page that sends the request.
	{name: "the own origin by http", head: post + "Origin: http://$HOST", body: hello, want: "200",
		right: "a page of this host may call it"},
	{name: "the own origin by https without a proxy", head: post + "Origin: https://$HOST",
		body: hello, want: "403",
		right: "that is another origin"},
	{name: "the own origin behind a proxy that ends TLS",
		head: post + "Host: mcp.example.com\nX-Forwarded-Proto: https\nOrigin: https://mcp.example.com",
		body: hello, proxy: true, want: "200",
		right: "a trusted proxy says by which scheme its client asked"},
	{name: "the same from a proxy that nobody trusts",
		head: post + "Host: mcp.example.com\nX-Forwarded-Proto: https\nOrigin: https://mcp.example.com",
		body: hello, want: "403", right: "anybody can say that"},
	{name: "the own origin by http behind such a proxy",
		head: post + "Host: mcp.example.com\nX-Forwarded-Proto: https\nOrigin: http://mcp.example.com",
		body: hello, proxy: true, want: "403", right: "a page of http is not the page of https"},
	{name: "the own origin, and a proxy that names its port",
		head: post + "Host: mcp.example.com:443\nX-Forwarded-Proto: https\nOrigin: " +
			"https://mcp.example.com",
		body: hello, proxy: true, want: "200",
		right: "443 is the port of https (nginx: `$host:$server_port`)"},
	{name: "the same by http", head: post + "Host: mcp.example.com:80\nOrigin: http://mcp.example.com",
		body: hello, want: "200",
		right: "80 is that of http"},
	{name: "the port of another scheme",
		head: post + "Host: mcp.example.com:443\nOrigin: http://mcp.example.com", body: hello,
		want:  "403",
		right: "443 is not the port of http"},
	{name: "the own origin with a trailing dot in Host",
		head: post + "Host: mcp.example.com.:80\nOrigin: http://mcp.example.com", body: hello,
		want:  "200",
		right: "the dot ends a fully qualified name"},
	{name: "a listed origin with its port", head: post + "Origin: https://page.example:443",
		body: hello, want: "200", right: "443 is the port of https"},
	{name: "two schemes of two proxies",
		head: post + "Host: mcp.example.com\nX-Forwarded-Proto: https, http\nOrigin: " +
			"https://mcp.example.com",
		body: hello, proxy: true, want: "200", right: "the first proxy heard the client"},
	{name: "an extension of a browser",
		head: post + "Origin: chrome-extension://abcdefghijklmnopabcdefghijklmnop", body: hello,
		want: "200",
		has: []string{"Access-Control-Allow-Origin: " +
			"chrome-extension://abcdefghijklmnopabcdefghijklmnop"}, right: "`origins` lists it"},
	{name: "another extension",
		head: post + "Origin: chrome-extension://ponmlkjihgfedcbaponmlkjihgfedcba", body: hello,
		want: "403",
		has:  []string{"add it to origins"}, right: "an extension is trusted by its id"},
	{name: "a page of an editor",
		head: post + "Origin: vscode-webview://1c2f0d0a-5b6c-4a56-9b8a-5d1f6f2d0c11", body: hello,
		want:  "200",
		right: "`vscode-webview://*` in `origins`: each page has another name"},
	{name: "the origin null", head: post + "Origin: null", body: hello, want: "403",
		right: "a sandboxed page may be anybody's"},

	{name: "a page of this host that sends no Origin",
		head: post + "Sec-Fetch-Site: same-origin\nSec-Fetch-Mode: cors", body: hello, want: "200",
		right: "browsers leave it out of a GET to the page's own host; its streams are bounded all the " +
			"same"},
	{name: "a page of another host that sends no Origin",
		head: post + "Sec-Fetch-Site: cross-site\nSec-Fetch-Mode: no-cors", body: hello, want: "403",
		right: "nobody knows which"},
	{name: "a client that says how it fetches and not from where", head: post + "Sec-Fetch-Mode: cors",
		body: hello, want: "200",
		right: "Node's fetch does: that is no browser, and its streams have no bound"},

	// CORS requests of browsers.
	{name: "a preflight with headers of a tool's arguments",
		head: "OPTIONS /t/acme/mcp HTTP/1.1\nOrigin: " +
			"https://page.example\nAccess-Control-Request-Method: POST\n" +
			"Access-Control-Request-Headers: " +
			"authorization,mcp-param-region,mcp-param-x-y,traceparent,tracestate,x-api-key\n!Authorization",
		want: "204",
		has: []string{"mcp-param-region", "mcp-param-x-y", "traceparent", "tracestate", "x-api-key",
			"Access-Control-Allow-Credentials: true", "Vary: Origin"},
		right: "2026-07-28 §server/tools, x-mcp-header; W3C Trace Context"},
	{name: "a preflight with a header that mcpd does not read",
		head: "OPTIONS /t/acme/mcp HTTP/1.1\nOrigin: " +
			"https://page.example\nAccess-Control-Request-Method: POST\n" +
			"Access-Control-Request-Headers: cookie2,mcp-param-\n!Authorization",
		want: "204", lacks: []string{"cookie2", "mcp-param-"}, right: "the browser tells its page"},
	{name: "a call with credentials", head: post + "Origin: https://page.example", body: hello,
		want: "200",
		has: []string{"Access-Control-Allow-Credentials: true",
			"Access-Control-Allow-Origin: https://page.example"}, right: "for origins that are configured"},

	// The path of the request.
	{name: "a trailing slash", head: "POST /t/acme/mcp/ HTTP/1.1", body: hello, want: "200",
		right: "one is ignored"},
	{name: "two trailing slashes", head: "POST /t/acme/mcp// HTTP/1.1", body: hello, want: "404",
		right: "and no more"},
	{name: "a trailing slash behind a server", head: "POST /t/acme/echo/mcp/ HTTP/1.1", body: hello,
		want: "200", right: "on every endpoint"},

	// The content of the request.
	{name: "a charset", head: post + "Content-Type: application/json; charset=iso-8859-1", body: hello,
		want:  "200",
		right: "JSON has none (RFC 8259 §11): a parameter means nothing"},
	{name: "a charset that is none", head: post + "Content-Type: application/json;charset=",
		body: hello, want: "200", right: "the same"},
	{name: "another media type", head: post + "Content-Type: text/plain", body: hello, want: "415",
		right: "that is not JSON"},
	{name: "_meta null", head: post,
		body: `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
			`"clientInfo":{"name":"odd","version":"1"},"_meta":null}}`, want: "200",
		right: "a null is as good as none"},
	{name: "_meta null in a session", head: post + "Mcp-Session-Id: $SESSION",
		body: `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":null}}`,
		want: "200", has: []string{`"tools":`}, right: "the same"},
	{name: "_meta that is a text", head: post + "Mcp-Session-Id: $SESSION",
		body: `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":"x"}}`,
		want: "200", has: []string{`-32602`}, right: "2025-11-25 §basic, _meta: it is an object"},
	{name: "a revision that nobody speaks",
		head: post + "MCP-Protocol-Version: 2024-10-07\nMcp-Session-Id: $SESSION", body: ping,
		want:  "400",
		has:   []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"},
		right: "the refusal names those that are spoken"},
	{name: "a revision that is none, without a session", head: post + "MCP-Protocol-Version: banana",
		body: `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`,
		want: "400", has: []string{`-32022`, "banana", "2024-11-05", "2025-11-25", "2026-07-28"},
		right: "the same, whatever else is missing"},
	{name: "a revision that is none, in server/discover",
		head: post + "MCP-Protocol-Version: banana\nMcp-Method: server/discover",
		body: `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{}}`,
		want: "400", has: []string{`-32022`, "banana", "2024-11-05", "2025-11-25", "2026-07-28"},
		right: "the same"},
	{name: "no revision after the handshake", head: post + "Mcp-Session-Id: $SESSION", body: ping,
		want:  "200",
		right: "the session has one (2025-11-25 §basic/transports, Protocol Version Header)"},
	{name: "a request of 2026-07-28", head: post + modern, body: discover, want: "200",
		has: []string{`"supportedVersions"`}, right: "no handshake is needed"},
	{name: "a revision that nobody speaks, of 2026-07-28 on",
		head: post + "MCP-Protocol-Version: 2099-01-01\nMcp-Method: server/discover",
		body: `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"odd","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		want: "400", has: []string{`-32022`, `"2026-07-28"`},
		right: "2026-07-28 §basic/versioning, UnsupportedProtocolVersion"},

	// Authentication.
	{name: "X-API-Key", head: post + "!Authorization\nX-API-Key: $KEY", body: hello, want: "200",
		right: "a key may come so too"},
	{name: "a wrong X-API-Key", head: post + "!Authorization\nX-API-Key: wrong", body: hello,
		want: "401", right: "it is a key"},
	{name: "the same key in both", head: post + "Authorization: Bearer $KEY\nX-API-Key: $KEY",
		body: hello, want: "200", right: "they agree"},
	{name: "two different keys", head: post + "Authorization: Bearer $KEY\nX-API-Key: other",
		body: hello, want: "400",
		has: []string{"X-API-Key"}, right: "peers disagree which one counts"},
	{name: "two X-API-Keys", head: post + "!Authorization\nX-API-Key: $KEY\nX-API-Key: $KEY",
		body: hello, want: "400", right: "the same"},
	{name: "no key", head: post + "!Authorization", body: hello, want: "401",
		has:   []string{"WWW-Authenticate: Bearer", "Authorization: Bearer KEY", "X-API-Key"},
		right: "the refusal says that this host takes keys, and how to send one"},
	{name: "a client that registers itself", head: "POST /register HTTP/1.1\n!Authorization",
		body: `{"redirect_uris":["http://127.0.0.1/cb"]}`, want: "404",
		has:   []string{"keys", "Authorization: Bearer KEY"},
		right: "there is no OAuth here, and it is told what there is"},
	{name: "a client that registers itself with a trailing slash",
		head: "POST /register/ HTTP/1.1\n!Authorization",
		body: `{"redirect_uris":["http://127.0.0.1/cb"]}`, want: "404",
		has: []string{"keys", "Authorization: Bearer KEY"}, right: "a slash at the end is ignored"},
	{name: "a client that looks for an authorization server",
		head: "GET /.well-known/oauth-authorization-server HTTP/1.1\n!Authorization", want: "404",
		has: []string{"keys", "Authorization: Bearer KEY"}, right: "the same"},
	{name: "a client that looks for the resource's metadata",
		head: "GET /.well-known/oauth-protected-resource/t/acme/mcp HTTP/1.1\n!Authorization",
		want: "404",
		has:  []string{"keys", "Authorization: Bearer KEY"}, right: "the same"},
}
