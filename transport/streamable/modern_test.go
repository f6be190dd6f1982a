package streamable

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// testPeer serves stateless requests with the scripts of its host.
type testPeer struct {
	*testSession
	class     protocol.Class
	cancelled chan transport.Sink
}

func (h *testHost) Policy(Endpoint) protocol.Negotiation { return protocol.Negotiation{} }

func (h *testHost) Peer(_ context.Context, ep Endpoint, c protocol.Class) (Peer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.peer == nil {
		h.peer = &testPeer{
			&testSession{host: h, ep: ep, version: c.Version}, c, make(chan transport.Sink, 8),
		}
	}
	return h.peer, nil
}

func (p *testPeer) Call(ctx context.Context, m jsonrpc.Message, fields headers.Lookup,
	out transport.Sink) error {
	if len(fields("Mcp-Method")) != 1 {
		return protocol.HeaderMismatch("Mcp-Method", "was not handed over")
	}
	return p.Deliver(ctx, m, out)
}

func (p *testPeer) Cancel(out transport.Sink) { p.cancelled <- out; out.Finish(jsonrpc.Message{}) }

// standalone returns a request of 2026-07-28, and its header fields.
func standalone(method string, id string) (body string, header []string) {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
}

// 2026-07-28 §basic/transports/streamable-http: the answer is JSON if the outcome is the first
// message, and otherwise a stream without event ids. A session id in the request is ignored, and
// none is returned.
func TestRequestThatStandsAlone(t *testing.T) {
	host := newTestHost(t)
	host.scripts["slow"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		_ = out.Send(jsonrpc.Notification("notifications/progress",
			jsontext.Value(`{"progressToken":1,"progress":1}`)))
		out.Finish(jsonrpc.Response(m.ID, jsontext.Value(`{"resultType":"complete"}`)))
	}
	s := serve(t, host, Options{})
	for _, tt := range []struct {
		method, kind string
		want         []string
		never        []string
	}{
		{"echo", "application/json", []string{`"id":"a"`, `"result":`}, nil},
		{"slow", "text/event-stream", []string{"notifications/progress", `"resultType":"complete"`},
			[]string{"id: ", "retry:"}},
	} {
		body, header := standalone(tt.method, `"a"`)
		resp := s.post(body, append(header, "Mcp-Session-Id", "stale")...)
		text := content(t, resp)
		if resp.StatusCode != http.StatusOK ||
			!strings.HasPrefix(resp.Header.Get("Content-Type"), tt.kind) {
			t.Errorf("%s: %d %s %s", tt.method, resp.StatusCode, resp.Header.Get("Content-Type"), text)
		}
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %s in %s", tt.method, want, text)
			}
		}
		for _, never := range tt.never {
			if strings.Contains(text, never) {
				t.Errorf("%s: %s in %s", tt.method, never, text)
			}
		}
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			t.Errorf("%s: session id %q", tt.method, id)
		}
	}
}

