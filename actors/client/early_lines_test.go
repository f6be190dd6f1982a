package client_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
	"mcpd/transport"
)

// lines returns the log lines that were handed to the dispatcher.
func (r *rig) lines() (list []string) {
	for _, n := range testrig.Of[*notification.Dispatch](&r.dispatcher.Log) {
		if n.Method == "notifications/message" {
			list = append(list, string(n.Params))
		}
	}
	return list
}

// dropped returns how many log lines were counted as dropped.
func (r *rig) dropped() (n uint32) {
	time.Sleep(time.Minute) // until they are counted
	for _, e := range testrig.Of[telemetry.NotificationDropped](&r.Events) {
		if e.Method == "notifications/message" {
			n += e.Count
		}
	}
	return n
}

// Log lines that a server writes before it has answered the handshake go to the session that has
// caused the start, a bounded few of them. If there is no session they are counted.
func TestLinesBeforeTheHandshake(t *testing.T) {
	const capabilities = `{"tools":{},"logging":{}}`
	says := func(p *mcptest.Peer, n int) {
		for i := range n {
			params := fmt.Appendf(nil, `{"level":"info","data":%d}`, i)
			p.Send(transport.Inbound{Message: jsonrpc.Notification("notifications/message", params)})
		}
	}
	begins := func(r *rig, n int) *mcptest.Peer {
		p := r.server()
		m := p.Expect("initialize")
		says(p, n)
		r.WaitIdle()
		if got := r.lines(); len(got) != 0 {
			t.Errorf("before the handshake: %q", got)
		}
		p.Reply(m, `{"protocolVersion":"2025-11-25","capabilities":`+capabilities+
			`,"serverInfo":{"name":"peer","version":"1"}}`)
		p.Expect("notifications/initialized")
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
		r.WaitIdle()
		return p
	}
	run(t, nil, func(r *rig) { // a session
		r.attach("one")
		begins(r, client.MaxEarly+2)
		got := r.lines()
		if len(got) != client.MaxEarly || !strings.Contains(got[0], `"data":0`) || r.dropped() != 2 {
			t.Errorf("passed on: %q, dropped: %d", got, r.dropped())
		}
	})
	run(t, nil, func(r *rig) { // a session that comes a moment later
		begins(r, 1)
		if got := r.lines(); len(got) != 0 {
			t.Errorf("nobody is there, and is told %q", got)
		}
		time.Sleep(client.QuestionHold / 2)
		r.attach("one")
		if got := r.lines(); len(got) != 1 || r.dropped() != 0 {
			t.Errorf("passed on: %q, dropped: %d", got, r.dropped())
		}
	})
	run(t, nil, func(r *rig) { // no session
		begins(r, 1)
		time.Sleep(client.QuestionHold + time.Second)
		r.attach("one")
		if got := r.lines(); len(got) != 0 || r.dropped() != 1 {
			t.Errorf("passed on: %q, dropped: %d", got, r.dropped())
		}
	})
	run(t, nil, func(r *rig) { // a start that fails
		r.attach("one")
		p := r.server()
		p.Expect("initialize")
		says(p, 3)
		r.WaitIdle()
		p.Close(errors.New("exit status 1"))
		r.WaitIdle()
		r.ready(capabilities)
		if got := r.lines(); len(got) != 0 || r.dropped() != 3 {
			t.Errorf("passed on: %q, dropped: %d", got, r.dropped())
		}
	})
}
