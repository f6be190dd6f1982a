package negotiate

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/negotiation"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a server with the fake behind it.
type rig struct {
	*fakeHost
	t      *testing.T
	url    string
	guard  *streamable.Handler
	server *httptest.Server
}

func start(t *testing.T, change func(f *fakeHost)) *rig {
	f := &fakeHost{sessions: map[string]*fakeSession{}, cancelled: make(chan struct{}, 16)}
	f.rules.Requires[negotiation.Tool].Capability,
		f.rules.Requires[negotiation.Subscription].Capability = negotiation.Sampling,
		negotiation.Notifications
	f.rules.Anonymous[negotiation.Tool], f.rules.Anonymous[negotiation.Resource] = true, true
	f.scripts = map[string]func(*fakeSession, jsonrpc.Message, transport.Sink) error{
		"server/discover": result(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{"subscribe":true}},` +
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"7"}}}`),
		"tools/list": func(s *fakeSession, m jsonrpc.Message, out transport.Sink) error {
			if cursor, _ := jsonedit.GetString(m.Params, "cursor"); cursor == "more" {
				return result(`{"tools":[{"name":"b"}]}`)(s, m, out)
			}
			return result(`{"tools":[{"name":"a"}],"nextCursor":"more"}`)(s, m, out)
		},
		"resources/list": result(`{"resources":[{"uri":"x://y","name":"y"}]}`),
		"resources/read": result(`{"contents":[]}`),
		"tools/call":     result(`{"content":[]}`),
	}
	if change != nil {
		change(f)
	}
	guard := streamable.NewHandler(streamable.Options{Host: nil})
	server := httptest.NewServer(NewHandler(f, guard))
	t.Cleanup(func() {
		guard.Drain()
		server.Close()
	})
	return &rig{fakeHost: f, t: t, url: server.URL, guard: guard, server: server}
}

// answer is a response with its body read.
type answer struct {
	*http.Response
	body string
}

// do makes a request; headers are pairs.
func (r *rig) do(method, path, body string, headers ...string) answer {
	r.t.Helper()
	response := r.begin(r.t.Context(), method, path, body, headers...)
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Error(err)
	}
	return answer{response, string(all)}
}

func (r *rig) begin(ctx context.Context, method, path, body string,
	headers ...string) *http.Response {
	r.t.Helper()
	q, err := http.NewRequestWithContext(ctx, method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for pair := range slices.Chunk(headers, 2) {
		q.Header.Set(pair[0], pair[1])
	}
	response, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	return response
}

// negotiated returns the id of a new session of a client with these capabilities.
func (r *rig) negotiated(capabilities ...string) string {
	r.t.Helper()
	a := r.do("POST", "/negotiate", declaration(capabilities...))
	if a.StatusCode != 200 || a.Header.Get(SessionHeader) == "" {
		r.t.Fatalf("%s %s", a.Status, a.body)
	}
	return a.Header.Get(SessionHeader)
}

func declaration(capabilities ...string) string {
	list := ""
	for i, c := range capabilities {
		if i > 0 {
			list += ","
		}
		list += `"` + c + `"`
	}
	return `{"client_name":"probe","client_version":"1","supported_capabilities":[` + list + `]}`
}

// S3-4, S3-8, S3-28 to S3-30, S3-50: a client that declares its capabilities gets a session and the
// lists of the server, all pages of them.
func TestNegotiation(t *testing.T) {
	r := start(t, nil)
	a := r.do("POST", "/negotiate", declaration("sampling"))
	if a.StatusCode != 200 || !strings.HasPrefix(a.body,
		`{"server_name":"fake","server_version":"7",`) ||
		!strings.Contains(a.body, `"available_tools":["a","b"],"available_resources":["x://y"]`) {
		t.Errorf("%s %s", a.Status, a.body)
	}
	s := r.sessions[a.Header.Get(SessionHeader)]
	if s == nil || s.negotiated.Info.Name != "probe" || !s.negotiated.Has("sampling") {
		t.Fatalf("session %q is %v", a.Header.Get(SessionHeader), s)
	}
	meta, err := protocol.ParseMeta(s.last().Params)
	if err != nil || meta.Version != "2026-07-28" || meta.Info.Name != "probe" ||
		!meta.Capabilities.Has("sampling") {
		t.Errorf("a request says of its client %+v, %v", meta, err)
	}
}

// A list ends at an empty cursor, and at a page that comes again with the same cursor.
func TestNegotiationEndsItsLists(t *testing.T) {
	for page, pages := range map[string]int{
		`{"tools":[{"name":"a"}],"nextCursor":""}`: 1,
		`{"tools":[],"nextCursor":"again"}`:        2,
	} {
		asked := 0
		r := start(t, func(f *fakeHost) {
			f.scripts["tools/list"] = func(s *fakeSession, m jsonrpc.Message, out transport.Sink) error {
				if asked++; asked > 10 {
					return failing(protocol.Timeout(1))(s, m, out)
				}
				return result(page)(s, m, out)
			}
		})
		if a := r.do("POST", "/negotiate", declaration()); a.StatusCode != 200 || asked != pages {
			t.Errorf("%s: %s %s after %d pages", page, a.Status, a.body, asked)
		}
	}
}

// S3-71: a failed negotiation leaves no session behind.
func TestFailedNegotiationLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		err    error
		status int
	}{
		"server lost": {"server/discover", protocol.UpstreamLost("one", false, nil), 502},
		"overloaded":  {"tools/list", protocol.Overloaded("tenant", 0), 503},
		"timeout":     {"resources/list", protocol.Timeout(1), 504},
	} {
		r := start(t, func(f *fakeHost) { f.scripts[c.method] = failing(c.err) })
		a := r.do("POST", "/negotiate", declaration())
		if a.StatusCode != c.status || a.Header.Get(SessionHeader) != "" || len(r.sessions) != 0 {
			t.Errorf("%s: %s %s, %d sessions", name, a.Status, a.body, len(r.sessions))
		}
	}
	r := start(t, nil)
	if a := r.do("POST", "/negotiate", `{"client_name":"x"}`); a.StatusCode != 400 ||
		len(r.sessions) != 0 {
		t.Errorf("%s %s, %d sessions", a.Status, a.body, len(r.sessions))
	}
}

