package held_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

// empty is a source without randomness.
type empty struct{}

func (empty) Read([]byte) (int, error) { return 0, errors.New("none") }

func tells(r *rig) []*client.ClientNotification {
	return testrig.Of[*client.ClientNotification](&r.conn.Log)
}

func withdrawn(r *rig, id uint64) *client.Withdrawn {
	return &client.Withdrawn{From: r.Ref("conn"), Question: jsonrpc.IntID(id), Call: r.x.ID}
}

// Progress is reported under the token of the client's latest request, if that has one. Of the
// progress in between, the latest is reported then.
func TestProgressFollowsTheClient(t *testing.T) {
	run(t, func(r *rig) {
		const method = "notifications/progress"
		r.say(method, `{"progressToken":"t","progress":1}`)
		if got := r.out.Sent(); len(got) != 1 ||
			string(got[0].Params) != `{"progressToken":"t","progress":1}` {
			t.Errorf("heard %v", got)
		}
		token := r.asked()
		r.say(method, `{"progressToken":"t","progress":2}`)
		r.say(method, `{"progressToken":"t","progress":3}`)
		second := r.retry(token, `{"elicit-1":`+yes+`}`, `{"progressToken":"u"}`)
		r.say(method, `{"progressToken":"t","progress":4}`)
		if got := second.Sent(); len(got) != 2 ||
			string(got[0].Params) != `{"progressToken":"u","progress":3}` ||
			string(got[1].Params) != `{"progressToken":"u","progress":4}` {
			t.Errorf("then heard %v", got)
		}
		r.ask(2, "elicitation/create", form)
		time.Sleep(time.Second)
		third := r.retry(r.state(second), `{"elicit-2":`+yes+`}`, `{}`)
		r.say(method, `{"progressToken":"t","progress":5}`)
		if got := third.Sent(); len(got) != 0 {
			t.Errorf("without a token heard %v", got)
		}
	})
}

// Log lines reach the open request, at the level that it asked for.
func TestLogFollowsTheClient(t *testing.T) {
	run(t, func(r *rig) {
		const method, info, failure = "notifications/message", `{"level":"info","data":1}`,
			`{"level":"error","data":2}`
		if !r.relay.Filters() {
			t.Error("who reads the log does not know that it is looked through here")
		}
		r.say(method, failure) // the first request asked for none
		token := r.asked()
		r.say(method, failure)
		out := r.retry(token, `{"elicit-1":`+yes+`}`, `{"io.modelcontextprotocol/logLevel":"warning"}`)
		r.say(method, info)
		r.say(method, failure)
		if got := out.Sent(); len(got) != 1 || string(got[0].Params) != failure {
			t.Errorf("heard %v", got)
		}
		if got := r.out.Sent(); len(got) != 0 {
			t.Errorf("who asked for none heard %v", got)
		}
	})
}

// S4-61: a message that crashes the actor fails alone. The call continues: its client is asked, and
// its server gets its answer and has its question open as before.
func TestCrashCostsOneMessage(t *testing.T) {
	for _, kind := range []string{"*client.Question", "*client.Withdrawn", "*held.relayed",
		"held.expired"} {
		t.Run(kind, func(t *testing.T) {
			run(t, func(r *rig) {
				r.ask(1, "elicitation/create", form)
				r.Break("held_sup/*", kind)
				switch kind {
				case "*client.Question":
					r.ask(2, "elicitation/create", form)
				case "*client.Withdrawn":
					r.send(withdrawn(r, 2))
				case "*held.relayed":
					r.say("notifications/progress", `{}`)
				}
				time.Sleep(time.Second)
				r.Struck()
				refused := 0
				if kind == "*client.Question" {
					refused = 1
				}
				if got := r.answers(); len(got) != refused ||
					refused > 0 && (got[0].Question != jsonrpc.IntID(2) || got[0].Err == nil) {
					t.Errorf("the server was answered %v", got)
				}
				out := r.retry(r.state(r.out), `{"elicit-1":`+yes+`}`, `{}`)
				if got := r.answers(); len(got) != refused+1 || string(got[refused].Result) != yes {
					t.Errorf("the server was answered %v", got)
				}
				r.finish(done)
				if out.Word() != "result" || len(r.out.All()) != 1 || len(out.All()) != 1 ||
					r.cancelled() != 0 {
					t.Errorf("got %v, withdrawn %d times", out.All(), r.cancelled())
				}
			})
		})
	}
}

