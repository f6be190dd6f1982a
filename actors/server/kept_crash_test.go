package server_test

import (
	"strings"
	"testing"
	"time"

	"mcpd/protocol/jsonrpc"
)

const asksName = `{"message":"?","requestedSchema":{"type":"object","properties":{}},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"s-1"}}}`

// crashes makes the actor of the only task panic on its next message of a kind.
func (r *rig) crashes(kind string, cause func()) {
	r.T.Helper()
	r.Break("task_sup/*", kind)
	cause()
	r.Struck()
	r.WaitIdle()
}

// A task survives its actor: clients that wait for it still get its outcome, its server is called
// only once, and still polled.
func TestTaskOutlivesItsActor(t *testing.T) {
	run(t, tasked("optional"), func(r *rig) {
		u := r.ready(`{}`)
		id := member(t, u.ask("tools/call", asTask), "task", "taskId")
		p := r.peer("files")
		wait := u.ask("tasks/result", about(id))
		r.crashes("task.expired", func() { time.Sleep(time.Second) })
		r.crashes("*request.Forward", func() {
			if out := u.ask("tasks/get", about(id)); out.Outcome().Error == nil || len(out.All()) != 1 {
				t.Errorf("the one it crashed on: %v", out.All())
			}
		})
		// state of the task, which is polled again
		r.crashes("*task.finished", func() { time.Sleep(time.Second) })
		if out := u.ask("tasks/get", about(id)); member(t, out, "status") != "working" ||
			wait.Word() != "none" {
			t.Errorf("got %v, who waits %v", out.All(), wait.All())
		}
		time.Sleep(10 * time.Second) // longer than a connection waits for its former users
		r.finishes(p, `{"content":[{"type":"text","text":"done"}]}`)
		if !strings.Contains(string(wait.Outcome().Result), `"text":"done"`) || len(wait.All()) != 1 {
			t.Errorf("who waited: %v", wait.All())
		}
		r.crashes("*request.Forward", func() { u.ask("tasks/get", about(id)) })
		if out := u.ask("tasks/result", about(id)); !strings.Contains(string(out.Outcome().Result),
			`"text":"done"`) {
			t.Errorf("after a crash when it was over: %v", out.All())
		}
		if out := u.ask("tasks/list", ""); strings.Count(string(out.Outcome().Result), "taskId") != 1 {
			t.Errorf("listed: %v", out.All())
		}
		if len(p.heard("tools/call")) != 1 || len(p.heard("tasks/result")) != 1 ||
			len(p.heard("tasks/cancel")) != 0 {
			t.Errorf("the server heard %v", p.heard(""))
		}
		time.Sleep(time.Minute)
		if out := u.ask("tasks/get", about(id)); out.Word() != int64(-32602) {
			t.Errorf("when its time is over: %v", out.All())
		}
	})
}

// If a client cancels the call that was to become a task, and that crashes the task's actor, the
// call is still cancelled at its server.
func TestWithdrawalThatCrashesATask(t *testing.T) {
	run(t, func(r *rig) {
		tasked("optional")(r)
		silent(r)
	}, func(r *rig) {
		u := r.ready(`{}`)
		out := u.ask("tools/call", asTask)
		p := r.peer("files")
		r.crashes("*request.Withdraw", func() {
			u.tell("notifications/cancelled", `{"requestId":`+jsonrpc.IntID(u.id).Raw()+`}`)
		})
		if got := p.heard("notifications/cancelled"); len(got) != 1 || out.Word() == "result" {
			t.Errorf("the server heard %v, the client %v", got, out.All())
		}
	})
}

// The question of a legacy server stays open over a crash, for a client of either era.
func TestQuestionOutlivesTheTasksActor(t *testing.T) {
	asks := func(r *rig, p *peer) {
		r.doing(`{"taskId":"s-1","status":"input_required"}`)
		time.Sleep(time.Second)
		p.Ask(jsonrpc.IntID(9), "elicitation/create", asksName)
		r.WaitIdle()
	}
	run(t, tasked("optional"), func(r *rig) {
		u := r.ready(`{"elicitation":{}}`)
		id := member(t, u.ask("tools/call", asTask), "task", "taskId")
		p := r.peer("files")
		asks(r, p)
		wait := u.ask("tasks/result", about(id))
		r.crashes("*request.Forward", func() { u.ask("tasks/get", about(id)) })
		asked := wait.Sent()
		if len(asked) != 1 || len(u.heard("notifications/cancelled")) != 0 {
			t.Fatalf("asked %v, and told %v", asked, u.heard(""))
		}
		u.answer(asked[0].ID, yes)
		p.answer("tasks/result", `{"content":[]}`)
		if got := p.answers(); len(got) != 1 || string(got[0].Result) != yes || wait.Word() != "result" {
			t.Errorf("the server got %v, who waits %v", got, wait.All())
		}
	})
	run(t, tasked("required"), func(r *rig) {
		c := r.caller(follows)
		id := member(t, c.call(), "taskId")
		p := r.latest("files")
		asks(r, p)
		r.crashes("*request.Forward", func() { c.ask("tasks/get", about(id)) })
		if got := c.ask("tasks/get", about(id)); member(t, got, "inputRequests", "elicit-1",
			"method") != "elicitation/create" {
			t.Fatalf("got %v", got.All())
		}
		c.ask("tasks/update", `{"taskId":"`+id+`","inputResponses":{"elicit-1":`+yes+`}}`)
		p.answer("tasks/result", `{"content":[]}`)
		if got := p.answers(); len(got) != 1 || string(got[0].Result) != yes {
			t.Errorf("the server got %v", got)
		}
		if got := c.ask("tasks/get", about(id)); member(t, got, "status") != "completed" {
			t.Errorf("got %v", got.All())
		}
	})
}

