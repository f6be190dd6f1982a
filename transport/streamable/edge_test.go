package streamable

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// postHead is the head of a POST that is accepted unless a table row adds something invalid to it.
const postHead = "POST /t/acme/mcp HTTP/1.1\nConnection: close\nContent-Type: " +
	"application/json\nAccept: application/json, text/event-stream\n"

func withBody(head, body string) string {
	return fmt.Sprintf("%sContent-Length: %d\n\n%s", head, len(body), body)
}

// S01-S10, S12, S13: refusals before the message is examined, each with its status and reason.
func TestEdgeRefusals(t *testing.T) {
	host := newTestHost(t)
	s := serve(t, host, Options{Origins: []string{"https://app.example"}})
	_, port, _ := strings.Cut(s.Listener.Addr().String(), ":")
	init := initializeBody(protocol.V20251125)
	ok := func(head string) string { return withBody(postHead+head, init) }
	for _, c := range []struct {
		name, request string
		status        int
		reason        string
	}{
		{"S01 foreign host", ok("Host: evil.example.com\n"), 403, "host"},
		{"S01 foreign host with our port", ok("Host: evil.example.com:" + port + "\n"), 403, "host"},
		{"S01 two trailing dots", ok("Host: localhost..:" + port + "\n"), 403, "host"},
		{"S01 suffix", ok("Host: localhost.evil.example\n"), 403, "host"},
		{"S01 zone", ok("Host: [::1%25eth0]:" + port + "\n"), 403, "host"},
		{"S01 port that is none", ok("Host: localhost:x\n"), 403, "host"},
		{"S01 absolute target", strings.Replace(ok("Host: localhost\n"), "POST /",
			"POST http://evil.example.com/", 1), 403, "host"},
		{"S01 mixed case is ours", ok("Host: LocalHost:" + port + "\n"), 200, ""},
		{"S01 IPv6 loopback is ours", ok("Host: [::1]:" + port + "\n"), 200, ""},
		{"S01 without port is ours", ok("Host: [::1]\n"), 200, ""},
		{"S02 foreign origin", ok("Host: HOST\nOrigin: http://evil.example.com\n"), 403, "origin"},
		{"S02 null origin", ok("Host: HOST\nOrigin: null\n"), 403, "origin"},
		{"S02 suffix of the origin", ok("Host: HOST\nOrigin: http://localhost.evil\n"), 403, "origin"},
		{"S02 other scheme", ok("Host: HOST\nOrigin: https://HOST\n"), 403, "origin"},
		{"S02 other port", ok("Host: localhost:" + port + "\nOrigin: http://localhost:1\n"),
			403, "origin"},
		{"S02 two origins", ok("Host: HOST\nOrigin: http://HOST\nOrigin: http://evil.example.com\n"),
			403, "origin"},
		{"S02 cross-site without origin", ok("Host: HOST\nSec-Fetch-Site: cross-site\n"), 403, "origin"},
		{"S02 own origin", ok("Host: localhost:" + port + "\nOrigin: http://localhost:" + port + "\n"),
			200, ""},
		{"S02 listed origin", ok("Host: HOST\nOrigin: https://app.example\n"), 200, ""},
		{"S03 no origin", ok("Host: HOST\n"), 200, ""},
		{"S04 GET", "GET /mcp HTTP/1.1\nConnection: close\nHost: evil.example.com\n\n", 403, "host"},
		{"S04 DELETE", "DELETE /mcp HTTP/1.1\nConnection: close\nHost: HOST\nOrigin: " +
			"http://evil.example.com\n\n", 403, "origin"},
		{"S05 text", strings.Replace(ok("Host: HOST\n"), "application/json\n", "text/plain\n", 1), 415,
			"media_type"},
		{"S05 missing", strings.Replace(ok("Host: HOST\n"), "Content-Type: application/json\n", "", 1),
			415, "media_type"},
		{"S05 UTF-8", strings.Replace(ok("Host: HOST\n"), "application/json\n",
			"Application/JSON; charset=UTF-8\n", 1), 200, ""},
		{"S05 multipart", strings.Replace(ok("Host: HOST\n"), "application/json\n",
			"multipart/form-data; boundary=x\n", 1), 415, "media_type"},
		{"S05 is said before the body is read",
			strings.Replace(postHead, "application/json\n", "text/plain\n", 1) +
				"Host: HOST\nExpect: 100-continue\nContent-Length: 1000\n\n", 415, "media_type"},
		{"S06 JSON only", strings.Replace(ok("Host: HOST\n"), ", text/event-stream", "", 1),
			406, "accept"},
		{"S06 stream only", strings.Replace(ok("Host: HOST\n"), "Accept: application/json,", "Accept:",
			1), 406, "accept"},
		{"S06 stream refused by weight",
			strings.Replace(ok("Host: HOST\n"), "event-stream", "event-stream;q=0.0", 1), 406, "accept"},
		{"S06 wildcard", strings.Replace(ok("Host: HOST\n"), "application/json, text/event-stream",
			"*/*;q=0.5", 1), 200, ""},
		{"S06 no accept", strings.Replace(ok("Host: HOST\n"),
			"Accept: application/json, text/event-stream\n", "", 1), 200, ""},
		{"S08 PUT", strings.Replace(ok("Host: HOST\n"), "POST", "PUT", 1), 405, "http_method"},
		{"S08 TRACE", "TRACE /mcp HTTP/1.1\nConnection: close\nHost: HOST\n\n", 405, "http_method"},
		{"S08 HEAD", "HEAD /mcp HTTP/1.1\nConnection: close\nHost: HOST\n\n", 405, ""},
		{"S08 OPTIONS that is no preflight", "OPTIONS /mcp HTTP/1.1\nConnection: close\nHost: HOST\n\n",
			405, "http_method"},
		{"S09 large header", ok("Host: HOST\nX: " + strings.Repeat("x", 40<<10) + "\n"), 431, ""},
		{"S09 many headers", ok("Host: HOST\n" + strings.Repeat("X: y\n", 101)), 431, "too_many_headers"},
		{"S09 bare CR in header", ok("Host: HOST\nX: a\rb\n"), 400, ""},
		{"S09 two lengths", ok("Host: HOST\nContent-Length: 1\n"), 400, ""},
		{"S09 length and unknown transfer coding",
			ok("Host: HOST\nTransfer-Encoding: xchunked\n"), 400, ""},
		{"S09 unknown transfer coding",
			postHead + "Host: HOST\nTransfer-Encoding: xchunked\n\n", 501, ""},
		{"S09 long target", strings.Replace(ok("Host: HOST\n"), "/t/", "/"+strings.Repeat("t", 9<<10)+"/",
			1), 414, "url_too_long"},
		{"S10 announced length", postHead + "Host: HOST\nContent-Length: 99999999\n\n", 413, "too_large"},
		{"S10 chunked", postHead + "Host: HOST\nTransfer-Encoding: chunked\n\n500000\r\n" +
			strings.Repeat(" ", 0x500000) + "\r\n0\r\n\r\n", 413, "too_large"},
		{"S10 gzip", ok("Host: HOST\nContent-Encoding: gzip\n"), 415, "content_encoding"},
		{"S12 many parameters", strings.Replace(ok("Host: HOST\n"), "/mcp",
			"/mcp?"+strings.Repeat("a&", 100), 1), 400, "query"},
		{"S12 token in the query",
			strings.Replace(ok("Host: HOST\n"), "/mcp", "/mcp?Access%5ftoken=secret", 1), 400, "query"},
		{"S13 session id twice", ok("Host: HOST\nMcp-Session-Id: a\nmcp-session-id: b\n"), 400,
			"repeated_header"},
		{"C11 two names, two sessions", ok("Host: HOST\nMcp-Session-Id: a\nX-MCP-Session-ID: b\n"), 400,
			"repeated_header"},
		{"S13 version twice", ok("Host: HOST\nMcp-Protocol-Version: a\nMcp-Protocol-Version: a\n"), 400,
			"repeated_header"},
		{"S50 authorization twice", ok("Host: HOST\nAuthorization: Bearer a\nAuthorization: Bearer b\n"),
			400, "repeated_header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := *s
			s.t = t
			resp, body := s.raw(c.request)
			if resp.StatusCode != c.status {
				t.Fatalf("got %d %s, want %d", resp.StatusCode, body, c.status)
			}
			if c.reason != "" && !strings.Contains(body, `"reason":"`+c.reason+`"`) {
				t.Errorf("got %s, want the reason %s", body, c.reason)
			}
			if c.reason != "" && (strings.Contains(body, `"id"`) || strings.Contains(body, "secret")) {
				t.Errorf("got %s, want neither an id nor what was refused", body)
			}
			if got, want := resp.Header.Get("Allow"),
				map[bool]string{true: allowedMethods[Streamable]}[c.status == 405]; got != want {
				t.Errorf("Allow is %q, want %q", got, want)
			}
		})
	}
}

