package streamable

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// S18-S25, S29: the answers to invalid messages in a session, and to valid ones.
func TestMessages(t *testing.T) {
	host := newTestHost(t)
	s := serve(t, host, Options{})
	sessions := make(map[protocol.Version]string)
	for _, v := range protocol.Versions() {
		if v.Has(protocol.Sessions) {
			sessions[v] = s.session(v)
		}
	}
	long := strings.Repeat("1", 300)
	v3, v6, v11 := protocol.V20250326, protocol.V20250618, protocol.V20251125
	for _, c := range []struct {
		name   string
		v      protocol.Version // of the session; 0 for no session
		header string           // the version header
		body   string
		status int
		want   string // a part of the answer
	}{
		{"S18 method twice", v11, "", `{"jsonrpc":"2.0","id":1,"method":"echo","method":"echo"}`, 400,
			`"code":-32700`},
		{"S18 id twice, once escaped", v11, "", `{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"echo"}`,
			400, `"code":-32700`},
		{"S18 nested twice", v11, "",
			`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"_meta":{"a":1,"a":2}}}`, 400,
			`"code":-32700`},
		{"S19 invalid UTF-8", v11, "", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", 400,
			`"code":-32700`},
		{"S19 lone surrogate", v11, "", `{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, 400,
			`"code":-32700`},
		{"S19 byte order mark", v11, "", "\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"method":"echo"}`, 400,
			`"code":-32700`},
		{"S19 UTF-16", v11, "", "{\x00\"\x00", 400, `"code":-32700`},
		{"S20 no jsonrpc", v11, "", `{"id":1,"method":"echo"}`, 400, `"code":-32600`},
		{"S20 other jsonrpc", v11, "", `{"jsonrpc":"1.0","id":1,"method":"echo"}`, 400, `"code":-32600`},
		{"S20 numeric jsonrpc", v11, "", `{"jsonrpc":2.0,"id":1,"method":"echo"}`, 400, `"code":-32600`},
		{"S21 null id", v11, "", `{"jsonrpc":"2.0","id":null,"method":"echo"}`, 400, `"code":-32600`},
		{"S21 fraction", v11, "", `{"jsonrpc":"2.0","id":1.5,"method":"echo"}`, 400, `"code":-32600`},
		{"S21 object", v11, "", `{"jsonrpc":"2.0","id":{},"method":"echo"}`, 400, `"code":-32600`},
		{"S21 long string", v11, "", `{"jsonrpc":"2.0","id":"` + long + `","method":"echo"}`, 400,
			`"code":-32600`},
		{"S21 big integer is echoed", v11, "",
			`{"jsonrpc":"2.0","id":12345678901234567890,"method":"echo"}`, 200,
			`"id":12345678901234567890,`},
		{"S21 empty string is echoed", v11, "", `{"jsonrpc":"2.0","id":"","method":"echo"}`, 200,
			`"id":"",`},
		{"S21 string is echoed with its escapes", v11, "",
			`{"jsonrpc":"2.0","id":"\u0041","method":"echo"}`, 200, `"id":"\u0041",`},
		{"S22 request and result in one", v11, "", `{"jsonrpc":"2.0","id":1,"method":"echo","result":{}}`,
			400, `"code":-32600`},
		{"S22 error without code", v11, "", `{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}`, 400,
			`{"jsonrpc":"2.0","error":{"code":-32600`},
		{"S22 answer to nothing", v11, "", `{"jsonrpc":"2.0","id":99,"result":{}}`, 202, ""},
		{"S23 depth", v11, "", `{"jsonrpc":"2.0","id":1,"method":"echo","params":` +
			strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, 400, `"code":-32600`},
		{"S23 digits", v11, "", `{"jsonrpc":"2.0","id":1,"method":"echo","params":[` +
			strings.Repeat("1", 5000) + `]}`, 400, `"code":-32600`},
		{"S24 batch in 2025-03-26", v3, "", `[{"jsonrpc":"2.0","id":1,"method":"echo"}]`, 200,
			`[{"jsonrpc":"2.0","id":1,"result":`},
		{"S24 batch in 2025-06-18", v6, "", `[{"jsonrpc":"2.0","id":1,"method":"echo"}]`, 400,
			`"code":-32600`},
		{"S24 batch in 2025-11-25", v11, "", ` [{"jsonrpc":"2.0","id":1,"method":"echo"}]`, 400,
			`"code":-32600`},
		{"S24 batch of 51", v3, "",
			"[" + strings.Repeat(`{"jsonrpc":"2.0","method":"n"},`, 50) + `{"jsonrpc":"2.0","method":"n"}]`,
			400, `"code":-32600`},
		{"S24 empty batch", v3, "", `[]`, 400, `"code":-32600`},
		{"S24 initialize in a batch", v3, "", `[` + initializeBody(v3) + `]`, 400,
			`initialize must not be part of a batch`},
		{"S24 batch without session", 0, "", `[{"jsonrpc":"2.0","id":1,"method":"echo"}]`, 400,
			`"reason":"session_required"`},
		{"S25 unknown version", v11, "2030-01-01", `{"jsonrpc":"2.0","id":1,"method":"echo"}`, 400,
			`"id":1,"error":{"code":-32600`},
		{"S25 garbage version", v11, "latest", `{"jsonrpc":"2.0","id":1,"method":"echo"}`, 400,
			`"reason":"unknown_version"`},
		{"S25 unknown version at initialize", 0, "1.0.0", initializeBody(v11), 400,
			`"reason":"unknown_version"`},
		{"S25 version of another session", v11, "2025-06-18", `{"jsonrpc":"2.0","id":1,"method":"echo"}`,
			400, `"reason":"other_version"`},
		{"S25 version of the session", v11, "2025-11-25", `{"jsonrpc":"2.0","id":1,"method":"echo"}`,
			200, `"id":1`},
		{"S25 modern header", v11, "2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"echo"}`, 400,
			`"reason":"other_version"`},
		{"S25 modern header at a legacy initialize", 0, "2026-07-28", initializeBody(v11), 200,
			`2025-11-25`},
		{"other _meta is legacy", v11, "",
			`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"_meta":{"progressToken":0}}}`, 200,
			`"progressToken":0`},
		{"S29 unknown method", v11, "", `{"jsonrpc":"2.0","id":1,"method":"nonsense"}`, 200,
			`"id":1,"error":{"code":-32601`},
		{"S30 call without session", 0, "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 400,
			`"id":1,"error":{"code":-32600`},
		{"notification", v11, "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ""},
		{"batch of notifications", v3, "",
			`[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":4,"result":{}}]`, 202, ""},
		{"empty body", v11, "", ``, 400, `"code":-32700`},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp := s.post(c.body, "Mcp-Session-Id", sessions[c.v], "Mcp-Protocol-Version", c.header)
			body := content(t, resp)
			if resp.StatusCode != c.status || !strings.Contains(body, c.want) || c.want == "" && body != "" {
				t.Errorf("got %d %s, want %d with %s", resp.StatusCode, body, c.status, c.want)
			}
		})
	}
}

