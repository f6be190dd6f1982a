package client_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/client/internal/era"
	"mcpd/actors/request"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

const discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},` +
	`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"2"}}}`

// modern makes the callers speak a revision without handshake.
func modern(raw string) setup {
	return func(o *client.Options) {
		declares(raw)(o)
		o.Key.Modern = true
	}
}

// modernly returns a server of the modern era that was detected.
func (r *rig) modernly(capabilities string) *mcptest.Peer {
	r.T.Helper()
	p := r.server()
	p.Reply(p.Expect("server/discover"), strings.Replace(discovered, `{"tools":{}}`, capabilities, 1))
	p.Reply(p.Expect("tools/list"), `{"resultType":"complete","tools":[{"name":"a"}]}`)
	r.WaitIdle()
	return p
}

// S19, 2026-07-28 §basic/versioning: if callers speak a revision without handshake, the server is
// first asked for one. Every request has the metadata that the revision requires.
func TestModernServerIsFoundOut(t *testing.T) {
	run(t, modern(elicits), func(r *rig) {
		p := r.server()
		probe := p.Expect("server/discover")
		if v, _ := jsonedit.GetString(probe.Params, "_meta",
			protocol.MetaProtocolVersion); v != "2026-07-28" {
			t.Errorf("probed with %s", probe.Params)
		}
		p.Reply(probe, discovered)
		list := p.Expect("tools/list")
		if !protocol.IsModern(list.Params) {
			t.Errorf("listed with %s", list.Params)
		}
		p.Reply(list, `{"resultType":"complete","tools":[{"name":"a"}]}`)
		r.WaitIdle()
		if got := r.report(); got.State != client.Ready || got.Facts.Version != protocol.V20260728 ||
			got.Facts.Server.Name != "new" {
			t.Errorf("report: %+v", got)
		}
		x := r.call("one")
		m := p.Expect("tools/call")
		meta, err := protocol.ParseMeta(m.Params)
		if err != nil || !meta.Capabilities.Has("elicitation.form") || meta.Info.Name != "mcpd" {
			t.Errorf("called with %s: %v", m.Params, err)
		}
		p.Reply(m, `{"resultType":"complete","content":[]}`)
		if got := r.outcome(x); string(got.Result) != `{"content":[]}` {
			t.Errorf("a client of 2025-11-25 gets %s", got.Result)
		}
	})
}

// A server that gives any other answer to the probe, or none, is spoken to in the legacy era. In
// the end it was probed once.
func TestProbeFallsBack(t *testing.T) {
	refusal := func(code int64, data string) func(p *mcptest.Peer, m jsonrpc.Message) {
		return func(p *mcptest.Peer, m jsonrpc.Message) { p.Refuse(m, code, data) }
	}
	for name, answer := range map[string]func(p *mcptest.Peer, m jsonrpc.Message){
		"unknown method":  refusal(-32601, "no such method"),
		"invalid request": refusal(-32600, "initialize first"),
		"any code":        refusal(0, "what?"),
		"silence":         func(*mcptest.Peer, jsonrpc.Message) {},
		"legacy revisions only": func(p *mcptest.Peer, m jsonrpc.Message) {
			p.Reply(m, `{"supportedVersions":["2025-11-25"],"capabilities":{}}`)
		},
		"a result that is none": func(p *mcptest.Peer, m jsonrpc.Message) { p.Reply(m, `{}`) },
		"a status of old servers": func(p *mcptest.Peer, m jsonrpc.Message) {
			p.Send(failure(m, &streamable.StatusError{Status: 400}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, modern(elicits), func(r *rig) {
				p := r.server()
				answer(p, p.Expect("server/discover"))
				if name == "silence" {
					time.Sleep(era.ProbeTimeout)
					p.Expect("notifications/cancelled")
				}
				p.Handshake(`{"tools":{}}`)
				p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
				r.WaitIdle()
				if got := r.report(); got.State != client.Ready || got.Facts.Version != protocol.V20251125 {
					t.Errorf("report: %+v", got)
				}
			})
		})
	}
}

// An answer that says nothing about the era ends the attempt: trouble of the server, credentials, a
// refusal of a modern server.
func TestProbeThatDoesNotFallBack(t *testing.T) {
	for name, answer := range map[string]func(p *mcptest.Peer, m jsonrpc.Message){
		"status 503": func(p *mcptest.Peer, m jsonrpc.Message) {
			p.Send(failure(m, &streamable.StatusError{Status: 503}))
		},
		"status 401": func(p *mcptest.Peer, m jsonrpc.Message) {
			p.Send(failure(m, &streamable.StatusError{Status: 401}))
		},
		"no network": func(p *mcptest.Peer, m jsonrpc.Message) {
			p.Send(failure(m, errors.New("connection refused")))
		},
		"-32020": func(p *mcptest.Peer, m jsonrpc.Message) { p.Refuse(m, -32020, "header") },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, modern(elicits), func(r *rig) {
				p := r.server()
				answer(p, p.Expect("server/discover"))
				p.ExpectClosed()
				r.WaitIdle()
				if got := r.report(); got.State == client.Ready {
					t.Errorf("report: %+v", got)
				}
			})
		})
	}
}

// A program that ends when it is probed is started again at once and asked to initialize, without
// counting as a restart, and gets the calls that wait for it. Other connections to the same server
// do not probe it.
func TestProgramThatDiesOfTheProbe(t *testing.T) {
	known := &client.SharedServerState{}
	run(t, func(o *client.Options) { modern(elicits)(o); o.Known = known }, func(r *rig) {
		x := r.call("one")
		p := r.server()
		p.Expect("server/discover")
		p.Close(errors.New("what?"))
		p = r.ready(`{"tools":{}}`)
		got := r.report()
		if got.State != client.Ready || got.Facts.Version != protocol.V20251125 || got.Incarnation != 1 ||
			slices.Contains(r.states(), client.Backoff) {
			t.Errorf("report: %+v after %v", got, r.states())
		}
		p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		if got := r.outcome(x); got.Err != nil {
			t.Errorf("the call that waited: %v", got.Err)
		}
	})
	run(t, func(o *client.Options) {
		modern(elicits)(o)
		o.Known = known
	}, func(r *rig) { r.ready(`{"tools":{}}`) })
	only := func(o *client.Options) { modern(elicits)(o); o.Policy.Floor = protocol.V20260728 }
	run(t, only, func(r *rig) {
		p := r.server()
		p.Expect("server/discover")
		p.Close(errors.New("what?"))
		r.WaitIdle()
		if !slices.Contains(r.states(), client.Backoff) {
			t.Errorf("it cannot be greeted, and is said to be %v", r.states())
		}
	})
}

// A server that refuses the revision that it was asked in, but names it, is asked once more in it,
// and not again.
func TestProbeIsRepeatedForARevisionOfOurs(t *testing.T) {
	refuse := func(p *mcptest.Peer, supported string) {
		m := p.Expect("server/discover")
		e := &jsonrpc.Error{
			Code: protocol.CodeUnsupportedVersion, Message: "unsupported",
			Data: []byte(`{"supported":` + supported + `}`),
		}
		p.Send(transport.Inbound{Message: jsonrpc.Failure(m.ID, e), RequestID: m.ID})
	}
	run(t, modern(elicits), func(r *rig) {
		p := r.server()
		refuse(p, `["2026-07-28"]`)
		p.Reply(p.Expect("server/discover"), discovered)
		p.Reply(p.Expect("tools/list"), `{"resultType":"complete","tools":[]}`)
		r.WaitIdle()
		if got := r.report(); got.State != client.Ready || got.Facts.Version != protocol.V20260728 {
			t.Errorf("report: %+v", got)
		}
	})
	run(t, modern(elicits), func(r *rig) {
		p := r.server()
		refuse(p, `["2026-07-28","2025-11-25"]`)
		refuse(p, `["2026-07-28","2025-11-25"]`)
		p.Handshake(`{"tools":{}}`)
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
		r.WaitIdle()
		if got := r.report(); got.State != client.Ready || got.Facts.Version != protocol.V20251125 {
			t.Errorf("report: %+v", got)
		}
	})
}

// A server without handshake may answer initialize with a revision that has none.
func TestHandshakeAnsweredWithAModernRevision(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.server()
		p.Reply(p.Expect("initialize"),
			`{"protocolVersion":"2026-07-28","capabilities":{"tools":{}},"serverInfo":{"name":"new","version":"2"}}`)
		p.Reply(p.Expect("server/discover"), discovered)
		p.Reply(p.Expect("tools/list"), `{"resultType":"complete","tools":[]}`)
		r.WaitIdle()
		if got := r.report(); got.State != client.Ready || got.Facts.Version != protocol.V20260728 {
			t.Errorf("report: %+v", got)
		}
	})
}

// A server without handshake is detected by callers that have one, and is not asked to initialize
// again.
func TestServerWithoutHandshake(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.server()
		p.Refuse(p.Expect("initialize"), -32601, "no such method")
		p.Reply(p.Expect("server/discover"), discovered)
		p.Reply(p.Expect("tools/list"), `{"resultType":"complete","tools":[]}`)
		r.WaitIdle()
		if got := r.report(); got.State != client.Ready || got.Facts.Version != protocol.V20260728 {
			t.Fatalf("report: %+v", got)
		}
		p.Close(errors.New("gone"))
		again := r.server()
		again.Expect("server/discover")
	})
}

// A server without handshake that is too slow for the probe is probed once more when it refuses
// initialize, and no more than that. It may then take as long as a start may.
func TestSlowServerWithoutHandshake(t *testing.T) {
	for name, tt := range map[string]struct {
		code   int64         // of the error that answers initialize
		after  time.Duration // when the second probe is answered, or the server given up
		answer bool
	}{
		"it answers late":     {-32602, 4 * era.ProbeTimeout, true},
		"it never answers":    {-32602, time.Minute - era.ProbeTimeout, false},
		"it may be of legacy": {-32603, era.ProbeTimeout, false},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, modern(elicits), func(r *rig) {
				p := r.server()
				p.Expect("server/discover")
				time.Sleep(era.ProbeTimeout)
				p.Expect("notifications/cancelled")
				p.Refuse(p.Expect("initialize"), tt.code, "protocol version is not supported")
				probe := p.Expect("server/discover")
				time.Sleep(tt.after - time.Millisecond)
				if got := r.states(); slices.Contains(got, client.Backoff) {
					t.Errorf("a moment before: %v", got)
				}
				if !tt.answer {
					time.Sleep(time.Millisecond)
					r.WaitIdle()
					if got := r.states(); !slices.Contains(got, client.Backoff) {
						t.Errorf("it is still waited for: %v", got)
					}
					return
				}
				p.Reply(probe, discovered)
				p.Reply(p.Expect("tools/list"), `{"resultType":"complete","tools":[]}`)
				r.WaitIdle()
				if got := r.report(); got.State != client.Ready || got.Facts.Version != protocol.V20260728 {
					t.Errorf("report: %+v", got)
				}
			})
		})
	}
}

// The error for a server that refuses both has both reasons.
func TestServerOfNoEra(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.server()
		p.Refuse(p.Expect("initialize"), -32601, "no such method")
		p.Refuse(p.Expect("server/discover"), -32601, "neither")
		p.ExpectClosed()
		r.WaitIdle()
		all := r.reports()
		if got := all[len(all)-2]; got.State != client.Backoff ||
			!strings.Contains(got.Cause.Error(), "neither") {
			t.Errorf("report: %v %v", got.State, got.Cause)
		}
	})
}

// 2025-11-25 -32042: a modern client is told in a result which pages to visit, and calls again.
func TestPagesToVisitBecomeAQuestion(t *testing.T) {
	run(t, declares(`{"elicitation":{"url":{}}}`), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		x := r.exchange("one", "tools/call", `{"name":"a"}`)
		x.Version = protocol.V20260728
		x.Visit = func(pages []mrtr.Input) (jsontext.Value, error) {
			return mrtr.Required{Inputs: pages}.Result(), nil
		}
		r.send(&request.Forward{Exchange: x})
		m := p.Expect("tools/call")
		p.Send(
			failed(
				m, -32042,
				`{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://a.example","message":"go"}]}`,
			),
		)
		want := `{"resultType":"input_required","inputRequests":{"0":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example","message":"go"}}}}`
		if got := r.outcome(x); string(got.Result) != want {
			t.Errorf("got %s %v", got.Result, got.Err)
		}
	})
}