// S01, S02 where a test cannot write the bytes: HTTP/2 gives the authority in addition to the Host
// header, and TLS changes the host's own origin.
func TestHostAndOriginOfOtherConnections(t *testing.T) {
	h := NewHandler(Options{Host: newTestHost(t)})
	for _, c := range []struct {
		name   string
		header http.Header
		tls    bool
		want   refusal
	}{
		{"another host in the header", http.Header{"Host": {"evil.example"}}, true, badHost},
		{"the same host in the header", http.Header{"Host": {"localhost"}}, true, accepted},
		{"own origin", http.Header{"Origin": {"https://LOCALHOST"}}, true, accepted},
		{"own name, without TLS", http.Header{"Origin": {"http://localhost"}}, true, badOrigin},
		{"own origin, its port written out", http.Header{"Origin": {"https://localhost:443"}},
			true, accepted},
		{"another port", http.Header{"Origin": {"https://localhost:80"}}, true, badOrigin},
		{"no port", http.Header{"Origin": {"https://localhost:"}}, true, accepted},
		{"own origin without TLS", http.Header{"Origin": {"http://localhost"}}, false, accepted},
	} {
		r := &http.Request{Host: "localhost", Header: c.header}
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		got, _ := h.checkHost(r)
		if got == accepted {
			got, _ = h.checkOrigin(r)
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, refusals[got].word, refusals[c.want].word)
		}
	}
	if _, detail := h.checkHost(&http.Request{Host: "192.0.2.7:7420"}); !strings.Contains(detail,
		"add it to hosts") {
		t.Errorf("a name that is not known: %q, want the key that makes it so", detail)
	}
}