// S30, S40, S41, S43: ownership of a session, and requests to sessions of others.
func TestSessions(t *testing.T) {
	host := newTestHost(t)
	s := serve(t, host, Options{})
	mine := s.session(protocol.V20251125)
	resp := s.post(initializeBody(protocol.V20251125), "Authorization", "Bearer other")
	foreign := resp.Header.Get("Mcp-Session-Id")
	resp.Body.Close()
	echo := `{"jsonrpc":"2.0","id":7,"method":"echo"}`

	var unknown [3]string
	for i, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		body := map[bool]string{true: echo}[method == http.MethodPost]
		for _, c := range []struct{ name, id string }{
			{"S40 of another principal", foreign}, {"S40 guessed", "session-999"},
			{"S40 huge", strings.Repeat("x", 8000)},
			{"S40 not visible ASCII", "session 1"}, {"S40 empty", "\t"},
		} {
			resp := s.do(s.request(t.Context(), method, body, "Mcp-Session-Id", c.id))
			got := content(t, resp)
			if unknown[i] == "" {
				unknown[i] = got
			}
			if resp.StatusCode != http.StatusNotFound || got != unknown[i] {
				t.Errorf("%s, %s: got %d %s, want 404 and the same text for all", c.name, method,
					resp.StatusCode, got)
			}
		}
		req := s.request(t.Context(), method, body)
		req.URL.RawQuery = "Mcp-Session-Id=" + mine
		if resp := s.do(req); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("S40 %s with the id in the URL: got %d, want 400", method, resp.StatusCode)
		}
	}
	if _, err := host.Lookup(t.Context(), Endpoint{Tenant: "acme", Principal: "Bearer other"},
		foreign); err != nil {
		t.Errorf("S43: the other's session is gone after a foreign DELETE: %v", err)
	}

	resp = s.post(initializeBody(protocol.V20251125), "Mcp-Session-Id", "chosen-by-client")
	if got := resp.Header.Get("Mcp-Session-Id"); resp.StatusCode != 200 ||
		got == "chosen-by-client" || got == "" {
		t.Errorf("S41: got %d with session %q, want a new one", resp.StatusCode, got)
	}
	before := host.opened
	resp = s.post(initializeBody(protocol.V20250618), "Mcp-Session-Id", mine)
	if body := content(t, resp); resp.StatusCode != 400 ||
		!strings.Contains(body, `"id":0,"error":{"code":-32600`) || host.opened != before {
		t.Errorf("S30 second initialize: got %d %s and %d new sessions, want 400 and none",
			resp.StatusCode, body, host.opened-before)
	}

	if resp := s.do(s.request(t.Context(), http.MethodDelete, "", "Mcp-Session-Id",
		mine)); resp.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE: got %d, want 204", resp.StatusCode)
	}
	if resp := s.post(echo, "Mcp-Session-Id", mine); resp.StatusCode != http.StatusNotFound {
		t.Errorf("after DELETE: got %d, want 404", resp.StatusCode)
	}
}

