package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// A modern client follows the task of a legacy server, is notified of it, and answers its
// questions. The call of a client that cannot follow tasks is refused if the tool requires a task.
func TestModernClientFollowsLegacyTask(t *testing.T) {
	run(t, tasked("required"), func(r *rig) {
		if out := r.caller(`{}`).call(); out.Word() != int64(-32021) {
			t.Errorf("a client that cannot follow: %v", out.All())
		}
		c := r.caller(follows)
		out := c.call()
		id := member(t, out, "taskId")
		if member(t, out, "resultType") != "task" {
			t.Errorf("got %v", out.All())
		}
		if refused := r.caller(`{}`).ask("subscriptions/listen",
			`{"notifications":{"taskIds":["`+id+`"]}}`); refused.Word() != int64(-32021) {
			t.Errorf("listening without the extension: %v", refused.All())
		}
		listen := c.ask("subscriptions/listen", `{"notifications":{"taskIds":["`+id+`","x"]}}`)
		if got := listen.Sent(); len(got) != 1 ||
			!strings.Contains(string(got[0].Params), `"taskIds":["`+id+`"]`) {
			t.Fatalf("acknowledged: %v", got)
		}
		r.doing(`{"taskId":"s-1","status":"input_required"}`)
		p := r.latest("files")
		time.Sleep(time.Second)
		p.Ask(jsonrpc.IntID(9), "elicitation/create",
			`{"message":"?","requestedSchema":{"type":"object","properties":{}},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"s-1"}}}`)
		r.WaitIdle()
		if got := c.ask("tasks/get", about(id)); member(t, got, "inputRequests", "elicit-1",
			"method") != "elicitation/create" {
			t.Fatalf("got %v", got.All())
		}
		if got := c.ask("tasks/update",
			`{"taskId":"`+id+`","inputResponses":{"elicit-1":`+yes+
				`}}`); string(got.Outcome().Result) != `{"resultType":"complete"}` {
			t.Errorf("got %v", got.All())
		}
		p.answer("tasks/result", `{"content":[],"isError":true}`)
		if got := c.ask("tasks/get", about(id)); member(t, got, "result", "resultType") != "complete" ||
			member(t, got, "status") != "completed" {
			t.Errorf("got %v", got.All())
		}
		var states []string
		for _, m := range listen.Sent()[1:] {
			status, _ := jsonedit.GetString(m.Params, "status")
			states = append(states, m.Method+" "+status)
		}
		const each = "notifications/tasks "
		if got := strings.Join(states, ", "); got != each+"input_required, "+each+"working, "+each+
			"completed" {
			t.Errorf("heard %s", got)
		}
	})
}

// A legacy client follows the task of a modern server.
func TestLegacyClientFollowsModernTask(t *testing.T) {
	run(t, extended, func(r *rig) {
		u := r.ready(`{"elicitation":{}}`)
		if out := u.ask("tools/list", ""); member(t, out, "tools", "0", "execution",
			"taskSupport") != "optional" {
			t.Errorf("listed: %v", out.All())
		}
		id := member(t, u.ask("tools/call", asTask), "task", "taskId")
		p := r.latest("files")
		r.doing(`{"resultType":"complete","taskId":"s-1","status":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}`)
		wait := u.ask("tasks/result", about(id))
		time.Sleep(time.Second)
		asked := wait.Sent()
		if len(asked) != 1 || !strings.Contains(string(asked[0].Params), id) {
			t.Fatalf("asked %v", asked)
		}
		r.doing(`{"resultType":"complete","taskId":"s-1","status":"completed","result":{"resultType":"complete","content":[]}}`)
		u.answer(asked[0].ID, yes)
		if got := p.heard("tasks/update"); len(got) != 1 ||
			!strings.Contains(string(got[0].Params), `"k":`+yes) {
			t.Errorf("the server got %v", got)
		}
		time.Sleep(time.Second)
		if _, stays := jsonedit.Get(wait.Outcome().Result, "resultType"); stays ||
			member(t, wait, "_meta", protocol.MetaRelatedTask, "taskId") != id {
			t.Errorf("got %v", wait.All())
		}
	})
}

// A modern server that refuses clients without tasks is called again on behalf of a legacy client,
// which waits for the end of the task.
func TestServerThatInsistsOnTasks(t *testing.T) {
	run(t, func(r *rig) {
		extended(r)
		task := r.script["files"]["tools/call"]
		r.script["files"]["tools/call"] = func(params jsontext.Value) string {
			if _, can := jsonedit.Get(params, "_meta", protocol.MetaClientCapabilities, "extensions",
				protocol.ExtensionTasks); can {
				return task(params)
			}
			return "-32021"
		}
		r.doing(`{"resultType":"complete","taskId":"s-1","status":"completed","result":{"resultType":"complete","content":[]}}`)
	}, func(r *rig) {
		u := r.open("ci", "")
		if out := u.ask("initialize", greeting("2025-06-18", `{}`)); out.Word() != "result" {
			t.Fatal(out.All())
		}
		u.tell("notifications/initialized", "")
		r.WaitIdle()
		out := u.call()
		if out.Word() != "none" {
			t.Fatalf("at once: %v", out.All())
		}
		time.Sleep(time.Second)
		if string(out.Outcome().Result) != `{"content":[]}` {
			t.Errorf("got %v", out.All())
		}
		left := u.call()
		u.tell("notifications/cancelled", `{"requestId":`+jsonrpc.IntID(u.id).Raw()+`}`)
		time.Sleep(time.Second)
		if left.Word() == "result" {
			t.Errorf("cancelled, and got %v", left.All())
		}
	})
}

// Malformed answers are refused for the tasks of either kind of server.
func TestUpdateInTheWrongShape(t *testing.T) {
	for name, change := range map[string]func(r *rig){"legacy": tasked("required"),
		"modern": extended} {
		t.Run(name, func(t *testing.T) {
			run(t, change, func(r *rig) {
				c := r.caller(follows)
				id := member(t, c.call(), "taskId")
				for _, answers := range []string{`,"inputResponses":5`, `,"inputResponses":[]`,
					`,"inputResponses":null`, ``} {
					if out := c.ask("tasks/update",
						`{"taskId":"`+id+`"`+answers+`}`); out.Word() != int64(-32602) ||
						!strings.Contains(out.Outcome().Error.Message, "inputResponses") {
						t.Errorf("%s: %v", answers, out.All())
					}
				}
				if out := c.ask("tasks/update",
					`{"taskId":"`+id+`","inputResponses":{}}`); out.Word() != "result" {
					t.Errorf("none: %v", out.All())
				}
			})
		})
	}
}

// A client that subscribes to a task of a modern server is notified, although the server announces
// nothing.
func TestListeningToAModernTask(t *testing.T) {
	run(t, extended, func(r *rig) {
		c := r.caller(follows)
		id := member(t, c.call(), "taskId")
		listen := c.ask("subscriptions/listen", `{"notifications":{"taskIds":["`+id+`"]}}`)
		time.Sleep(time.Second)
		r.doing(`{"resultType":"complete","taskId":"s-1","status":"completed","result":{"resultType":"complete","content":[]}}`)
		time.Sleep(time.Minute)
		got := listen.Sent()
		if len(got) != 3 || !strings.Contains(string(got[2].Params), `"content":[]`) ||
			!strings.Contains(string(got[2].Params), id) {
			t.Errorf("heard %v", got)
		}
	})
}