// A crash on a retry fails that retry and nothing else. The state stays valid and the call's
// time-out runs on. If the client does not come back, the call ends.
func TestCrashOnARetry(t *testing.T) {
	run(t, func(r *rig) {
		token := r.asked()
		for range 2 {
			r.Break("held_sup/*", "*held.Retry")
			if out := r.retry(token, `{"elicit-1":`+yes+`}`, `{}`); out.Word() != int64(-32603) ||
				len(out.All()) != 1 || r.calls.Busy() {
				t.Errorf("got %v", out.All())
			}
			r.Struck()
		}
		if r.cancelled() != 0 || len(r.answers()) != 0 || !r.there() {
			t.Errorf("withdrawn %d times, answered %v", r.cancelled(), r.answers())
		}
		out := r.retry(token, `{"elicit-1":`+yes+`}`, `{}`)
		if r.finish(done); out.Word() != "result" || len(r.answers()) != 1 {
			t.Errorf("then %v, answered %v", out.All(), r.answers())
		}
	})
	run(t, func(r *rig) {
		token := r.asked()
		r.Break("held_sup/*", "*held.Retry")
		r.retry(token, `{}`, `{}`)
		if time.Sleep(park); r.there() || r.cancelled() == 0 || len(r.answers()) != 1 {
			t.Errorf("there %t, withdrawn %d times, answered %v", r.there(), r.cancelled(), r.answers())
		}
	})
}

// An outcome that crashes the actor is reported as lost, also to a client that comes back later.
func TestCrashOnTheOutcome(t *testing.T) {
	for _, later := range []bool{false, true} {
		run(t, func(r *rig) {
			token := r.asked()
			var out *testrig.Sink
			if !later {
				out = r.retry(token, `{"elicit-1":`+yes+`}`, `{}`)
			}
			r.Break("held_sup/*", "*held.finished")
			r.finish(done)
			r.Struck()
			if later {
				out = r.retry(token, `{}`, `{}`)
			}
			if refusal := out.Outcome().Error; refusal == nil ||
				!strings.Contains(string(refusal.Data), `"maybeExecuted":true`) || len(out.All()) != 1 {
				t.Errorf("got %v", out.All())
			}
		})
	}
}

// An actor that crashes repeatedly is abandoned, and no other with it: all waiting parties get an
// error, and the call is withdrawn.
func TestCrashesWithoutEnd(t *testing.T) {
	run(t, func(r *rig) {
		r.ask(1, "elicitation/create", form)
		for range 6 {
			r.Break("held_sup/*", "*held.relayed")
			_ = r.relay.Send(jsonrpc.Notification("notifications/progress", nil))
			r.WaitIdle()
		}
		if r.out.Word() != int64(-32603) || len(r.out.All()) != 1 || r.cancelled() == 0 || r.there() ||
			!strings.Contains(string(r.out.All()[0].Error.Data), `"maybeExecuted":`) {
			t.Errorf("got %v, withdrawn %d times, there %t", r.out.All(), r.cancelled(), r.there())
		}
		if got := r.answers(); len(got) != 1 || got[0].Err == nil {
			t.Errorf("the server was answered %v", got)
		}
		if _, err := r.attach(); err == nil {
			t.Error("another actor was started for the call")
		}
		if r.finish(done); len(r.out.All()) != 1 {
			t.Errorf("then %v", r.out.All())
		}
		if got := r.Ref("held_sup").Incarnation(); got != 1 {
			t.Errorf("the pool is number %d", got)
		}
	})
}

// A retry that finds the call's mailbox full may be repeated.
func TestRetryThatCannotBeTaken(t *testing.T) {
	run(t, func(r *rig) {
		m, out := r.coming(r.asked(), `{}`, `{}`, every)
		if m.Fail(otp.ErrOverloaded); out.Word() != int64(-32603) && out.Word() != int64(-32010) ||
			r.calls.Busy() {
			t.Errorf("got %v", out.All())
		}
	})
}
