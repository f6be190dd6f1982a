package client_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// legacily and modernRemote are servers behind the URL of the connection, of the one era and the other, that shake hands with it and list a tool.
func (r *rig) legacily() *mcptest.Peer {
	r.T.Helper()
	p := r.remote()
	p.Handshake(`{"tools":{}}`)
	p.Reply(p.Expect("tools/list"), `{"tools":[{"name":"a"}]}`)
	r.Rest()
	return p
}

func (r *rig) modernRemote() *mcptest.Peer {
	r.T.Helper()
	p := r.remote()
	p.Reply(p.Expect("server/discover"), discovered)
	p.Reply(p.Expect("tools/list"), `{"resultType":"complete","tools":[{"name":"a"}]}`)
	r.Rest()
	return p
}

// Behind a URL there is a server of another era from now on, or one of HTTP+SSE. The connection finds that out by itself, and the calls that
// were refused are made anew.
func TestServerThatBecameAnotherIsFoundOut(t *testing.T) {
	refuse := func(code int64) func(p *mcptest.Peer, m jsonrpc.Message) {
		return func(p *mcptest.Peer, m jsonrpc.Message) { p.Refuse(m, code, "what?") }
	}
	gone := func(p *mcptest.Peer, m jsonrpc.Message) { p.Send(failure(m, &streamable.StatusError{Status: 405})) }
	modernNow := func(code int64) func(r *rig) *mcptest.Peer {
		return func(r *rig) *mcptest.Peer {
			p := r.remote()
			p.Refuse(p.Expect("initialize"), code, "no handshake")
			p.Reply(p.Expect("server/discover"), discovered)
			p.Reply(p.Expect("tools/list"), `{"resultType":"complete","tools":[{"name":"a"}]}`)
			return p
		}
	}
	legacyNow := func(r *rig) *mcptest.Peer {
		p := r.remote()
		p.Refuse(p.Expect("server/discover"), -32000, "no session")
		p.Handshake(`{"tools":{}}`)
		p.Reply(p.Expect("tools/list"), `{"tools":[{"name":"a"}]}`)
		return p
	}
	for name, tt := range map[string]struct {
		modern bool
		before func(r *rig) *mcptest.Peer
		asks   string
		no     func(p *mcptest.Peer, m jsonrpc.Message)
		after  func(r *rig) *mcptest.Peer
	}{
		"modern, which misses meta":         {false, (*rig).legacily, "ping", refuse(-32602), modernNow(-32601)},
		"modern, which misses its revision": {false, (*rig).legacily, "ping", refuse(-32022), modernNow(-32022)},
		"legacy":                            {true, (*rig).modernRemote, "server/discover", refuse(-32000), legacyNow},
		"HTTP+SSE":                          {false, (*rig).legacily, "ping", gone, (*rig).legacily},
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
				tt.no(p, p.Expect(tt.asks)) // once
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

// A refusal that the server means is told, and what the server is asked for it is asked seldom.
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
		r.call("one")
		p.Refuse(p.Expect("tools/call"), -32602, "no such tool")
		p.Reply(p.Expect("ping"), `{}`)
		refused()
		r.call("one")
		p.Refuse(p.Expect("tools/call"), -32602, "no such tool")
		refused()
		time.Sleep(client.Sure)
		r.call("one")
		p.Refuse(p.Expect("tools/call"), -32602, "no such tool")
		p.Refuse(p.Expect("ping"), -32601, "no ping either")
		refused()
		gone := r.call("one")
		time.Sleep(client.Sure)
		m := p.Expect("tools/call")
		p.Refuse(m, -32602, "no such tool")
		ping := p.Expect("ping")
		r.send(&request.Withdraw{ID: gone.ID})
		p.Expect("notifications/cancelled")
		p.Reply(ping, `{}`)
		if n := len(r.outcomes()); n != 3 {
			t.Errorf("%d outcomes, the last of a call that was withdrawn", n)
		}
	})
}

// 2026-07-28 §basic/transports/streamable-http: header fields that are refused are made anew from the tool's schema as it is now. Refused
// again, it is no error of the caller's.
func TestToolWhoseSchemaChangedIsCalledAgain(t *testing.T) {
	for name, again := range map[string]bool{"works": false, "does not": true} {
		t.Run(name, func(t *testing.T) {
			run(t, modern(elicits), func(r *rig) {
				p := r.modernRemote()
				x := r.standalone("one", "tools/call", `{"name":"a"}`)
				p.Refuse(p.Expect("tools/call"), -32020, "Mcp-Param-Region is missing")
				p.Reply(p.Expect("tools/list"), `{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}}]}`)
				m := p.Expect("tools/call")
				if !again {
					p.Reply(m, `{"resultType":"complete","content":[]}`)
					if got := r.outcome(x); got.Err != nil {
						t.Errorf("got %v", got.Err)
					}
					return
				}
				p.Refuse(m, -32020, "Mcp-Param-Region is missing")
				if got := protocol.Translate(r.outcome(x).Err, protocol.V20260728); got.Code != -32603 || !strings.Contains(got.Message, "Region") {
					t.Errorf("got %+v", got)
				}
			})
		})
	}
}