// If an answer of the client crashes the actor, the question is refused to the server, so that it
// does not stay open for ever.
func TestAnswerThatCrashesATask(t *testing.T) {
	run(t, tasked("optional"), func(r *rig) {
		u := r.ready(`{"elicitation":{}}`)
		id := member(t, u.ask("tools/call", asTask), "task", "taskId")
		p := r.peer("files")
		wait := u.ask("tasks/result", about(id))
		r.doing(`{"taskId":"s-1","status":"input_required"}`)
		time.Sleep(time.Second)
		p.Ask(jsonrpc.IntID(9), "elicitation/create", asksName)
		asked := wait.Sent()
		if len(asked) != 1 {
			t.Fatalf("asked %v", asked)
		}
		r.crashes("*client.Answer", func() { u.answer(asked[0].ID, yes) })
		if got := p.answers(); len(got) != 1 || got[0].Error == nil {
			t.Errorf("the server got %v", got)
		}
		p.answer("tasks/result", `{"content":[]}`)
		if wait.Word() != "result" {
			t.Errorf("who waits: %v", wait.All())
		}
	})
}

// The same holds for a server of the extension, whose question is a member of its task.
func TestTaskOfAModernServerOutlivesItsActor(t *testing.T) {
	run(t, extended, func(r *rig) {
		u := r.ready(`{"elicitation":{"form":{}}}`)
		id := member(t, u.ask("tools/call", asTask), "task", "taskId")
		p := r.latest("files")
		r.doing(`{"resultType":"complete","taskId":"s-1","status":"input_required","inputRequests":{"k":` +
			`{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}`)
		time.Sleep(time.Second)
		r.crashes("*request.Forward", func() { u.ask("tasks/get", about(id)) })
		wait := u.ask("tasks/result", about(id))
		asked := wait.Sent()
		if len(asked) != 1 {
			t.Fatalf("asked %v", asked)
		}
		r.doing(`{"resultType":"complete","taskId":"s-1","status":"completed","result":{"resultType":"complete","content":[]}}`)
		r.crashes("task.expired", func() { time.Sleep(time.Second) })
		u.answer(asked[0].ID, yes)
		time.Sleep(2 * time.Second)
		if wait.Word() != "result" || len(wait.All()) != 1 || len(p.heard("tools/call")) != 1 {
			t.Errorf("got %v, the server was called %d times", wait.All(), len(p.heard("tools/call")))
		}
	})
}

// If the server's answer to the call crashes the actor, the answer is lost. The waiting client is
// told that the call may have been executed, and the call is not repeated. If the client was
// already promised a task, that task has failed.
func TestOutcomeThatCrashesATask(t *testing.T) {
	run(t, tasked("optional"), func(r *rig) {
		u := r.ready(`{}`)
		var out = u.call // it passes, because it asks for no task
		if got := out(); got.Word() != "result" {
			t.Fatal(got.All())
		}
		p := r.peer("files")
		r.crashes("*task.finished", func() {
			made := u.ask("tools/call", asTask)
			if refusal := made.Outcome().Error; refusal == nil ||
				!strings.Contains(string(refusal.Data), `"maybeExecuted":true`) || len(made.All()) != 1 {
				t.Errorf("got %v", made.All())
			}
		})
		if list := u.ask("tasks/list", ""); string(list.Outcome().Result) != `{"tasks":[]}` ||
			len(p.heard("tools/call")) != 2 {
			t.Errorf("listed %v, the server heard %v", list.All(), p.heard("tools/call"))
		}
	})
	run(t, extended, func(r *rig) {
		u := r.ready(`{}`)
		var id string
		r.crashes("*task.finished", func() {
			id = member(t, u.ask("tools/call", asTask), "task", "taskId")
		})
		out := u.ask("tasks/result", about(id))
		if refusal := out.Outcome().Error; refusal == nil ||
			!strings.Contains(string(refusal.Data), `"maybeExecuted":true`) {
			t.Errorf("the outcome is %v", out.All())
		}
		if out := u.ask("tasks/get", about(id)); member(t, out, "status") != "failed" ||
			!strings.Contains(member(t, out, "statusMessage"), "crash") {
			t.Errorf("got %v", out.All())
		}
	})
}

// A call that crashes the actor of its task is answered, and no task exists.
func TestCallThatCrashesItsTask(t *testing.T) {
	run(t, tasked("optional"), func(r *rig) {
		u := r.ready(`{}`)
		r.crashes("*request.Forward", func() {
			if out := u.ask("tools/call", asTask); out.Outcome().Error == nil || len(out.All()) != 1 {
				t.Errorf("got %v", out.All())
			}
		})
		if list := u.ask("tasks/list", ""); string(list.Outcome().Result) != `{"tasks":[]}` {
			t.Errorf("listed %v", list.All())
		}
	})
}

// The answer that announces a task is sent although the task's actor crashes while the task is
// stored.
func TestCrashWhileATaskIsWrittenDown(t *testing.T) {
	var d disk
	run(t, keeps(&d, "", tasked("optional")), func(r *rig) {
		d.stuck = make(chan struct{})
		u := r.ready(`{}`)
		out := u.ask("tools/call", asTask)
		r.crashes("task.written", func() { time.Sleep(100 * time.Millisecond) })
		close(d.stuck)
		r.WaitIdle()
		if id := member(t, out, "task", "taskId"); len(out.All()) != 1 ||
			member(t, u.ask("tasks/get", about(id)), "status") != "working" {
			t.Errorf("got %v", out.All())
		}
	})
}
