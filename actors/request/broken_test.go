package request_test

import (
	"slices"
	"strings"
	"testing"
)

// Whoever loses his outcome to a crash of the manager is told what everybody is whose request has no answer: by which server it may have been
// executed, and whether to repeat it is safe.
func TestCrashSaysWhetherTheRequestWasWritten(t *testing.T) {
	for _, c := range []struct {
		kind, method string
		queued       bool
		want         string
	}{
		{"*request.Submit", "tools/call", true, `"server":"files","maybeExecuted":false,"retryable":true`},
		{"*request.Submit", "tools/call", false, `"server":"files","maybeExecuted":true,"retryable":false`},
		{"*request.Complete", "tools/call", true, `"server":"files","maybeExecuted":false,"retryable":true`},
		{"*request.Complete", "tools/call", false, `"server":"files","maybeExecuted":true,"retryable":false`},
		{"*request.Complete", "tools/list", false, `"server":"files","maybeExecuted":true,"retryable":true`},
	} {
		run(t, func(r *rig) {
			r.method, r.queues = c.method, c.queued
			r.Break("manager", c.kind)
			x, out := r.submit("s")
			if c.kind == "*request.Complete" {
				r.complete(x, `{}`)
			}
			r.Rest()
			if out.Word() != int64(-32603) || !strings.Contains(string(out.All()[0].Error.Data), c.want) {
				t.Errorf("%+v: %v", c, out.All())
			}
			if x.Write() {
				t.Errorf("%+v: it may be written afterwards", c)
			}
		})
	}
}

// The same is true where the crash left a result without a way to its client.
func TestLostResultSaysThatTheRequestWasWritten(t *testing.T) {
	run(t, func(r *rig) {
		x, out := r.submit("s")
		brittle := &fragile{}
		x.Sink = brittle // it crashes the manager that has the result in its hands
		r.complete(x, `{}`)
		r.Rest()
		all := slices.Concat(out.All(), brittle.All())
		if len(all) == 0 || all[0].Error == nil || !strings.Contains(string(all[0].Error.Data), `"maybeExecuted":true,"retryable":false`) {
			t.Errorf("got %v", all)
		}
	})
}
