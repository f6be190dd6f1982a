package client_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

const hinted = `{"tools":[{"name":"reads","annotations":{"readOnlyHint":true}},{"name":"sets","annotations":{"idempotentHint":true}},` +
	`{"name":"adds","annotations":{"readOnlyHint":false,"idempotentHint":"true"}},{"name":"bare"}]}`

// I13: a tool call is sent a second time only when the operator lets the tool's own word count, and never a third time. Otherwise the client is
// told that it may have been executed.
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
						r.Rest()
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

// Of very many calls at which a server died it gets only some again: it may have died of them.
func TestReplaysAreBounded(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		for range client.MaxReplays + 10 {
			r.forward("one", "completion/complete", `{}`)
			p.Expect("completion/complete")
		}
		p.Close(nil)
		r.Rest()
		if n := len(r.outcomes()); n != 10 {
			t.Errorf("%d were answered, want 10", n)
		}
	})
}

// A call that was sent again and did not reach the next server either may still have been executed by the first.
func TestReplayThatIsNotSentMayHaveBeenExecuted(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		x := r.forward("one", "completion/complete", `{}`)
		p.Expect("completion/complete")
		p.Close(nil)
		r.Rest()
		top := r.Tree.Ref()
		if err := errors.Join(otp.TerminateChild(r.T.Context(), top, "conn"), otp.DeleteChild(r.T.Context(), top, "conn")); err != nil {
			t.Fatal(err)
		}
		r.Rest()
		got := r.outcome(x)
		if data := protocol.Translate(got.Err, protocol.V20251125).Data; !strings.Contains(string(data), `"maybeExecuted":true`) {
			t.Errorf("told %s", data)
		}
	})
}
