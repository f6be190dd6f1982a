package client_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/client/internal/era"
	"mcpd/actors/request"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// legacily and modernRemote return servers of the one era and of the other behind the URL of the
// connection, which shake hands with it and list a tool.
func (r *rig) legacily() *mcptest.Peer {
	r.T.Helper()
	p := r.serverAtURL()
	p.Handshake(`{"tools":{}}`)
	p.Reply(p.Expect("tools/list"), `{"tools":[{"name":"a"}]}`)
	r.WaitIdle()
	return p
}

func (r *rig) modernRemote() *mcptest.Peer {
	r.T.Helper()
	p := r.serverAtURL()
	p.Reply(p.Expect("server/discover"), discovered)
	p.Reply(p.Expect("tools/list"), `{"resultType":"complete","tools":[{"name":"a"}]}`)
	r.WaitIdle()
	return p
}

// refuse makes a server refuse a request with a code, or with an HTTP status.
func refuse(code int64, reason string) func(p *mcptest.Peer, m jsonrpc.Message) {
	return func(p *mcptest.Peer, m jsonrpc.Message) {
		if code > 0 {
			p.Send(failure(m, &streamable.StatusError{Status: int(code)}))
			return
		}
		p.Refuse(m, code, reason)
	}
}

// modernSince is a modern server that refuses initialize with a code. legacySince is a legacy
// server that refuses server/discover.
func modernSince(code int64) func(r *rig) *mcptest.Peer {
	return func(r *rig) *mcptest.Peer {
		p := r.serverAtURL()
		p.Refuse(p.Expect("initialize"), code, "no handshake")
		p.Reply(p.Expect("server/discover"), discovered)
		p.Reply(p.Expect("tools/list"), `{"resultType":"complete","tools":[{"name":"a"}]}`)
		return p
	}
}

func legacySince(r *rig) *mcptest.Peer {
	p := r.serverAtURL()
	p.Refuse(p.Expect("server/discover"), -32000, "no session")
	p.Handshake(`{"tools":{}}`)
	p.Reply(p.Expect("tools/list"), `{"tools":[{"name":"a"}]}`)
	return p
}

// From now on there is a server of another era behind the URL, or one of HTTP+SSE. The connection
// detects that by itself, and makes the refused calls anew.
func TestServerThatBecameAnotherIsFoundOut(t *testing.T) {
	unknown := func(then func(p *mcptest.Peer, m jsonrpc.Message)) func(p *mcptest.Peer,
		m jsonrpc.Message) {
		return func(p *mcptest.Peer, m jsonrpc.Message) {
			p.Refuse(m, -32601, "ping was removed")
			m = p.Expect("server/discover")
			if meta, err := protocol.ParseMeta(m.Params); err != nil ||
				meta.Version != protocol.Latest.String() {
				p.Refuse(m, -32602, "no modern request")
				return
			}
			then(p, m)
		}
	}
	discovers := func(p *mcptest.Peer, m jsonrpc.Message) { p.Reply(m, discovered) }
	for name, tt := range map[string]struct {
		modern  bool
		before  func(r *rig) *mcptest.Peer
		asks    string
		no, not func(p *mcptest.Peer, m jsonrpc.Message) // to the calls and to the question
		after   func(r *rig) *mcptest.Peer
	}{
		"modern, which misses meta": {false, (*rig).legacily, "ping", refuse(-32602, ""),
			refuse(-32602, ""), modernSince(-32601)},
		"modern, which misses its revision": {false, (*rig).legacily, "ping", refuse(-32022, ""),
			refuse(-32022, ""), modernSince(-32022)},
		"modern, which looks at methods first": {
			false, (*rig).legacily, "ping", refuse(-32602, ""), unknown(discovers), modernSince(-32601),
		},
		"modern, which looks at methods first and misses its revision": {
			false, (*rig).legacily, "ping", refuse(-32022, ""), unknown(refuse(-32022, "")),
			modernSince(-32601),
		},
		"legacy": {true, (*rig).modernRemote, "server/discover", refuse(-32000, ""), refuse(-32000, ""),
			legacySince},
		"HTTP+SSE": {false, (*rig).legacily, "ping", refuse(405, ""), refuse(405, ""), (*rig).legacily},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(o *client.Options) { declares(elicits)(o); o.Key.Modern = tt.modern }, func(r *rig) {
				p := tt.before(r)
				var all []*request.Exchange
				for range 3 {
					all = append(all, r.call("one"))
				}
				tt.no(p, p.Expect("tools/call"))
				tt.no(p, p.Expect("tools/call"))
				tt.no(p, p.Expect("tools/call"))
				tt.not(p, p.Expect(tt.asks)) // once
				p = tt.after(r)
				for range all {
					p.Reply(p.Expect("tools/call"), `{"resultType":"complete","content":[]}`)
				}
				for _, x := range all {
					if got := r.outcome(x); got.Err != nil {
						t.Errorf("%v", got.Err)
					}
				}
				if n := r.Ref("conn").Incarnation(); n != 1 {
					t.Errorf("incarnation %d", n)
				}
			})
		})
	}
}