func TestFailedInitializeNamesNoSession(t *testing.T) {
	host := newTestHost(t)
	s := serve(t, host, Options{})
	resp := s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	if body := content(t, resp); resp.StatusCode != 200 || resp.Header.Get("Mcp-Session-Id") != "" ||
		!strings.Contains(body, "-32602") {
		t.Errorf("got %d %s with session %q, want the error and no session", resp.StatusCode, body,
			resp.Header.Get("Mcp-Session-Id"))
	}
	for _, c := range []struct {
		err    error
		status int
		retry  string
		want   string
	}{
		{protocol.RateLimited(1500 * time.Millisecond), 429, "2", `"id":0,"error":{"code":-32010`}, // S46
		{protocol.Overloaded("tenant acme", 0), 503, "1", `"reason":"overloaded"`},
		{errors.New("dial tcp: no"), 200, "", `"id":0,"error":{"code":-32603`},
	} {
		host.openErr = c.err
		resp := s.post(initializeBody(protocol.V20251125))
		body := content(t, resp)
		if got := resp.Header.Get("Retry-After"); resp.StatusCode != c.status || got != c.retry ||
			!strings.Contains(body, c.want) {
			t.Errorf("%v: got %d, Retry-After %q, %s; want %d, %q, %s", c.err, resp.StatusCode, got, body,
				c.status, c.retry, c.want)
		}
	}
}

