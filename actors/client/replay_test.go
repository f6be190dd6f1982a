package client_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

const hinted = `{"tools":[{"name":"reads","annotations":{"readOnlyHint":true}},{"name":"sets","annotations":{"idempotentHint":true}},` +
	`{"name":"adds","annotations":{"readOnlyHint":false,"idempotentHint":"true"}},{"name":"bare"}]}`

// I13: a tool call is sent a second time only if the operator lets the tool's own hints count, and
// never a third time. Otherwise the client is told that it may have been executed.
func TestToolCallIsReplayedAsConfigured(t *testing.T) {
	for policy, again := range map[string]map[string]bool{
		"":                      {},
		tenant.ReplayNever:      {},
		tenant.ReplayReadOnly:   {"reads": true},
		tenant.ReplayIdempotent: {"reads": true, "sets": true},
	} {
		for _, tool := range []string{"reads", "sets", "adds", "bare", "unknown"} {
			t.Run(policy+" "+tool, func(t *testing.T) {
				run(t, func(o *client.Options) { o.Replay = policy }, func(r *rig) {
					start := func() *mcptest.Peer {
						p := r.server()
						p.Handshake(`{"tools":{}}`)
						p.Reply(p.Expect("tools/list"), hinted)
						r.WaitIdle()
						return p
					}
					p := start()
					x := r.forward("one", "tools/call", fmt.Sprintf(`{"name":%q}`, tool))
					for died := range 2 {
						p.Expect("tools/call")
						p.Close(nil)
						time.Sleep(time.Second)
						p = start()
						if died == 0 && again[tool] {
							continue
						}
						if got := r.outcome(x); !errors.Is(got.Err, protocol.ConditionUpstreamLost) {
							t.Errorf("after %d deaths: %v", died+1, got.Err)
						}
						p.ExpectNothing(time.Second)
						return
					}
				})
			})
		}
	}
}

// When a server dies with very many calls in flight, only some are sent again, because it may have
// died of them. Of the calls after that, a tenth may be sent again.
func TestReplaysAreBounded(t *testing.T) {
	known := &client.SharedServerState{} // as for all connections to a server
	run(t, func(o *client.Options) { o.Known = known }, func(r *rig) {
		again, answered := 0, 0
		for death, want := range []int{quota.MinRetries, 2} {
			p := r.ready(`{"tools":{}}`)
			for range again {
				p.Expect("completion/complete")
			}
			const more = 20
			for range more {
				r.forward("one", "completion/complete", `{}`)
				p.Expect("completion/complete")
			}
			p.Close(nil)
			r.WaitIdle()
			answered += again + more - want
			again = want
			if n := len(r.outcomes()); n != answered {
				t.Errorf("death %d: %d were answered, want %d", death, n, answered)
			}
		}
	})
}

// A call that was sent again, and did not reach the next server, may still have been executed by
// the first.
func TestReplayThatIsNotSentMayHaveBeenExecuted(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		x := r.forward("one", "completion/complete", `{}`)
		p.Expect("completion/complete")
		p.Close(nil)
		r.WaitIdle()
		top := r.Tree.Ref()
		if err := errors.Join(otp.TerminateChild(r.T.Context(), top, "conn"),
			otp.DeleteChild(r.T.Context(), top, "conn")); err != nil {
			t.Fatal(err)
		}
		r.WaitIdle()
		got := r.outcome(x)
		if data := protocol.Translate(got.Err, protocol.V20251125).Data; !strings.Contains(string(data),
			`"maybeExecuted":true`) {
			t.Errorf("told %s", data)
		}
	})
}