// S3-2, S3-31 to S3-37, S3-44 to S3-46, S3-49, S3-52, S3-53, S3-72: the table of clients and
// permissions, with the texts of the refusals.
func TestWhoMayWhat(t *testing.T) {
	const missing, invalid = `{"error":"Missing session ID. Please negotiate capabilities first."}`,
		`{"error":"Invalid session ID. Please negotiate capabilities again."}`
	lacks := func(c string) string {
		return `{"error":"Client does not support required capability: ` + c + `"}`
	}
	for _, required := range []bool{false, true} {
		r := start(t, func(f *fakeHost) {
			f.rules.Required = required
			f.scripts["subscriptions/listen"] = subscribed
		})
		all, none := r.negotiated("sampling", "notifications"), r.negotiated()
		foreign := r.do("POST", "/negotiate", declaration("sampling"), "Authorization",
			"bob").Header.Get(SessionHeader)
		anonymous := func(status int, body string) (int, string) {
			if required {
				return 401, missing
			}
			return status, body
		}
		check := func(method, path, session string, status int, body string) {
			t.Helper()
			var headers []string
			if session != "" {
				headers = []string{SessionHeader, session}
			}
			a := r.do(method, path, "", headers...)
			if a.StatusCode != status || body != "" && a.body != body {
				t.Errorf("required %v: %s %s with %q: %s %s, want %d %s", required, method, path, session,
					a.Status, a.body, status, body)
			}
			if challenge := a.Header.Get("WWW-Authenticate"); (a.StatusCode == 401) !=
				(challenge == SessionHeader) {
				t.Errorf("%s with challenge %q", a.Status, challenge)
			}
		}
		check("POST", "/tool/a", all, 200, `{"content":[]}`)
		check("POST", "/tool/a", none, 403, lacks("sampling"))
		check("GET", "/resource/x", all, 200, `{"contents":[]}`)
		check("GET", "/resource/x", none, 200, `{"contents":[]}`)
		check("GET", "/subscription/x", all, 200, "")
		check("GET", "/subscription/x", none, 403, lacks("notifications"))
		for _, wrong := range []string{"no-such-session", foreign, " ", "é"} {
			check("POST", "/tool/a", wrong, 401, invalid)
		}
		status, body := anonymous(200, `{"content":[]}`)
		check("POST", "/tool/a", "", status, body)
		status, body = anonymous(200, `{"contents":[]}`)
		check("GET", "/resource/x", "", status, body)
		status, body = anonymous(403, lacks("notifications"))
		check("GET", "/subscription/x", "", status, body)
		check("DELETE", "/negotiate", "", 401, missing)
		check("DELETE", "/negotiate", foreign, 401, invalid)
		check("DELETE", "/negotiate", all, 204, "")
		check("POST", "/tool/a", all, 401, invalid)
	}
}

// An anonymous client that the table admits nowhere is told to negotiate where no capability would
// help.
func TestAnonymousIsToldToNegotiate(t *testing.T) {
	r := start(t, func(f *fakeHost) { f.rules.Anonymous[negotiation.Resource] = false })
	if a := r.do("GET", "/resource/x", ""); a.StatusCode != 401 ||
		!strings.Contains(a.body, missingSession) {
		t.Errorf("%s %s", a.Status, a.body)
	}
}