// Each request of a batch gets one answer, including unreadable ones. A request that sends other
// messages turns the whole answer into a stream.
func TestBatchIsGathered(t *testing.T) {
	host := newTestHost(t)
	host.scripts["chatty"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		out.Send(note("notifications/message", 1))
		out.Finish(jsonrpc.Response(m.ID, nil))
	}
	s := serve(t, host, Options{})
	id := s.session(protocol.V20250326)
	answers := func(text string) map[string]bool {
		all := make(map[string]bool)
		messages, _, err := jsonrpc.DecodeBatch([]byte(text), jsonrpc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			all[line(m)] = true
		}
		return all
	}
	resp := s.post(`[{"jsonrpc":"2.0","id":1,"method":"echo"},{"jsonrpc":"2.0","id":1,"method":"none"},{"jsonrpc":"2.0","method":"n"},`+
		`{"jsonrpc":"2.0","id":3,"method":5}]`, "Mcp-Session-Id", id)
	got := answers(content(t, resp))
	if len(got) != 3 || !got[`{"jsonrpc":"2.0","id":1,"result":{}}`] {
		t.Errorf("got %v, want three answers", got)
	}

	resp = s.post(
		`[{"jsonrpc":"2.0","id":1,"method":"echo"},{"jsonrpc":"2.0","id":2,"method":"chatty"}]`,
		"Mcp-Session-Id", id,
	)
	events := readStream(t, resp).rest()
	seen := make(map[string]bool)
	for _, e := range events {
		seen[e] = true
	}
	for _, want := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`,
		line(note("notifications/message", 1)),
	} {
		if !seen[want] || len(events) != 3 {
			t.Errorf("got %q, want three events with %s", events, want)
		}
	}
}

// Answers are matched by exchange, never by id: many clients use the same id for every request of a
// session.
func TestConcurrentPostsWithOneIDGetTheirOwnAnswers(t *testing.T) {
	host := newTestHost(t)
	host.scripts["stream"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		out.Send(jsonrpc.Notification("notifications/message", m.Params))
		out.Finish(jsonrpc.Response(m.ID, m.Params))
	}
	s := serve(t, host, Options{})
	id := s.session(protocol.V20251125)
	total, workers := 10_000, 16
	if testing.Short() {
		total = 500
	}
	s.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = workers
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for n := w; n < total; n += workers {
				method := [2]string{"echo", "stream"}[n%2]
				nonce := fmt.Sprintf(`{"nonce":"%d-%d"}`, w, n)
				req := s.request(t.Context(), http.MethodPost,
					`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+nonce+`}`, "Mcp-Session-Id", id)
				resp, err := s.Client().Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				body, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if want := 1 + n%2; strings.Count(string(body), nonce) != want ||
					strings.Count(string(body), "nonce") != want {
					t.Errorf("request %d got %s, want %s", n, body, nonce)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestRefusalsAreCounted(t *testing.T) {
	var mu sync.Mutex
	var got []string
	s := serve(t, newTestHost(t),
		Options{Refused: func(_ *http.Request, tenant, reason string, status int) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprintf("%q %s %d", tenant, reason, status))
		}})
	s.post(`{`)
	s.post(`{}`, "Content-Type", "text/plain")
	s.post(`{}`, "Origin", "https://elsewhere.example")
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(got) != `["acme" parse 400 "acme" media_type 415 "" origin 403]` {
		t.Errorf("counted %v, want the three refusals", got)
	}
}

// An error of a Session is sent with the status of its condition, and with the id of the request,
// if there is one.
func TestSessionRefuses(t *testing.T) {
	host := newTestHost(t)
	s := serve(t, host, Options{})
	host.refuse = map[string]error{
		"early":   protocol.NotInitialized("initializing", "call tools"), // S30
		"limited": protocol.RateLimited(time.Second),
		"gone":    ErrNoSession,
		"broken":  errors.New("mailbox full"),
	}
	id := s.session(protocol.V20250326)
	request := func(method string) string {
		return `{"jsonrpc":"2.0","id":"a","method":"` + method + `"}`
	}
	notification := func(method string) string { return `{"jsonrpc":"2.0","method":"` + method + `"}` }
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{request("early"), 400, `"id":"a","error":{"code":-32005`},
		{request("limited"), 429, `"id":"a","error":{"code":-32010`},
		{request("gone"), 404, `"id":"a"`},
		{request("broken"), 200, `"id":"a","error":{"code":-32603`},
		{notification("early"), 400, `{"jsonrpc":"2.0","error":{"code":-32005`},
		{notification("broken"), 500, `{"jsonrpc":"2.0","error":{"code":-32603`},
		{"[" + notification("fine") + "," + notification("limited") + "]", 429, `"code":-32010`},
		{"[" + request("echo") + "," + request("limited") + "," + notification("gone") + "]", 200,
			`"id":"a","error":{"code":-32010`},
	} {
		resp := s.post(c.body, "Mcp-Session-Id", id)
		if body := content(t, resp); resp.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: got %d %s, want %d with %s", c.body, resp.StatusCode, body, c.status, c.want)
		}
	}
}