// A server may be replaced by another right after it was replaced: each change is detected at the
// first refusal.
func TestServerThatBecomesAnotherAgainIsFoundOutAtOnce(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.legacily()
		answered := func() {
			t.Helper()
			x := r.call("one")
			p.Reply(p.Expect("tools/call"), `{"resultType":"complete","content":[]}`)
			if got := r.outcome(x); got.Err != nil {
				t.Errorf("%v", got.Err)
			}
		}
		for range 3 {
			r.call("one")
			p.Refuse(p.Expect("tools/call"), -32602, "what?")
			p.Refuse(p.Expect("ping"), -32602, "what?")
			p = modernSince(-32601)(r)
			p.Reply(p.Expect("tools/call"), `{"resultType":"complete","content":[]}`)
			answered()

			r.call("one")
			p.Refuse(p.Expect("tools/call"), -32000, "no session")
			p.Refuse(p.Expect("server/discover"), -32000, "no session")
			p = r.legacily()
			p.Reply(p.Expect("tools/call"), `{"content":[]}`)
			answered()
		}
	})
}

// A refusal that the server means is passed on, and the server is checked less and less often
// because of such refusals.
func TestRefusalThatIsMeantIsTold(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.legacily()
		refused := func() {
			t.Helper()
			var e *jsonrpc.Error
			if got := r.outcomes()[len(r.outcomes())-1]; !errors.As(got.Err, &e) || e.Code != -32602 {
				t.Errorf("got %v", got.Err)
			}
		}
		for pause := era.FirstCheckPause; pause < 2*era.LastCheckPause; pause *= 2 {
			r.call("one")
			p.Refuse(p.Expect("tools/call"), -32602, "no such tool")
			p.Reply(p.Expect("ping"), `{}`)
			refused()
			time.Sleep(min(pause, era.LastCheckPause) - 1)
			r.call("one")
			p.Refuse(p.Expect("tools/call"), -32602, "no such tool")
			refused()
			time.Sleep(time.Nanosecond)
		}
		r.call("one")
		p.Refuse(p.Expect("tools/call"), -32602, "no such tool")
		p.Refuse(p.Expect("ping"), -32601, "no ping either")
		p.Refuse(p.Expect("server/discover"), -32601, "nor that")
		refused()
		gone := r.call("one")
		time.Sleep(era.LastCheckPause)
		m := p.Expect("tools/call")
		p.Refuse(m, -32602, "no such tool")
		ping := p.Expect("ping")
		n := len(r.outcomes())
		r.send(&request.Withdraw{ID: gone.ID})
		p.Expect("notifications/cancelled")
		p.Reply(ping, `{}`)
		if got := len(r.outcomes()); got != n {
			t.Errorf("%d outcomes more, the last of a call that was withdrawn", got-n)
		}
	})
}

// A server is checked at once when it refuses as only another server does, however recently it was
// checked because of refusals that it meant.
func TestRefusalThatOnlyAnotherServerExplainsIsLookedIntoAtOnce(t *testing.T) {
	for name, no := range map[string]func(p *mcptest.Peer, m jsonrpc.Message){
		"revision": refuse(-32022, ""), "meta": refuse(-32602, "_meta is missing"),
		"status": refuse(405, ""),
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				p := r.legacily()
				r.call("one")
				p.Refuse(p.Expect("tools/call"), -32602, "no such tool")
				p.Reply(p.Expect("ping"), `{}`)
				x := r.call("one")
				no(p, p.Expect("tools/call"))
				no(p, p.Expect("ping"))
				p = r.legacily()
				p.Reply(p.Expect("tools/call"), `{"content":[]}`)
				if got := r.outcome(x); got.Err != nil {
					t.Errorf("%v", got.Err)
				}
			})
		})
	}
}

// 2026-07-28 §basic/transports/streamable-http: when header fields are refused, the call is made
// again with those of the tool's schema as it is now. If they are refused again, it is no error of
// the caller's.
func TestToolWhoseSchemaChangedIsCalledAgain(t *testing.T) {
	for name, again := range map[string]bool{"works": false, "does not": true} {
		t.Run(name, func(t *testing.T) {
			run(t, modern(elicits), func(r *rig) {
				p := r.modernRemote()
				x := r.standalone("one", "tools/call", `{"name":"a"}`)
				p.Refuse(p.Expect("tools/call"), -32020, "Mcp-Param-Region is missing")
				p.Reply(p.Expect("tools/list"),
					`{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}}]}`)
				m := p.Expect("tools/call")
				if !again {
					p.Reply(m, `{"resultType":"complete","content":[]}`)
					if got := r.outcome(x); got.Err != nil {
						t.Errorf("got %v", got.Err)
					}
					return
				}
				p.Refuse(m, -32020, "Mcp-Param-Region is missing")
				if got := protocol.Translate(r.outcome(x).Err, protocol.V20260728); got.Code != -32603 ||
					!strings.Contains(got.Message, "Region") {
					t.Errorf("got %+v", got)
				}
			})
		})
	}
}
