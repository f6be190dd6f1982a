package client_test

import (
	"slices"
	"testing"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/protocol/jsonrpc"
)

// stays hands in a call of the actor of a task.
func (r *rig) stays(row, method, params string) {
	r.T.Helper()
	x := r.exchange(row, method, params)
	x.NeedsConnection = true
	r.send(&request.Forward{Exchange: x})
}

// statuses returns the task notifications that an actor got.
func statuses(box *testrig.Box) (params []string) {
	for _, m := range testrig.Of[*client.TaskStatus](&box.Log) {
		params = append(params, string(m.Params))
	}
	return params
}

// Notifications about a task reach the actor that keeps the task and nobody else. After a restart
// of the connection the actor is known again from its next poll.
func TestStatusOfATaskReachesItsKeeper(t *testing.T) {
	const working = `{"taskId":"t-1","status":"working"}`
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		r.attach("one")
		r.attach("two")
		says := func() {
			t.Helper()
			p.Notify(jsonrpc.ID{}, "notifications/tasks/status", working)
			r.WaitIdle()
		}
		says()
		r.stays("one", "tools/call", `{"name":"a","task":{}}`)
		p.Reply(p.Expect("tools/call"), `{"task":{"taskId":"t-1"}}`)
		r.stays("two", "tools/call", `{"name":"a","task":{}}`)
		p.Reply(p.Expect("tools/call"), `{"task":{"taskId":"t-2"}}`)
		r.WaitIdle()
		says()
		if one, two := statuses(&r.one), statuses(&r.two); !slices.Equal(one, []string{working}) ||
			len(two) != 0 {
			t.Errorf("told %v and %v", one, two)
		}
		p.Close(nil)
		p = r.ready(`{"tools":{}}`)
		r.stays("one", "tasks/get", `{"taskId":"t-1"}`)
		p.Reply(p.Expect("tasks/get"), working)
		r.WaitIdle()
		says()
		if one := statuses(&r.one); len(one) != 2 {
			t.Errorf("after a restart it was told %v", one)
		}
		r.send(client.Detach{Ref: r.Ref("one")})
		says()
		if one := statuses(&r.one); len(one) != 2 {
			t.Errorf("it has let go, and was told %v", one)
		}
	})
}
