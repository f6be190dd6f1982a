package client_test

import (
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/catalog"
)

// A server that declares no list is asked for all of them, as clients do that do not look at
// capabilities. A list that it refuses does not exist, and is not asked for again.
func TestServerThatDeclaresNothingIsAsked(t *testing.T) {
	for _, declared := range []string{`{}`, `null`, `{"logging":{}}`} {
		run(t, nil, func(r *rig) {
			p := r.server()
			p.Handshake(declared)
			for range 4 {
				if m := p.Next(); m.Method == "tools/list" {
					p.Reply(m, `{"tools":[{"name":"a"}]}`)
				} else {
					p.Refuse(m, -32601, "Method not found")
				}
			}
			r.WaitIdle()
			got := r.report()
			if got.State != client.Ready || len(got.Lists[catalog.Tools]) != 1 ||
				got.Shortfalls != [client.Kinds]client.Shortfall{} {
				t.Errorf("%s: state %s, tools %s, short %v", declared, got.State,
					got.Lists[catalog.Tools], got.Shortfalls)
			}
			p.ExpectNothing(10 * time.Minute)
		})
	}
}

// No call waits for an undeclared list, and a failure to fetch it is not reported. So a server that
// ignores the list request is usable.
func TestUndeclaredListIsNotMissed(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.server()
		p.Handshake(`{}`)
		for range 4 {
			if m := p.Next(); m.Method == "prompts/list" {
				p.Refuse(m, -32603, "no prompts today")
			}
		}
		time.Sleep(client.ListGrace)
		r.WaitIdle()
		if got := r.report(); got.State != client.Ready ||
			got.Shortfalls != [client.Kinds]client.Shortfall{} {
			t.Errorf("after the grace: state %s, short %v", got.State, got.Shortfalls)
		}
		time.Sleep(time.Minute) // longer than the list timeout
		for range 3 {
			p.Expect("notifications/cancelled")
		}
		r.WaitIdle()
		if got := r.report(); got.Shortfalls != [client.Kinds]client.Shortfall{} {
			t.Errorf("after the lists are given up: short %v", got.Shortfalls)
		}
		p.ExpectNothing(10 * time.Minute)
	})
}
