package server_test

import (
	"testing"

	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/telemetry"

	"mcpd/actors/internal/stage"
)

// B5: work in hand is never shed before new work. With little memory left a task may not begin, with less no call may; what was begun is
// answered, asked about and ended, and once there is room all is as it was.
func TestLittleMemoryRefusesWhatBegins(t *testing.T) {
	run(t, tasked("optional"), func(r *rig) {
		u := r.ready(`{}`)
		id := member(t, u.ask("tools/call", asTask), "task", "taskId")
		for _, level := range []struct {
			quota.Level
			task, call any
		}{
			{quota.Elevated, "result", "result"}, {quota.High, int64(protocol.CodeRateLimited), "result"},
			{quota.Critical, int64(protocol.CodeRateLimited), int64(protocol.CodeRateLimited)},
		} {
			r.memory.Set(level.Level)
			out := u.ask("tools/call", asTask)
			if out.Word() != level.task || out.End().Error != nil && protocol.RetryAfter(out.End().Error) != level.Retry() {
				t.Errorf("%v: a task %v", level, out.All())
			}
			if out := u.call(); out.Word() != level.call {
				t.Errorf("%v: a call %v", level, out.All())
			}
			for _, end := range []struct{ method, params string }{{"ping", `{}`}, {"tasks/get", about(id)}, {"resources/unsubscribe", `{"uri":"test://x"}`}} {
				if out := u.ask(end.method, end.params); out.Word() == int64(protocol.CodeRateLimited) {
					t.Errorf("%v: %s %v", level, end.method, out.All())
				}
			}
		}
		refused := 0
		for _, e := range stage.Of[telemetry.Rejected](&r.Events) {
			if e.Reason == "overloaded" {
				refused++
			}
		}
		if refused != 3 {
			t.Errorf("%d refusals are counted, want 3", refused)
		}
		if out := u.ask("tasks/cancel", about(id)); out.Word() != "result" {
			t.Errorf("the task %v", out.All())
		}
		r.memory.Set(quota.Normal)
		if out := u.ask("tools/list", `{}`); out.Word() != "result" {
			t.Errorf("afterwards %v", out.All())
		}
	})
}