// A request that is refused temporarily has a status and header that proxies and HTTP libraries
// know. An error of a server with the same code has not.
func TestOutcomesThatMayBeTriedAgain(t *testing.T) {
	host := newTestHost(t)
	var refused error
	host.scripts["busy"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		out.Finish(jsonrpc.Failure(m.ID, protocol.Translate(refused, protocol.V20251125)))
	}
	s := serve(t, host, Options{})
	id := s.session(protocol.V20251125)
	for _, c := range []struct {
		err    error
		status int
		wait   string
	}{
		{protocol.Overloaded("session", 1500*time.Millisecond), 503, "2"},
		{protocol.RateLimited(time.Minute), 429, "60"},
		{protocol.TenantDown("acme", "paused", "i", time.Second).EndedBeforeAnswer("files", false), 503,
			"1"},
		// It must not be repeated automatically.
		{protocol.TenantDown("acme", "paused", "i", time.Second).EndedBeforeAnswer("files", true), 200,
			""},
		{protocol.Overloaded("session", 0), 200, ""},
		{&jsonrpc.Error{Code: protocol.CodeRateLimited, Message: "mine",
			Data: jsontext.Value(`{"reason":"overloaded"}`)}, 200, ""},
		{protocol.ToolNotFound("x"), 200, ""},
	} {
		refused = c.err
		resp := s.post(call("busy"), "Mcp-Session-Id", id)
		body := content(t, resp)
		if got := resp.Header.Get("Retry-After"); resp.StatusCode != c.status || got != c.wait ||
			!strings.Contains(body, `"error"`) {
			t.Errorf("%v: got %d, Retry-After %q and %s, want %d and %q", c.err, resp.StatusCode, got, body,
				c.status, c.wait)
		}
	}
}

// 2026-07-28 has no code for this, so the reason in the error data decides. The status says too
// that the request may be retried.
func TestOutcomesOfRequestsThatStandAloneMayBeTriedAgain(t *testing.T) {
	host := newTestHost(t)
	var refused error
	host.scripts["busy"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		out.Finish(jsonrpc.Failure(m.ID, protocol.Translate(refused, protocol.Latest)))
	}
	s := serve(t, host, Options{})
	for _, c := range []struct {
		err    error
		status int
		wait   string
	}{
		{protocol.Overloaded("host", 2*time.Second), 503, "2"},
		{protocol.RateLimited(time.Minute), 429, "60"},
		{protocol.UpstreamUnavailable("files", 7*time.Second, nil), 503, "7"},
		{protocol.TenantDown("acme", "paused", "i", time.Second).EndedBeforeAnswer("files", true), 200,
			""},
		{protocol.Overloaded("host", 0), 200, ""},
		{protocol.InvalidParams("x"), 200, ""},
	} {
		refused = c.err
		body, header := standalone("busy", `1`)
		resp := s.post(body, header...)
		if got := resp.Header.Get("Retry-After"); resp.StatusCode != c.status || got != c.wait {
			t.Errorf("%v: got %d, Retry-After %q and %s, want %d and %q", c.err, resp.StatusCode, got,
				content(t, resp), c.status, c.wait)
		}
	}
}

// A cancelled request has no answer. An empty stream can express this (2025-11-25
// §basic/utilities/cancellation). It has no event id with which a client could reconnect.
func TestCancelledRequestEndsInSilence(t *testing.T) {
	host := newTestHost(t)
	host.scripts["cancelled"] = func(_ *testSession, _ jsonrpc.Message, out transport.Sink) {
		out.Finish(jsonrpc.Message{})
	}
	s := serve(t, host, Options{})
	for v, body := range map[protocol.Version]string{
		protocol.V20250326: `[{"jsonrpc":"2.0","id":1,"method":"cancelled"},{"jsonrpc":"2.0","id":2,"method":"cancelled"}]`,
		protocol.V20250618: `{"jsonrpc":"2.0","id":1,"method":"cancelled"}`,
		protocol.V20251125: `{"jsonrpc":"2.0","id":1,"method":"cancelled"}`,
	} {
		resp := s.post(body, "Mcp-Session-Id", s.session(v))
		text := content(t, resp)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != streamType ||
			text != "" {
			t.Errorf("%s: got %d %s %q", v, resp.StatusCode, resp.Header.Get("Content-Type"), text)
		}
	}
}
