package streamable_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// A redirect within an origin that preserves the request is followed, up to the limit. Others are
// reported as errors.
func TestClientFollowsRedirectsWithinItsOrigin(t *testing.T) {
	for _, row := range []struct {
		name, location string
		code           int
		want           string
	}{
		{"a slash", "/mcp/", 307, `1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"for good", "http://peer/mcp/", 308, `1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"port", "http://peer:80/mcp/", 307, `1: {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"scheme", "https://peer/mcp/", 307,
			`1 failed, written=false: status 307 Temporary Redirect: redirect to "peer/mcp/" not followed`},
		{"another method", "/mcp/", 303,
			`1 failed, written=false: status 303 See Other: redirect to "peer/mcp/" not followed`},
		{
			"nowhere", "", 307,
			`1 failed, written=false: status 307 Temporary Redirect: redirect to "peer/mcp" not followed`,
		},
		{
			"itself", "/mcp", 307,
			`1 failed, written=false: status 307 Temporary Redirect: redirect to "peer/mcp" not followed`,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer()
			p.posts["x"] = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
				if r.URL.Path == "/mcp/" {
					answerJSON(w, jsonrpc.Response(m.ID, nil))
					return
				}
				w.Header().Set("Location", row.location)
				w.WriteHeader(row.code)
			}
			c := inMemory(t, p)
			send(t, c, call(1, "x"))
			if got := show(recv(t, c)); got != row.want {
				t.Errorf("%s: got %s, want %s", row.name, got, row.want)
			}
			if seen := len(p.saw()); seen > 4 {
				t.Errorf("%s: %d requests", row.name, seen)
			}
		})
	}
}

// The address of a redirect is relative to the redirecting address. That differs from the server's
// address after the first redirect, and for the inbox of HTTP+SSE.
func TestClientFollowsRelativeRedirects(t *testing.T) {
	hops := map[string]string{"/mcp": "deep/a", "/deep/a": "b/?x=1", "/inbox/in": "it"}
	move := func(w http.ResponseWriter, r *http.Request) bool {
		if to := hops[r.URL.Path]; to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
		return hops[r.URL.Path] != ""
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		p.posts["x"] = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			if !move(w, r) {
				answerJSON(w, jsonrpc.Failure(m.ID, &jsonrpc.Error{Code: 1, Message: r.URL.RequestURI()}))
			}
		}
		c := inMemory(t, p)
		send(t, c, call(1, "x"))
		expect(t, c, `1: {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"/deep/b/?x=1"}}`)
	})
	synctest.Test(t, func(t *testing.T) {
		p := newOldPeer()
		p.first = "event: endpoint\ndata: /inbox/in"
		p.posts["initialize"] = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			if !move(w, r) {
				p.events <- data(jsonrpc.Failure(m.ID, &jsonrpc.Error{Code: 1, Message: r.URL.Path}))
			}
		}
		c := p.client(t, streamable.NewDialect(true))
		send(t, c, call(1, "initialize"))
		expect(t, c, `none: {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"/inbox/it"}}`)
	})
}

// The error of a redirect that is not followed contains the absolute address.
func TestClientTellsARelativeRedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		p.posts["x"] = func(w http.ResponseWriter, r *http.Request, _ jsonrpc.Message) {
			if r.URL.Path == "/mcp" {
				w.Header().Set("Location", "/deep/a")
				w.WriteHeader(http.StatusTemporaryRedirect)
				return
			}
			w.Header().Set("Location", "b")
			w.WriteHeader(http.StatusFound)
		}
		c := inMemory(t, p)
		send(t, c, call(1, "x"))
		expect(t, c, `1 failed, written=false: status 302 Found: redirect to "peer/deep/b" not followed`)
	})
}
