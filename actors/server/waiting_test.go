package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpd/gateway/quota"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"

	"mcpd/actors/internal/testrig"
)

// A call is charged to its tenant once, from when it waits for its connection until its outcome,
// whatever that is.
func TestWaitingCallsCount(t *testing.T) {
	params := fmt.Sprintf(`{"name":"files__read","arguments":{"pad":"%s"}}`,
		strings.Repeat("x", 20<<10))
	const calls = 3
	for name, ends := range map[string]func(r *rig, u *user){
		"timed out": func(*rig, *user) { time.Sleep(2 * time.Minute) },
		"cancelled": func(_ *rig, u *user) {
			for id := range calls {
				u.tell("notifications/cancelled", fmt.Sprintf(`{"requestId":%d}`, 101+id))
			}
		},
		"session ended": func(_ *rig, u *user) { u.h.End(telemetry.ClosedNormally) },
	} {
		for _, sent := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/sent %v", name, sent), func(t *testing.T) {
				run(t, silent, func(r *rig) {
					u := r.ready(`{}`)
					letGo := r.Stalls.Arm("catalog",
						"*otp.Call[mcpd/actors/catalog.ConnectRequest,mcpd/supervisor/otp.Ref]")
					defer letGo()
					kept := func() int64 {
						r.WaitIdle()
						return r.kept.Account("acme").Holding().Kinds[quota.Requests]
					}
					var outs []*testrig.Sink
					for id := range calls {
						outs = append(outs, u.askAs(jsonrpc.IntID(uint64(101+id)), "tools/call", params))
					}
					if got, want := kept(), int64(calls*len(params)); got != want {
						t.Errorf("%d bytes count while %d calls wait, want %d", got, calls, want)
					}
					u.crash() // the next actor goes on with them
					if got, want := kept(), int64(calls*len(params)); got != want {
						t.Errorf("%d bytes count after a crash, want %d", got, want)
					}
					if sent {
						letGo()
						// The server is sent its own name of the tool.
						if got, want := kept(), int64(calls*(len(params)-len("files__"))); got != want {
							t.Errorf("%d bytes count while %d calls are on their way, want %d", got, calls, want)
						}
					}
					ends(r, u)
					if got := kept(); got != 0 {
						t.Errorf("%d bytes count in the end: %v", got, outs[0].All())
					}
				})
			})
		}
	}
}

// The waiting calls of a tenant fill its share, so that the next call is refused.
func TestWaitingCallsFillTheirTenantsShare(t *testing.T) {
	params := fmt.Sprintf(`{"name":"files__read","arguments":{"pad":"%s"}}`,
		strings.Repeat("x", 60<<10))
	run(t, silent, func(r *rig) {
		// uses up its own share of 100 KiB, and all of the free part
		r.kept.Account("initech").Add(quota.Requests, 300<<10)
		u := r.ready(`{}`)
		letGo := r.Stalls.Arm("catalog",
			"*otp.Call[mcpd/actors/catalog.ConnectRequest,mcpd/supervisor/otp.Ref]")
		first, second := u.ask("tools/call", params), u.ask("tools/call", params)
		if first.Word() != "none" || second.Word() != int64(-32010) {
			t.Errorf("got %v and %v", first.All(), second.All())
		}
		letGo()
		r.WaitIdle()
		if got := len(r.peer("files").heard("tools/call")); got != 1 {
			t.Errorf("%d calls reached the server", got)
		}
	})
}