// S3-34: each request counts as activity. The MCP endpoint's name of the session header works as
// well. Two sessions in one request are an error.
func TestSessionIsTouched(t *testing.T) {
	r := start(t, nil)
	id := r.negotiated("sampling")
	r.do("POST", "/tool/a", "", SessionHeader, id)
	r.do("POST", "/tool/a", "", "Mcp-Session-Id", id)
	r.do("POST", "/tool/a", "", "Mcp-Session-Id", id, SessionHeader, id)
	if a := r.do("POST", "/tool/a", "", "Mcp-Session-Id", id, SessionHeader,
		"another"); a.StatusCode != 400 {
		t.Errorf("two sessions: %s %s", a.Status, a.body)
	}
	if s := r.sessions[id]; s.touched != 3 {
		t.Errorf("touched %d times, want 3", s.touched)
	}
}

// S3-63: a client that resumes keeps its session and the negotiated terms; another gets a new
// session.
func TestResumption(t *testing.T) {
	r := start(t, nil)
	for capability, same := range map[string]bool{"session_resume": true, "sampling": false} {
		id := r.negotiated(capability)
		a := r.do("POST", "/negotiate", declaration("sampling", "streaming"), SessionHeader, id)
		again := a.Header.Get(SessionHeader)
		if a.StatusCode != 200 || (again == id) != same || r.sessions[id].negotiated.Has("streaming") {
			t.Errorf("%s: %s, session %q, was %q", capability, a.Status, again, id)
		}
	}
	if a := r.do("POST", "/negotiate", declaration("session_resume"), SessionHeader,
		"gone"); a.StatusCode != 200 {
		t.Errorf("a session that is gone: %s %s", a.Status, a.body)
	}
}

// S11 to S16: each path takes its methods, and the checks are those of the MCP endpoint.
func TestEdge(t *testing.T) {
	r := start(t, nil)
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
		header, value      string
	}{
		{"GET", "/negotiate", "", nil, 405, "Allow", "DELETE, POST"},
		{"GET", "/tool/a", "", nil, 405, "Allow", "POST"},
		{"POST", "/resource/a", "", nil, 405, "Allow", "GET"},
		{"DELETE", "/subscription/a", "", nil, 405, "Allow", "GET"},
		{"PUT", "/tool/a", "", nil, 405, "", ""},
		{"POST", "/tool/a", "", []string{"Origin", "http://evil.example"}, 403, "", ""},
		{"POST", "/tool/a", "", []string{"Authorization", "wrong"}, 401, "WWW-Authenticate", "Bearer"},
		{"POST", "/tool/a", "{}", []string{"Content-Type", "text/plain"}, 415, "", ""},
		{"POST", "/tool/a", "[]", nil, 400, "", ""},
		{"POST", "/tool/a", `{}},"method":"x"`, nil, 400, "", ""},
		{"POST", "/tool/a", `{"a":1,"a":2}`, nil, 400, "", ""},
		{"POST", "/tool/a", strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500), nil,
			400, "", ""},
	} {
		a := r.do(c.method, c.path, c.body, c.headers...)
		if a.StatusCode != c.status || c.header != "" && a.Header.Get(c.header) != c.value ||
			!strings.HasPrefix(a.body, `{"error":"`) {
			t.Errorf("%s %s %v: %s %q %s, want %d %q", c.method, c.path, c.headers, a.Status,
				a.Header.Get(c.header), a.body, c.status, c.value)
		}
	}
}

// lines reads a stream line by line.
func lines(r *http.Response) *bufio.Scanner { return bufio.NewScanner(r.Body) }

// A request whose body finds no room is told to retry later.
func TestBodyWithoutRoomIsToldToComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := transport.NewByteBudget(10)
		budget.Add(1)
		bodies := func(streamable.Endpoint) *transport.ByteBudget { return budget }
		guard := streamable.NewHandler(streamable.Options{BodyRoom: bodies})
		r := httptest.NewRequest("POST", "http://localhost/tool/a",
			strings.NewReader(`{"pad":"`+strings.Repeat("x", 3*transport.Large)+`"}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		host := &fakeHost{sessions: map[string]*fakeSession{}}
		host.rules.Anonymous[negotiation.Tool] = true
		NewHandler(host, guard).ServeHTTP(w, r)
		if w.Code != 503 || w.Header().Get("Retry-After") != "1" ||
			!strings.Contains(w.Body.String(), "overloaded") {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
	})
}
