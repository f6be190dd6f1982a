package streamable_test

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// S69, S71: a server receives only the configured headers and those of MCP, directly and without a
// proxy.
func TestClientSendsTheseHeadersAndNoOthers(t *testing.T) {
	for _, tt := range []struct {
		version protocol.Version
		header  string // of the version; empty for none
	}{{protocol.V20250326, ""}, {protocol.V20250618, "2025-06-18"},
		{protocol.V20251125, "2025-11-25"}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer()
			p.get = func(w http.ResponseWriter, r *http.Request) {
				stream(w, ": hello")
				<-r.Context().Done()
			}
			given := http.Header{"authorization": {"Bearer t"}, "X-Team": {"a", "b"}}
			c := newTestClient(t, streamable.ClientOptions{
				URL: "http://peer/mcp", Header: given, Transport: memory{p.ServeHTTP},
			})
			shake(t, c, tt.version)
			send(t, c, jsonrpc.Notification("notifications/initialized", nil))
			expect(t, c, "streamable.StandaloneState{Open:true Gap:false Err:<nil>}")
			c.Close(t.Context())

			always := http.Header{
				"Authorization": {"Bearer t"}, "X-Team": {"a", "b"}, "User-Agent": {"mcpd"},
				"Accept-Encoding": {"identity"},
			}
			post := http.Header{
				"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"},
			}
			later := http.Header{"Mcp-Session-Id": {"s1"}}
			if tt.header != "" {
				later.Set("Mcp-Protocol-Version", tt.header)
			}
			want := []http.Header{
				merge(always, post), merge(always, post, later),
				merge(always, later, http.Header{"Accept": {"text/event-stream"}}),
				merge(always, later),
			}
			if got := p.saw(); !slices.Equal(got,
				[]string{"POST initialize", "POST notifications/initialized", "GET", "DELETE"}) {
				t.Fatalf("requests: got %q", got)
			}
			for i, r := range p.all {
				if !sameHeader(r.Header, want[i]) {
					t.Errorf("%v, %s: got %v, want %v", tt.version, p.seen[i], r.Header, want[i])
				}
			}
		})
	}
}

// A probe of a server with another negotiated revision is still a modern request, and does not
// affect other requests.
func TestProbeIsOfTheRevisionThatItNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		c := newTestClient(t, streamable.ClientOptions{
			URL: "http://peer/mcp", Transport: memory{p.ServeHTTP},
		})
		shake(t, c, protocol.V20250618)
		meta := protocol.Meta{Version: protocol.Latest.String()}
		send(t, c, jsonrpc.Request(jsonrpc.IntID(1), "server/discover", meta.Set(nil)))
		recv(t, c)
		send(t, c, call(2, "ping"))
		recv(t, c)
		for i, want := range []string{"", protocol.Latest.String(), "2025-06-18"} {
			if got := p.all[i].Header.Get("Mcp-Protocol-Version"); got != want {
				t.Errorf("%s: got revision %q, want %q", p.seen[i], got, want)
			}
		}
		if got := p.all[1].Header.Get("Mcp-Method"); got != "server/discover" {
			t.Errorf("got method %q", got)
		}
	})
}

func merge(all ...http.Header) http.Header {
	sum := http.Header{}
	for _, h := range all {
		for name, values := range h {
			sum[name] = values
		}
	}
	return sum
}

func sameHeader(a, b http.Header) bool {
	if len(a) != len(b) {
		return false
	}
	for name := range a {
		if !slices.Equal(a[name], b[name]) {
			return false
		}
	}
	return true
}