// The default port of a scheme may be omitted: in a listed host or origin, in a request, or in
// both.
func TestPortsOfSchemes(t *testing.T) {
	h := NewHandler(Options{
		Host: newTestHost(t), Hosts: []string{"a.example", "b.example:443", "[::1]"},
		Origins: []string{"https://app.example:443", "http://app.example"},
	})
	for _, c := range []struct {
		host, origin string
		tls          bool
		want         refusal
	}{
		{"a.example:443", "https://a.example", true, accepted},
		{"a.example.:443", "https://A.example", true, accepted},
		{"a.example", "https://a.example:443", true, accepted},
		{"a.example:80", "http://a.example", false, accepted},
		{"a.example:80", "https://a.example", true, badOrigin},
		{"a.example:443", "http://a.example", false, badOrigin},
		{"a.example:8443", "https://a.example", true, badOrigin},
		{"[::1]:443", "https://[::1]", true, accepted},
		{"b.example:443", "https://b.example", true, accepted},
		{"b.example", "https://b.example", true, accepted},
		{"b.example", "http://b.example", false, badHost},
		{"a.example", "https://app.example", true, accepted},
		{"a.example", "https://app.example:443", true, accepted},
		{"a.example", "http://app.example:80", true, accepted},
		{"a.example", "http://app.example:443", true, badOrigin},
	} {
		r := &http.Request{Host: c.host, Header: http.Header{"Origin": {c.origin}}}
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		got, _ := h.checkHost(r)
		if got == accepted {
			got, _ = h.checkOrigin(r)
		}
		if got != c.want {
			t.Errorf("%s from %s: got %q, want %q", c.host, c.origin, refusals[got].word,
				refusals[c.want].word)
		}
	}
}

