package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/protocol/jsonrpc"
)

// The deadline of a request counts from its arrival. If the server never completes its handshake,
// the client is told so by the deadline, with the reason.
func TestDeadlineCountsFromTheArrival(t *testing.T) {
	run(t, func(r *rig) {
		r.script["files"]["initialize"] = nil
		r.tenant.Limits.CallTimeout = 2 * time.Second
	}, func(r *rig) {
		c := r.caller(`{}`)
		c.server = "files"
		asked := map[string]*testrig.Sink{}
		for method, params := range map[string]string{"tools/call": `{"name":"read"}`, "tools/list": "",
			"server/discover": ""} {
			asked[method] = c.ask(method, params)
		}
		time.Sleep(1900 * time.Millisecond)
		for method, out := range asked {
			if out.Word() != "none" {
				t.Errorf("%s before its deadline: %v", method, out.All())
			}
		}
		time.Sleep(200 * time.Millisecond)
		for method, out := range asked {
			if out.Word() == "none" || out.Outcome().Error == nil ||
				!strings.Contains(string(out.Outcome().Error.Data),
					`"maybeExecuted":false,"retryable":true,"cause":"starting"`) {
				t.Errorf("%s at its deadline: %v", method, out.All())
			}
		}
	})
}

// The time that a request has waited for the lists of a server counts towards its deadline.
func TestDeadlineIncludesTheLook(t *testing.T) {
	run(t, func(r *rig) {
		r.tenant.Limits.CallTimeout = 3 * time.Second
		initialize := r.script["files"]["initialize"]
		r.script["files"]["initialize"] = func(params jsontext.Value) string {
			time.Sleep(2 * time.Second)
			return initialize(params)
		}
		r.script["files"]["tools/call"] = nil
	}, func(r *rig) {
		c := r.caller(`{}`)
		c.server = "files"
		out := c.ask("tools/call", `{"name":"read"}`)
		time.Sleep(2900 * time.Millisecond)
		if out.Word() != "none" {
			t.Errorf("before its deadline: %v", out.All())
		}
		time.Sleep(200 * time.Millisecond)
		if out.Word() == "none" ||
			!strings.Contains(string(out.Outcome().Error.Data), `"maybeExecuted":true`) {
			t.Errorf("at its deadline: %v", out.All())
		}
	})
}

// S4-61: a call that waits for its connection counts as in flight. It can be cancelled by its id,
// and then does not reach the server, unless another call has the same id.
func TestCallThatWaitsForItsConnectionIsTakenBack(t *testing.T) {
	run(t, silent, func(r *rig) {
		u := r.ready(`{}`)
		letGo := r.Stalls.Arm("catalog",
			"*otp.Call[mcpd/actors/catalog.ConnectRequest,mcpd/supervisor/otp.Ref]")
		var outs []*testrig.Sink
		for _, id := range []uint64{101, 102, 103, 103, 104} {
			outs = append(outs, u.askAs(jsonrpc.IntID(id), "tools/call", `{"name":"files__read"}`))
		}
		if out := u.call(); out.Word() != int64(-32010) {
			t.Errorf("one too many: %v", out.All())
		}
		for _, id := range []string{"102", "103"} {
			u.tell("notifications/cancelled", `{"requestId":`+id+`}`)
		}
		for i, out := range outs {
			want := any("none")
			if i == 1 {
				want = "cancelled"
			}
			if out.Word() != want {
				t.Errorf("%d: %v, want %s", i, out.All(), want)
			}
		}
		letGo()
		if got := len(r.peer("files").heard("tools/call")); got != 4 {
			t.Errorf("%d calls reached the server", got)
		}
	})
}
