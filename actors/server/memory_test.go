package server_test

import (
	"testing"

	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/telemetry"

	"mcpd/actors/internal/testrig"
)

// Running work is never refused in favour of new work. When memory is low, a tenant above its share
// may not start tasks, and when it is lower, no calls. A tenant below its share may do both until
// memory is exhausted. Work that was started is answered, can be polled and ended. When memory is
// free again, everything is as before.
func TestLittleMemoryRefusesWhatBegins(t *testing.T) {
	const refused = int64(protocol.CodeRateLimited)
	for _, c := range []struct {
		name  string
		kept  int // the share is 100 KiB
		rows  map[quota.Level][2]any
		count int
	}{
		{"above its share", 101 << 10, map[quota.Level][2]any{
			quota.Elevated: {"result", "result"}, quota.High: {refused, "result"},
			quota.Critical: {refused, refused}, quota.Exhausted: {refused, refused},
		}, 5},
		{"below its share", 90 << 10, map[quota.Level][2]any{
			quota.Elevated: {"result", "result"}, quota.High: {"result", "result"},
			quota.Critical: {"result", "result"}, quota.Exhausted: {refused, refused},
		}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, tasked("optional"), func(r *rig) {
				u := r.ready(`{}`)
				id := member(t, u.ask("tools/call", asTask), "task", "taskId")
				r.kept.Account("acme").Add(quota.Tasks, c.kept)
				for level := quota.Elevated; level <= quota.Exhausted; level++ {
					r.memory.Set(level)
					out := u.ask("tools/call", asTask)
					if out.Word() != c.rows[level][0] ||
						out.Outcome().Error != nil && protocol.RetryAfter(out.Outcome().Error) != level.Retry() {
						t.Errorf("%v: a task %v", level, out.All())
					}
					if out := u.call(); out.Word() != c.rows[level][1] {
						t.Errorf("%v: a call %v", level, out.All())
					}
					for _, end := range []struct{ method, params string }{{"ping", `{}`}, {"tasks/get", about(id)},
						{"resources/unsubscribe", `{"uri":"test://x"}`}} {
						if out := u.ask(end.method, end.params); out.Word() == refused {
							t.Errorf("%v: %s %v", level, end.method, out.All())
						}
					}
				}
				told := 0
				for _, e := range testrig.Of[telemetry.Rejected](&r.Events) {
					if e.Reason == "overloaded" {
						told++
					}
				}
				if told != c.count {
					t.Errorf("%d refusals are counted, want %d", told, c.count)
				}
				if out := u.ask("tasks/cancel", about(id)); out.Word() != "result" {
					t.Errorf("the task %v", out.All())
				}
				r.memory.Set(quota.Normal)
				if out := u.ask("tools/list", `{}`); out.Word() != "result" {
					t.Errorf("afterwards %v", out.All())
				}
			})
		})
	}
}