// A client that breaks off in the middle of its body does not make the host wait.
func TestBodyThatBreaksOff(t *testing.T) {
	s := serve(t, newTestHost(t), Options{})
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, strings.ReplaceAll(postHead+"Host: localhost\nContent-Length: 1000\n\n{",
		"\n", "\r\n"))
	conn.(*net.TCPConn).CloseWrite()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body := content(t, resp); resp.StatusCode != 400 ||
		!strings.Contains(body, `"reason":"body_broken"`) {
		t.Errorf("got %d %s, want 400", resp.StatusCode, body)
	}
}

// S07: only pages of listed origins may read the answer.
func TestPreflight(t *testing.T) {
	s := serve(t, newTestHost(t), Options{Origins: []string{"https://app.example"}})
	preflight := "OPTIONS /mcp HTTP/1.1\nConnection: close\nHost: " +
		"HOST\nAccess-Control-Request-Method: POST\nOrigin: "
	resp, _ := s.raw(preflight + "https://evil.example\n\n")
	if got := resp.Header.Get("Access-Control-Allow-Origin"); resp.StatusCode != 403 || got != "" {
		t.Errorf("unlisted: got %d, allowed %q; want 403 and nothing", resp.StatusCode, got)
	}
	resp, _ = s.raw(preflight + "https://app.example\n\n")
	if got := resp.Header.Get("Access-Control-Allow-Origin"); resp.StatusCode != 204 ||
		got != "https://app.example" {
		t.Errorf("listed: got %d, allowed %q; want 204 and the origin", resp.StatusCode, got)
	}
	if got := resp.Header.Get("Vary"); got != "Origin" {
		t.Errorf("Vary is %q, want Origin", got)
	}
	resp, _ = s.raw(withBody(postHead+"Host: HOST\nOrigin: https://app.example\n",
		initializeBody(protocol.V20251125)))
	exposed := resp.Header.Get("Access-Control-Expose-Headers")
	if !strings.Contains(exposed, "Mcp-Session-Id") || !strings.Contains(exposed, "WWW-Authenticate") {
		t.Errorf("exposed are %q, want the session id and the challenge", exposed)
	}
}

// S13: headers that only a proxy may set never reach the Host.
func TestForgedProxyHeadersAreRemoved(t *testing.T) {
	host := newTestHost(t)
	var seen http.Header
	host.route = func(r *http.Request) (Endpoint, *protocol.Error) {
		seen = r.Header.Clone()
		return Endpoint{}, protocol.Unauthenticated()
	}
	s := serve(t, host, Options{})
	resp, body := s.raw(withBody(postHead+
		"Host: HOST\nX-Forwarded-For: 10.0.0.1\nX-Forwarded-Host: localhost\nForwarded: for=10.0.0.1\n"+
		"X-Real-IP: 10.0.0.1\nX-Mcpd-Tenant: other\nX-Kept: yes\n", "{}"))
	for name := range seen {
		if strings.HasPrefix(name, "X-Forwarded") || strings.HasPrefix(name, "X-Mcpd") ||
			name == "Forwarded" || name == "X-Real-Ip" {
			t.Errorf("header %s reached the host", name)
		}
	}
	if seen.Get("X-Kept") != "yes" {
		t.Errorf("an ordinary header was removed")
	}
	if got := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != 401 || got != "Bearer" {
		t.Errorf("got %d %q %s, want 401 with a challenge", resp.StatusCode, got, body)
	}
}

// S16: a slow body is answered with 408 and its connection closed, even if the request was refused
// before its body was read.
func TestSlowBodyIsCutOff(t *testing.T) {
	s := serve(t, newTestHost(t), Options{Bounds: Bounds{BodyTime: 50 * time.Millisecond}})
	for _, c := range []struct {
		name, head string
		status     int
	}{
		{"while it is read", postHead, 408},
		{"while it is discarded",
			strings.Replace(postHead, "application/json\n", "text/plain\n", 1), 415},
	} {
		resp, body := s.raw(strings.Replace(c.head, "Connection: close\n", "", 1) +
			"Host: HOST\nContent-Length: 1000\n\n{")
		if resp.StatusCode != c.status || !resp.Close {
			t.Errorf("%s: got %d (close %v) %s, want %d and the connection closed", c.name, resp.StatusCode,
				resp.Close, body, c.status)
		}
	}
}

