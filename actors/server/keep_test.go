package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/task"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

const (
	asTask  = `{"name":"files__read","task":{"ttl":60000}}`
	follows = `{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
)

// tasked makes "files" a server with tasks of 2025-11-25. Its tool has the given task support.
func tasked(support string) func(r *rig) {
	return func(r *rig) {
		files := r.script["files"]
		files["initialize"] = offers(
			`{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}}`,
		)
		files["tools/list"] = result(
			`{"tools":[{"name":"read","inputSchema":{"type":"object"},"execution":{"taskSupport":"` +
				support + `"}}]}`,
		)
		files["tools/call"] = func(params jsontext.Value) string {
			if _, asked := jsonedit.Get(params, "task"); asked {
				return `{"task":{"taskId":"s-1","status":"working","ttl":60000,"pollInterval":1000}}`
			}
			return `{"content":[]}`
		}
		r.doing(`{"taskId":"s-1","status":"working"}`)
		files["tasks/get"] = r.tasksGet
		files["tasks/result"], files["tasks/cancel"] = nil,
			result(`{"taskId":"s-1","status":"cancelled"}`)
	}
}

// extended makes "files" a server with tasks of the extension.
func extended(r *rig) {
	modern(r)
	files := r.script["files"]
	files["server/discover"] = result(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],` +
		`"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`)
	files["tools/call"] = result(
		`{"resultType":"task","taskId":"s-1","status":"working","ttlMs":60000}`,
	)
	r.doing(`{"resultType":"complete","taskId":"s-1","status":"working"}`)
	files["tasks/get"] = r.tasksGet
	files["tasks/update"] = result(`{"resultType":"complete"}`)
	files["tasks/cancel"] = result(`{"resultType":"complete"}`)
}

// doing sets the state of the server's task.
func (r *rig) doing(task string) { r.task.Store(&task) }

func (r *rig) tasksGet(jsontext.Value) string { return *r.task.Load() }

func member(t *testing.T, out *testrig.Sink, path ...string) string {
	t.Helper()
	text, ok := jsonedit.GetString(out.Outcome().Result, path...)
	if !ok {
		t.Fatalf("no %v in %v", path, out.All())
	}
	return text
}

func about(id string) string { return `{"taskId":"` + id + `"}` }

// Tasks of 2025-11-25 at both ends: the client never sees the server's id, and is told the state of
// the task.
func TestTasksOfBothLegacyEnds(t *testing.T) {
	run(t, tasked("optional"), func(r *rig) {
		u := r.ready(`{"elicitation":{}}`)
		id := member(t, u.ask("tools/call", asTask), "task", "taskId")
		p := r.peer("files")
		if got := p.heard("tools/call"); len(got) != 1 ||
			!strings.Contains(string(got[0].Params), `"task":{"ttl":60000}`) {
			t.Errorf("the server got %v", got)
		}
		if out := u.ask("tasks/get", about(id)); id == "s-1" || member(t, out, "taskId") != id ||
			member(t, out, "status") != "working" {
			t.Errorf("got %v", out.All())
		}
		if out := u.ask("tasks/list", ""); strings.Count(string(out.Outcome().Result), id) != 1 {
			t.Errorf("listed: %v", out.All())
		}
		r.doing(`{"taskId":"s-1","status":"input_required"}`)
		time.Sleep(time.Second)
		p.Ask(jsonrpc.IntID(9), "elicitation/create",
			`{"message":"?","requestedSchema":{"type":"object","properties":{}},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"s-1"}}}`)
		r.WaitIdle()
		if got := u.heard("notifications/tasks/status"); len(got) != 1 ||
			!strings.Contains(string(got[0].Params), "input_required") {
			t.Errorf("told of %v", got)
		}
		wait := u.ask("tasks/result", about(id))
		asked := wait.Sent()
		if len(asked) != 1 || !strings.Contains(string(asked[0].Params), id) {
			t.Fatalf("asked %v", asked)
		}
		u.answer(asked[0].ID, yes)
		if got := p.answers(); len(got) != 1 || string(got[0].Result) != yes {
			t.Errorf("the server got %v", got)
		}
		p.answer(
			"tasks/result",
			`{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"s-1"}}}`,
		)
		if got := member(t, wait, "_meta", protocol.MetaRelatedTask, "taskId"); got != id {
			t.Errorf("related to %s, want %s", got, id)
		}
		if out := u.ask("tasks/cancel", about(id)); out.Word() != int64(-32602) {
			t.Errorf("cancelled when it was over: %v", out.All())
		}
		time.Sleep(time.Minute)
		if out := u.ask("tasks/get", about(id)); out.Word() != int64(-32602) {
			t.Errorf("when the ttl was over: %v", out.All())
		}
		if out := u.ask("tasks/list", ""); string(out.Outcome().Result) != `{"tasks":[]}` {
			t.Errorf("listed then: %v", out.All())
		}
	})
}

// If the server has received the call of a task and does not answer, the client is told that the
// call may have been executed.
func TestACallForATaskThatIsNotAnsweredMayHaveBeenExecuted(t *testing.T) {
	run(t, func(r *rig) {
		tasked("optional")(r)
		silent(r)
	}, func(r *rig) {
		u := r.ready(`{}`)
		out := u.ask("tools/call", asTask)
		time.Sleep(2 * time.Minute)
		if got := r.peer("files").heard("tools/call"); len(got) != 1 || out.Outcome().Error == nil {
			t.Fatalf("the server got %v, the client %v", got, out.All())
		}
		if maybe, _ := jsonedit.Get(out.Outcome().Error.Data, "maybeExecuted"); string(maybe) != "true" {
			t.Errorf("got %s", out.Outcome().Error.Data)
		}
	})
}

// A malformed request for a task is refused, if tasks are offered (2025-11-25, TaskMetadata).
func TestTasksAskedForInTheWrongShape(t *testing.T) {
	run(t, tasked("optional"), func(r *rig) {
		u := r.ready(`{}`)
		for params, names := range map[string]string{
			`5`: "params.task ", `"x"`: "params.task ", `[]`: "params.task ",
			`{"ttl":"x"}`: "params.task.ttl ", `{"ttl":-1}`: "params.task.ttl ",
			`{"ttl":{}}`: "params.task.ttl ",
		} {
			out := u.ask("tools/call", `{"name":"files__read","task":`+params+`}`)
			if out.Word() != int64(-32602) || !strings.Contains(out.Outcome().Error.Message, names) {
				t.Errorf("%s: %v", params, out.All())
			}
		}
		if got := r.peer("files").heard("tools/call"); len(got) != 0 {
			t.Errorf("the server got %v", got)
		}
		for _, params := range []string{`{}`, `null`, `{"ttl":null}`, `{"ttl":1e18}`, `{"ttl":0.5}`} {
			if out := u.ask("tools/call",
				`{"name":"files__read","task":`+params+`}`); out.Word() != "result" {
				t.Errorf("%s: %v", params, out.All())
			}
		}
		if out := r.caller(follows).ask("tools/call",
			`{"name":"files__read","task":5}`); out.Word() != "result" {
			t.Errorf("a modern client, for which the member has no meaning: %v", out.All())
		}
	})
}

// S47: the id of a task is valid for its principal, its dialect, its server and its time. The error
// for an invalid id is always the same, and reveals nothing.
func TestTaskIDsAreTheirOwners(t *testing.T) {
	run(t, tasked("optional"), func(r *rig) {
		u := r.ready(`{}`)
		id := member(t, u.ask("tools/call", asTask), "task", "taskId")
		other, elsewhere := r.open("ann", ""), r.open("ci", "search")
		other.shake(`{}`)
		elsewhere.shake(`{}`)
		again := r.ready(`{}`)
		if out := again.ask("tasks/get", about(id)); member(t, out, "status") != "working" {
			t.Errorf("another session of the principal: %v", out.All())
		}
		if out := other.ask("tasks/list", ""); string(out.Outcome().Result) != `{"tasks":[]}` {
			t.Errorf("somebody else's list: %v", out.All())
		}
		var said []string
		for name, out := range map[string]*testrig.Sink{
			"another principal": other.ask("tasks/get", about(id)),
			"its result":        other.ask("tasks/result", about(id)),
			"its end":           other.ask("tasks/cancel", about(id)),
			"tampered":          u.ask("tasks/get", about(id[:len(id)-4]+"AAAA")),
			"the server's own":  u.ask("tasks/get", about("s-1")),
			"made up":           u.ask("tasks/get", about("x")),
			"another dialect":   r.caller(follows).ask("tasks/get", about(id)),
		} {
			if out.Word() != int64(-32602) {
				t.Errorf("%s: %v", name, out.All())
				continue
			}
			said = append(said, out.Outcome().Error.Message+string(out.Outcome().Error.Data))
		}
		for _, text := range said {
			if text != said[0] {
				t.Errorf("%q is not %q", text, said[0])
			}
		}
		if out := elsewhere.ask("tasks/get", about(id)); out.Word() == "result" {
			t.Errorf("at another server: %v", out.All())
		}
		if got := r.peer("files").heard("tasks/cancel"); len(got) != 0 {
			t.Errorf("the server was told %v", got)
		}
	})
}

// The running tasks of a principal are bounded. One that is forgotten makes room.
func TestTasksAreBounded(t *testing.T) {
	run(t, tasked("optional"), func(r *rig) {
		u := r.ready(`{}`)
		for n := range task.MaxPrincipal {
			if out := u.ask("tools/call", asTask); out.Word() != "result" {
				t.Fatalf("%d: %v", n, out.All())
			}
		}
		out := u.ask("tools/call", asTask)
		if out.Word() == "result" || out.Outcome().Error == nil {
			t.Fatalf("one more: %v", out.All())
		}
		if _, said := jsonedit.Get(out.Outcome().Error.Data, "retryAfterMs"); !said {
			t.Errorf("not told when to come back: %s", out.Outcome().Error.Data)
		}
		time.Sleep(time.Minute)
		r.WaitIdle() // the tasks end at this very moment
		if out := u.ask("tools/call", asTask); out.Word() != "result" {
			t.Errorf("later: %v", out.All())
		}
	})
}

// A finished task makes room for another: first the oldest whose outcome the client has read, then
// the oldest.
func TestFinishedTasksMakeRoom(t *testing.T) {
	run(t, func(r *rig) {
		tasked("required")(r)
		r.script["files"]["tasks/result"] = result(`{"content":[]}`)
	}, func(r *rig) {
		u := r.ready(`{}`)
		var ids []string
		for range task.MaxPrincipal {
			ids = append(ids, member(t, u.ask("tools/call", asTask), "task", "taskId"))
		}
		r.doing(`{"taskId":"s-1","status":"completed"}`)
		time.Sleep(2 * time.Second)
		if out := u.ask("tasks/result", about(ids[5])); out.Word() != "result" {
			t.Fatal(out.All())
		}
		// tasks/get does not return the outcome
		if out := u.ask("tasks/get", about(ids[7])); member(t, out, "status") != "completed" {
			t.Fatal(out.All())
		}
		there := func() (gone []int) {
			list := string(u.ask("tasks/list", "").Outcome().Result)
			for i, id := range ids {
				if out := u.ask("tasks/get", about(id)); out.Word() != "result" {
					gone = append(gone, i)
				}
				if strings.Contains(list, id) != (len(gone) == 0 || gone[len(gone)-1] != i) {
					t.Errorf("%d is listed, or is not, and is there otherwise", i)
				}
			}
			return gone
		}
		for _, want := range []string{"[5]", "[0 5]", "[0 1 5]"} {
			if out := u.ask("tools/call", asTask); out.Word() != "result" {
				t.Fatalf("one more: %v", out.All())
			}
			if gone := fmt.Sprint(there()); gone != want {
				t.Errorf("%s are gone, want %s", gone, want)
			}
		}
		old := r.open("ci", "")
		old.ask("initialize", greeting("2025-06-18", `{}`))
		old.tell("notifications/initialized", "")
		r.WaitIdle()
		out := old.call()
		time.Sleep(2 * time.Second)
		if out.Word() != "result" {
			t.Errorf("a client without tasks: %v", out.All())
		}
	})
}

// The connection to the server stays open while the task runs, whatever happens to the session that
// made the task.
func TestTaskOutlivesItsSession(t *testing.T) {
	run(t, tasked("optional"), func(r *rig) {
		u := r.ready(`{}`)
		id := member(t, u.ask("tools/call", asTask), "task", "taskId")
		p := r.peer("files")
		if err := u.h.Close(r.T.Context()); err != nil {
			t.Fatal(err)
		}
		r.doing(`{"taskId":"s-1","status":"completed"}`)
		time.Sleep(10 * time.Second)
		p.answer("tasks/result", `{"content":[]}`)
		if out := r.ready(`{}`).ask("tasks/get", about(id)); member(t, out, "status") != "completed" {
			t.Errorf("got %v", out.All())
		}
	})
}
