package streamable

import (
	"net/http"
	"strings"
	"testing"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// A client with an event id of a stream reconnects if the stream ends without an answer. A
// cancelled request therefore gets an answer if its stream has an id. A client that reconnects
// nevertheless after that answer is told that there is no stream.
func TestWithdrawnRequestIsAnsweredWhereItsStreamHasAnID(t *testing.T) {
	for _, v := range []protocol.Version{protocol.V20250618, protocol.V20251125} {
		host := newTestHost(t)
		host.scripts["slow"] = func(_ *testSession, _ jsonrpc.Message, out transport.Sink) {
			_ = out.Send(note("notifications/message", 1))
			out.Finish(jsonrpc.Message{})
		}
		s := serve(t, host, Options{})
		id := s.session(v)
		events := readStream(t, s.post(call("slow"), "Mcp-Session-Id", id))
		if v.Has(protocol.PrimedStreams) {
			events.next()
		}
		events.next() // the notification
		e := events.next()
		m, err := jsonrpc.Decode(e.Data, jsonrpc.Limits{})
		if err != nil || m.ID != jsonrpc.IntID(1) || !strings.Contains(string(m.Result), `"cancelled"`) {
			t.Errorf("%v: got %s, want an answer to the request", v, e.Data)
		}
		if rest := events.rest(); len(rest) != 0 {
			t.Errorf("%v: got %q behind the answer", v, rest)
		}
		resp := s.get("Mcp-Session-Id", id, "Last-Event-Id", e.ID)
		if resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%v: a GET behind the answer has %d, want 405", v, resp.StatusCode)
		}
		_ = resp.Body.Close()
	}
}

// A cancelled request whose answer is not yet a stream gets no answer: the client has nothing to
// resume.
func TestWithdrawnRequestWithoutStreamHasNoAnswer(t *testing.T) {
	host := newTestHost(t)
	host.scripts["slow"] = func(_ *testSession, _ jsonrpc.Message, out transport.Sink) {
		out.Finish(jsonrpc.Message{})
	}
	s := serve(t, host, Options{})
	resp := s.post(call("slow"), "Mcp-Session-Id", s.session(protocol.V20251125))
	if body := content(t, resp); resp.StatusCode != http.StatusOK ||
		strings.Contains(string(body), "id") {
		t.Errorf("got %d %q", resp.StatusCode, body)
	}
}
