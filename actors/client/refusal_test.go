package client_test

import (
	"errors"
	"testing"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// speaks makes a session whose client speaks that revision have the connection opened.
func speaks(v protocol.Version) setup {
	return func(o *client.Options) { o.Restore = &client.AbandonedState{Version: v} }
}

// initializes expects initialize in a revision and answers it with a refusal.
func initializes(t *testing.T, p *mcptest.Peer, v protocol.Version,
	refusal func(m jsonrpc.Message) transport.Inbound) {
	t.Helper()
	m := p.Expect("initialize")
	if got, _ := jsonedit.GetString(m.Params, "protocolVersion"); got != v.String() {
		t.Errorf("asked in %s, want %s", got, v)
	}
	if refusal != nil {
		p.Send(refusal(m))
		return
	}
	p.Reply(m, `{"protocolVersion":"`+v.String()+
		`","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`)
	p.Expect("notifications/initialized")
	p.Reply(p.Expect("tools/list"), `{"tools":[{"name":"a"}]}`)
}

// A server that refuses the newest revision is asked again in the newest common one that it names,
// wherever it names it, and otherwise in that of the client.
func TestServerThatRefusesARevisionIsAskedInAnother(t *testing.T) {
	says := func(code int64, message, data string) func(m jsonrpc.Message) transport.Inbound {
		return func(m jsonrpc.Message) transport.Inbound {
			e := &jsonrpc.Error{Code: code, Message: message, Data: []byte(data)}
			return transport.Inbound{RequestID: m.ID, Message: jsonrpc.Failure(m.ID, e)}
		}
	}
	status := func(code int, body string) func(m jsonrpc.Message) transport.Inbound {
		return func(m jsonrpc.Message) transport.Inbound {
			return failure(m, &streamable.StatusError{Status: code, Body: body})
		}
	}
	for _, c := range []struct {
		name    string
		refusal func(m jsonrpc.Message) transport.Inbound
		own     protocol.Version
		want    protocol.Version
	}{
		{"as the specification has it",
			says(-32602, "Unsupported protocol version",
				`{"supported":["2024-11-05"],"requested":"2025-11-25"}`), 0, protocol.V20241105},
		{"several", says(-32602, "no", `{"supported":["2024-11-05","2025-06-18","2025-03-26"]}`),
			protocol.V20241105, protocol.V20250618},
		{"under another name", says(-32000, "no", `{"versions":{"min":"2024-11-05","max":"2025-03-26"}}`),
			0, protocol.V20250326},
		{"in words", says(-32603,
			"Unsupported protocol version: 2025-11-25 (supported: 2025-06-18, 2025-03-26)",
			``), 0, protocol.V20250618},
		{"in an HTTP body", status(400,
			`{"error":"Unsupported protocol version: 2025-11-25 - supported versions: 2025-03-26,2024-11-05"}`), 0, protocol.V20250326},
		{"as a modern server", says(-32022, "no",
			`{"supported":["2027-01-01","2025-06-18"],"requested":"2025-11-25"}`), 0, protocol.V20250618},
		{"without a name", says(-32602, "Unsupported protocol version", ``), protocol.V20250326,
			protocol.V20250326},
		{"with names of none of ours", says(-32602, "no", `{"supported":["2024-10-07"]}`),
			protocol.V20241105, protocol.V20241105},
		{"with a status alone", status(400, ``), protocol.V20250618, protocol.V20250618},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, speaks(c.own), func(r *rig) {
				p := r.server()
				initializes(t, p, protocol.V20251125, c.refusal)
				initializes(t, p, c.want, nil)
				r.WaitIdle()
				if got := r.report(); got.State != client.Ready || got.Facts.Version != c.want ||
					got.Incarnation != 1 {
					t.Errorf("report: %+v", got)
				}
			})
		})
	}
}

