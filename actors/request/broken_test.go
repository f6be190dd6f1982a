package request_test

import (
	"strings"
	"testing"

	"mcpd/actors/request"
)

// A client that loses its outcome to a crash of the manager gets the same error data as for any
// other request without a response: the server that may have executed the request, and whether a
// retry is safe.
func TestCrashSaysWhetherTheRequestWasWritten(t *testing.T) {
	for _, c := range []struct {
		kind, method string
		queued       bool
		want         string
	}{
		{"*request.Submit", "tools/call", true,
			`"server":"files","maybeExecuted":false,"retryable":true`},
		{"*request.Submit", "tools/call", false,
			`"server":"files","maybeExecuted":true,"retryable":false`},
		{"*request.Submit", "tools/list", false,
			`"server":"files","maybeExecuted":true,"retryable":true`},
	} {
		run(t, func(r *rig) {
			r.method, r.queues = c.method, c.queued
			r.Break("manager", c.kind)
			x, out := r.submit("s")
			r.WaitIdle()
			if out.Word() != int64(-32603) || !strings.Contains(string(out.All()[0].Error.Data), c.want) {
				t.Errorf("%+v: %v", c, out.All())
			}
			if x.Write() {
				t.Errorf("%+v: it may be written afterwards", c)
			}
		})
	}
}

// The same holds when the crash loses a result. The exchange leaves nothing behind, and its session
// is told of its end.
func TestLostResultSaysThatTheRequestWasWritten(t *testing.T) {
	run(t, func(r *rig) {
		x, _ := r.submit("s")
		brittle := &fragile{}
		x.Sink = brittle // crashes the actor that delivers the result
		crashed := func() (crashed any) {
			defer func() { crashed = recover() }()
			r.complete(x, `{}`)
			return nil
		}()
		if crashed == nil {
			t.Error("whoever settled it does not crash")
		}
		all := brittle.All()
		if len(all) != 1 || all[0].Error == nil || all[0].Error.Code != -32603 ||
			!strings.Contains(string(all[0].Error.Data), `"maybeExecuted":true,"retryable":false`) {
			t.Errorf("got %v", all)
		}
		if len(r.done()) != 1 || len(r.pending(request.PendingQuery{})) != 0 || r.inFlight() != 0 ||
			r.reserved() != 0 {
			t.Errorf("done %v, %v in flight, %v counted, %d bytes", r.done(),
				r.pending(request.PendingQuery{}), r.inFlight(), r.reserved())
		}
	})
}