// S17 to S21: refusals with their status and code, in the order that the specification and the
// conformance suite expect.
func TestRefusedRequestsThatStandAlone(t *testing.T) {
	s := serve(t, newTestHost(t), Options{})
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	request := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `}}`
	}
	future := strings.ReplaceAll(meta, "2026-07-28", "v999.0.0")
	for _, tt := range []struct {
		name, body string
		header     []string
		status     int
		want       string
	}{
		{"no version header", request("echo", meta), []string{"Mcp-Method", "echo"}, 400,
			`"code":-32020`},
		{"no _meta", request("echo", ""),
			[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "echo"}, 400, `"code":-32602`},
		{"no capabilities", request("echo",
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`),
			[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "echo"}, 400, `"code":-32602`},
		{"header of another revision", request("echo", meta),
			[]string{"Mcp-Protocol-Version", "2025-11-25", "Mcp-Method", "echo"}, 400, `"code":-32020`},
		{"unknown revision", request("echo", future),
			[]string{"Mcp-Protocol-Version", "v999.0.0", "Mcp-Method", "echo"}, 400,
			`"code":-32022,"message":"protocol version`},
		{"no method header", request("echo", meta), []string{"Mcp-Protocol-Version", "2026-07-28"}, 400,
			`"code":-32020`},
		{"other method header", request("echo", meta),
			[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "Echo"}, 400, `"code":-32020`},
		{"no name header", request("tools/call", meta+`,"name":"x"`), []string{
			"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call",
		},
			400, `"code":-32020`},
		{"unknown method", request("nothing", meta),
			[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "nothing"}, 404, `"code":-32601`},
		{"an answer", `{"jsonrpc":"2.0","id":1,"result":{}}`,
			[]string{"Mcp-Protocol-Version", "2026-07-28"}, 400, `"code":-32600`},
		{"a batch", `[` + request("echo", meta) + `]`, []string{"Mcp-Protocol-Version", "2026-07-28"},
			400, `"code":-32600`},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
			[]string{"Mcp-Protocol-Version", "2026-07-28"}, 202, ""},
	} {
		resp := s.post(tt.body, tt.header...)
		if text := content(t, resp); resp.StatusCode != tt.status || !strings.Contains(text, tt.want) {
			t.Errorf("%s: got %d %s, want %d %s", tt.name, resp.StatusCode, text, tt.status, tt.want)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		resp := s.do(s.request(t.Context(), method, "", "Mcp-Protocol-Version", "2026-07-28"))
		if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") == "" {
			t.Errorf("%s: %d, Allow %q", method, resp.StatusCode, resp.Header.Get("Allow"))
		}
	}
}

// 2026-07-28 §basic/patterns/cancellation: a disconnect cancels, before the first message and in
// the middle of a stream.
func TestLeavingCancels(t *testing.T) {
	host := newTestHost(t)
	var sinks sync.Map
	started := make(chan struct{}, 2)
	for _, method := range []string{"quiet", "talks"} {
		host.scripts[method] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
			if method == "talks" {
				_ = out.Send(jsonrpc.Notification("notifications/progress", nil))
			}
			sinks.Store(method, out)
			started <- struct{}{}
		}
	}
	s := serve(t, host, Options{})
	for _, method := range []string{"quiet", "talks"} {
		ctx, leave := context.WithCancel(t.Context())
		body, header := standalone(method, "1")
		left := make(chan struct{})
		go func() {
			defer close(left)
			if resp, err := s.Client().Do(s.request(ctx, http.MethodPost, body, header...)); err == nil {
				<-ctx.Done()
				resp.Body.Close()
			}
		}()
		<-started
		leave()
		<-left
		out, _ := sinks.Load(method)
		select {
		case got := <-host.peer.cancelled:
			if got != out {
				t.Errorf("%s: another request was cancelled", method)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: not cancelled", method)
		}
	}
	body, header := standalone("echo", "1")
	content(t, s.post(body, header...))
	select {
	case <-host.peer.cancelled:
		t.Error("a request that was answered is cancelled")
	case <-time.After(50 * time.Millisecond):
	}
}

// An error that a server sent is an answer: its status is 200, whatever its code, so that clients
// show the code and not the status. Only -32021 has a status of its own, whatever its source.
func TestErrorsOfServersAreAnswers(t *testing.T) {
	host := newTestHost(t)
	s := serve(t, host, Options{})
	for _, tt := range []struct {
		code   int64
		data   string
		status int
	}{
		{-32601, ``, 200},
		{-32601, `{"reason":"anything"}`, 200},
		{-32601, `{"reason":"method_not_found"}`, 404},
		{-32600, ``, 200},
		{-32700, ``, 200},
		{-32602, ``, 200},
		{-32020, ``, 200},
		{-32021, ``, 400},
		{-1, ``, 200},
	} {
		host.scripts["fails"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
			out.Finish(jsonrpc.Failure(m.ID, &jsonrpc.Error{
				Code: tt.code, Message: "no", Data: jsontext.Value(tt.data),
			}))
		}
		body, header := standalone("fails", "1")
		resp := s.post(body, header...)
		want := fmt.Sprintf(`"code":%d`, tt.code)
		if text := content(t, resp); resp.StatusCode != tt.status || !strings.Contains(text, want) {
			t.Errorf("%d %s: got %d %s, want %d", tt.code, tt.data, resp.StatusCode, text, tt.status)
		}
	}
}
