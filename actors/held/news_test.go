package held_test

import (
	"errors"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/stage"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

// empty is a source without randomness.
type empty struct{}

func (empty) Read([]byte) (int, error) { return 0, errors.New("none") }

func tells(r *rig) []*client.Tell { return stage.Of[*client.Tell](&r.conn.Log) }

func withdrawn(r *rig, id uint64) *client.Withdrawn {
	return &client.Withdrawn{From: r.Ref("conn"), Question: jsonrpc.IntID(id), Call: r.x.ID}
}

// Progress is reported under the token of the client's latest request, if that has one. What came in between is told then, the latest of it.
func TestProgressFollowsTheClient(t *testing.T) {
	run(t, func(r *rig) {
		const method = "notifications/progress"
		r.say(method, `{"progressToken":"t","progress":1}`)
		if got := r.out.Sent(); len(got) != 1 || string(got[0].Params) != `{"progressToken":"t","progress":1}` {
			t.Errorf("heard %v", got)
		}
		token := r.asked()
		r.say(method, `{"progressToken":"t","progress":2}`)
		r.say(method, `{"progressToken":"t","progress":3}`)
		second := r.retry(token, `{"elicit-1":`+yes+`}`, `{"progressToken":"u"}`)
		r.say(method, `{"progressToken":"t","progress":4}`)
		if got := second.Sent(); len(got) != 2 || string(got[0].Params) != `{"progressToken":"u","progress":3}` || string(got[1].Params) != `{"progressToken":"u","progress":4}` {
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

// Log lines reach the request that is open, at the level that it asked for.
func TestLogFollowsTheClient(t *testing.T) {
	run(t, func(r *rig) {
		const method, info, failure = "notifications/message", `{"level":"info","data":1}`, `{"level":"error","data":2}`
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

// S4-61: an actor that crashes leaves nobody without an answer, and the call is withdrawn. Nothing of it comes back.
func TestCrashAnswersEveryone(t *testing.T) {
	for _, kind := range []string{"*client.Question", "*held.relayed", "*held.finished", "*held.Gone", "held.expired"} {
		t.Run(kind, func(t *testing.T) {
			run(t, func(r *rig) {
				r.ask(1, "elicitation/create", form)
				r.Break("held_sup/*", kind)
				switch kind {
				case "*client.Question":
					r.ask(2, "elicitation/create", form)
				case "*held.relayed":
					r.say("notifications/progress", `{}`)
				case "*held.finished":
					r.finish(done)
				case "*held.Gone":
					r.send(gone(r.out))
				}
				time.Sleep(time.Second)
				r.Struck()
				if r.out.Word() != int64(-32603) || len(r.out.All()) != 1 || r.cancelled() != 1 || r.there() {
					t.Errorf("got %v, withdrawn %d times, there %t", r.out.All(), r.cancelled(), r.there())
				}
				answered := map[jsonrpc.ID]int{}
				for _, a := range r.answers() {
					answered[a.Question]++
				}
				if answered[jsonrpc.IntID(1)] != 1 || kind == "*client.Question" && answered[jsonrpc.IntID(2)] != 1 {
					t.Errorf("the server was answered %v", r.answers())
				}
				if _, err := r.attach(); err == nil {
					t.Error("another actor was started for the call")
				}
				r.finish(done)
				if len(r.out.All()) != 1 {
					t.Errorf("then %v", r.out.All())
				}
			})
		})
	}
}

// A crash on a retry answers it, also when it came between two rounds; the state is no good any more.
func TestCrashOnARetry(t *testing.T) {
	run(t, func(r *rig) {
		token := r.asked()
		r.Break("held_sup/*", "*held.Retry")
		out := r.retry(token, `{"elicit-1":`+yes+`}`, `{}`)
		r.Struck()
		if out.Word() != int64(-32602) || r.calls.Busy() || r.cancelled() != 1 || len(r.answers()) != 1 {
			t.Errorf("got %v, withdrawn %d times, answered %v", out.All(), r.cancelled(), r.answers())
		}
	})
}

// A retry that finds the call's mailbox full may be repeated.
func TestRetryThatCannotBeTaken(t *testing.T) {
	run(t, func(r *rig) {
		m, out := r.coming(r.asked(), `{}`, `{}`, every)
		if m.Fail(otp.ErrOverloaded); out.Word() != int64(-32603) && out.Word() != int64(-32010) || r.calls.Busy() {
			t.Errorf("got %v", out.All())
		}
	})
}