// A connection that is refused for lack of room is closed.
func TestConnectionThatIsTurnedAwayIsClosed(t *testing.T) {
	host := newTestHost(t)
	host.route = func(*http.Request) (Endpoint, *protocol.Error) {
		return Endpoint{}, protocol.Overloaded("tenant acme", time.Second)
	}
	s := serve(t, host, Options{})
	resp := s.post(call("echo"))
	if body := content(t, resp); resp.StatusCode != 503 || !resp.Close ||
		resp.Header.Get("Retry-After") != "1" {
		t.Errorf("got %d (close %v) %s, want 503 and the connection closed", resp.StatusCode,
			resp.Close, body)
	}
}

// The configured limits apply, also when they change while the host runs.
func TestBoundsAreOptions(t *testing.T) {
	admission := NewAdmission(nil, nil, Bounds{})
	s := serve(t, newTestHost(t), Options{Admission: func() *Admission { return admission }})
	const ping = `{"jsonrpc":"2.0","id":"0123456789","method":"echo","params":{"a":{"b":[1,2,3]},"c":1}}`
	id := s.session(protocol.V20250326)
	post := func(body string) (int, string) {
		resp := s.post(body, "Mcp-Session-Id", id)
		return resp.StatusCode, content(t, resp)
	}
	for _, c := range []struct {
		name   string
		bounds Bounds
		status int
		body   string
	}{
		{"headers", Bounds{Headers: 3}, 431, ping},
		{"target", Bounds{URL: 4}, 414, ping},
		{"bytes", Bounds{Message: jsonrpc.Limits{Bytes: 50}}, 413, ping},
		{"depth", Bounds{Message: jsonrpc.Limits{Depth: 3}}, 400, ping},
		{"tokens", Bounds{Message: jsonrpc.Limits{Tokens: 15}}, 400, ping},
		{"members", Bounds{Message: jsonrpc.Limits{Keys: 3}}, 400, ping},
		{"id", Bounds{Message: jsonrpc.Limits{ID: 9}}, 400, ping},
		{"batch", Bounds{Message: jsonrpc.Limits{Batch: 1}}, 400, "[" + ping + "," + ping + "]"},
	} {
		admission = NewAdmission(nil, nil, Bounds{})
		if status, body := post(c.body); status != 200 {
			t.Errorf("%s: without it got %d %s", c.name, status, body)
		}
		admission = NewAdmission(nil, nil, c.bounds)
		if status, body := post(c.body); status != c.status {
			t.Errorf("%s: got %d %s, want %d", c.name, status, body, c.status)
		}
	}
}

func TestBodyTimeGrowsWithWhatArrives(t *testing.T) {
	for _, c := range []struct {
		bytes int
		want  time.Duration
	}{
		{0, 10 * time.Second}, {50 << 10, 10 * time.Second}, {100 << 10, 15 * time.Second},
		{4 << 20, maxBodyTime},
	} {
		if got := bodyTime(DefaultBodyTime, c.bytes); got != c.want {
			t.Errorf("bodyTime(%d) = %v, want %v", c.bytes, got, c.want)
		}
	}
}

// Every row is complete and has its own reason, and none uses a code by which clients of both eras
// recognize a modern server.
func TestRefusalTable(t *testing.T) {
	words := make(map[string]bool)
	for f := accepted + 1; int(f) < refusalCount; f++ {
		row := refusals[f]
		if row.word == "" || words[row.word] || row.status < 400 || row.code == 0 {
			t.Errorf("row %d is incomplete or doubled: %+v", f, row)
		}
		if words[row.word] = true; -32099 <= row.code && row.code <= -32020 {
			t.Errorf("%s uses the reserved code %d", row.word, row.code)
		}
	}
}