// A server that refuses every revision is asked once in each. Its last refusal is the cause.
func TestServerThatRefusesEveryRevision(t *testing.T) {
	only := func(o *client.Options) { o.Policy.Ceiling = protocol.V20251125 }
	run(t, only, func(r *rig) {
		p := r.server()
		for _, v := range []protocol.Version{protocol.V20251125, protocol.V20250618, protocol.V20250326,
			protocol.V20241105} {
			initializes(t, p, v, func(m jsonrpc.Message) transport.Inbound {
				return failed(m, -32602, `{"supported":["2025-06-18","2025-03-26","2024-11-05"]}`)
			})
		}
		p.ExpectClosed()
		r.WaitIdle()
		if got := r.report(); got.State == client.Ready {
			t.Errorf("report: %+v", got)
		}
	})
}

// A server that refuses for another reason than the revision is not asked again.
func TestRefusalThatIsAboutSomethingElse(t *testing.T) {
	for name, err := range map[string]error{
		"status 401": &streamable.StatusError{Status: 401, Body: "2024-11-05"},
		"status 503": &streamable.StatusError{Status: 503, Body: "2024-11-05"},
		"network":    errors.New("no route to 2024-11-05"),
	} {
		t.Run(name, func(t *testing.T) {
			only := func(o *client.Options) {
				speaks(protocol.V20241105)(o)
				o.Policy.Ceiling = protocol.V20251125
			}
			run(t, only, func(r *rig) {
				p := r.server()
				initializes(t, p, protocol.V20251125, func(m jsonrpc.Message) transport.Inbound {
					return failure(m, err)
				})
				p.ExpectClosed()
			})
		})
	}
}

// A program that ends with its refusal is started again, and asked in the revision that it named.
func TestProgramThatEndsWithItsRefusal(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.server()
		initializes(t, p, protocol.V20251125, func(m jsonrpc.Message) transport.Inbound {
			return failed(m, -32602, `{"supported":["2025-06-18"]}`)
		})
		p.Expect("initialize")
		p.Close(errors.New("exit status 1"))
		initializes(t, r.server(), protocol.V20250618, nil)
		r.WaitIdle()
		if got := r.report(); got.State != client.Ready || got.Facts.Version != protocol.V20250618 ||
			got.Incarnation != 1 {
			t.Errorf("report: %+v", got)
		}
	})
}

// The revision of a client is known from its session, and from its calls that wait.
func TestRevisionOfAClientIsThatOfItsCalls(t *testing.T) {
	run(t, nil, func(r *rig) {
		x := r.exchange("one", "tools/call", `{"name":"a"}`)
		x.Version = protocol.V20250618
		r.send(&request.Forward{Exchange: x})
		p := r.server()
		initializes(t, p, protocol.V20251125, func(m jsonrpc.Message) transport.Inbound {
			return failed(m, -32602, `{}`)
		})
		initializes(t, p, protocol.V20250618, nil)
		p.Expect("tools/call")
	})
}

// Each server that speaks a single revision without handshake is detected, whichever of ours it is:
// a build that adds a sixth revision must not lose the servers of the fifth.
func TestServerOfOneModernRevisionIsFoundOut(t *testing.T) {
	modernOnes := protocol.Negotiation{}.Offered(protocol.Modern)
	for _, speaks := range modernOnes {
		t.Run(speaks.String(), func(t *testing.T) {
			run(t, modern(elicits), func(r *rig) {
				p := r.server()
				for {
					m := p.Expect("server/discover")
					if v, _ := jsonedit.GetString(m.Params, "_meta",
						protocol.MetaProtocolVersion); v == speaks.String() {
						p.Reply(m, `{"resultType":"complete","supportedVersions":["`+v+
							`"],"capabilities":{"tools":{}}}`)
						break
					}
					p.Send(failed(m, protocol.CodeUnsupportedVersion,
						`{"supported":["`+speaks.String()+`"],"requested":"x"}`))
				}
				p.Reply(p.Expect("tools/list"), `{"resultType":"complete","tools":[{"name":"a"}]}`)
				r.WaitIdle()
				if got := r.report(); got.State != client.Ready || got.Facts.Version != speaks {
					t.Errorf("report: %+v", got)
				}
			})
		})
	}
}
