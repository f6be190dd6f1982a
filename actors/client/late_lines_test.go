package client_test

import (
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// A log line on the standing stream of a legacy server may come behind the answer to its call. A
// client of 2026-07-28 that wants log lines gets it before the answer.
func TestLogLinesBehindTheAnswer(t *testing.T) {
	const line = `{"level":"warning","data":1}`
	say := func(p *mcptest.Peer, related jsonrpc.ID) {
		p.Notify(related, "notifications/message", line)
	}
	for _, tt := range []struct {
		name  string
		level string
		open  bool // the server has a standing stream
		first bool // and has written a log line to the stream of a request
		then  func(r *rig, p *mcptest.Peer)
		heard int
		wait  time.Duration // before the answer
	}{
		{name: "one", level: "info", open: true, heard: 1, wait: client.LineWait},
		{name: "of no interest", level: "error", open: true, wait: client.LineWait},
		{name: "not asked for", open: true},
		{name: "without a stream", level: "info"},
		{name: "on the stream of the call", level: "info", open: true, first: true, heard: 1},
		{name: "the server ends", level: "info", open: true, heard: 1,
			then: func(_ *rig, p *mcptest.Peer) {
				p.Close(nil)
			}},
		{name: "the connection crashes", level: "info", open: true, heard: 1,
			then: func(r *rig, _ *mcptest.Peer) {
				r.Break("conn", "client.Describe")
				r.Send("conn", client.Describe{})
				r.Struck()
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				p := r.ready(`{"tools":{},"logging":{}}`)
				p.Send(transport.Inbound{Control: streamable.StandaloneState{Open: tt.open}})
				x := r.exchange("one", "tools/call", `{"name":"a"}`)
				x.Version, x.Level = protocol.V20260728, tt.level
				r.send(&request.Forward{Exchange: x})
				m := p.Expect("tools/call")
				if tt.first {
					say(p, m.ID)
				}
				began := time.Now()
				p.Reply(m, `{"content":[]}`)
				say(p, jsonrpc.ID{})
				r.WaitIdle()
				if tt.then != nil {
					tt.then(r, p)
				}
				for len(r.outcomes()) == 0 && time.Since(began) < time.Second {
					time.Sleep(time.Millisecond)
				}
				got := r.outcome(x)
				if took := time.Since(began); took != tt.wait {
					t.Errorf("answered after %s, want %s", took, tt.wait)
				}
				if got.Err != nil || len(x.Sink.(*testrig.Sink).Sent()) != tt.heard {
					t.Errorf("%v, heard %v", got.Err, x.Sink.(*testrig.Sink).Sent())
				}
				r.WaitIdle()
				if n := len(r.outcomes()); n != 1 {
					t.Errorf("%d outcomes", n)
				}
			})
		})
	}
}