// A call of a client without handshake is answered in the client's own revision.
func TestResultForAModernClient(t *testing.T) {
	run(t, declares(elicits), func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		x := r.standalone("one", "tools/call",
			`{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","k":1}}`)
		m := p.Expect("tools/call")
		if string(m.Params) != `{"name":"a","_meta":{"k":1}}` {
			t.Errorf("the server is sent %s", m.Params)
		}
		p.Reply(m, `{"content":[]}`)
		if got := r.outcome(x); !strings.Contains(string(got.Result), `"resultType":"complete"`) {
			t.Errorf("got %s", got.Result)
		}
		x = r.standalone("one", "tools/call", `{"name":"a"}`)
		p.Refuse(p.Expect("tools/call"), -32050, "odd")
		var told *jsonrpc.Error
		if got := r.outcome(x); !errors.As(got.Err, &told) || told.Code != -32603 {
			t.Errorf("got %v", got.Err)
		}
	})
}

// standalone hands in a stateless call, of a modern client.
func (r *rig) standalone(session, method, params string) *request.Exchange {
	r.T.Helper()
	x := r.exchange(session, method, params)
	x.Version = protocol.V20260728
	r.send(&request.Forward{Exchange: x})
	return x
}

// The operator may pin a server to an era, or to revisions of one. A revision that is forbidden is
// neither tried nor accepted.
func TestEraOfAServerMayBePinned(t *testing.T) {
	legacy := func(o *client.Options) { modern(elicits)(o); o.Policy.Ceiling = protocol.V20250618 }
	run(t, legacy, func(r *rig) {
		p := r.server()
		m := p.Expect("initialize")
		if v, _ := jsonedit.GetString(m.Params, "protocolVersion"); v != "2025-06-18" {
			t.Errorf("asked for %s", v)
		}
		p.Reply(
			m,
			`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"peer","version":"1"}}`,
		)
		p.ExpectClosed()
	})
	run(t, legacy, func(r *rig) { // a refusal is no reason to ask for the other era
		p := r.server()
		p.Refuse(p.Expect("initialize"), -32022, "no handshake")
		p.ExpectClosed()
	})
	only := func(o *client.Options) { o.Policy.Floor = protocol.V20260728 }
	run(t, only, func(r *rig) {
		r.modernly(`{"tools":{}}`)
		if got := r.report(); got.State != client.Ready || got.Facts.Version != protocol.V20260728 {
			t.Errorf("report: %+v", got)
		}
	})
	run(t, only, func(r *rig) {
		p := r.server()
		p.Refuse(p.Expect("server/discover"), -32601, "unknown method")
		p.ExpectClosed()
	})
}
