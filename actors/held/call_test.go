package held_test

import (
	"testing"
	"time"

	"mcpd/actors/held"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// The client is asked by the result of its request, and answers by another request. The server's
// question is open meanwhile, and the call may last longer than otherwise. The outcome goes to the
// second request, under its own id.
func TestQuestionBecomesAResult(t *testing.T) {
	run(t, func(r *rig) {
		r.ask(1, "elicitation/create", form)
		if r.out.Word() != "none" {
			t.Errorf("before its siblings had a chance: %v", r.out.All())
		}
		r.ask(2, "roots/list", "")
		time.Sleep(time.Second)
		required, err := mrtr.Parse(r.out.Outcome().Result)
		if err != nil || len(required.Inputs) != 2 || r.out.Outcome().ID != jsonrpc.StringID("a") {
			t.Fatalf("asked %v: %v", r.out.All(), err)
		}
		if got := testrig.Of[*request.ExtendDeadline](&r.requests.Log); len(got) != 1 || got[0].ID != 7 ||
			got[0].For <= park {
			t.Errorf("parked %v", got)
		}
		if len(r.answers()) != 0 {
			t.Errorf("the server was answered %v", r.answers())
		}
		out := r.retry(r.state(r.out), `{"elicit-1":`+yes+`,"roots-1":{"roots":[]}}`, `{}`)
		if got := r.answers(); len(got) != 2 || got[0].Question != jsonrpc.IntID(1) ||
			string(got[0].Result) != yes || string(got[1].Result) != `{"roots":[]}` {
			t.Errorf("the server was answered %v", got)
		}
		if got := testrig.Of[*request.RestoreDeadline](&r.requests.Log); len(got) != 1 {
			t.Errorf("unparked %v", got)
		}
		if id, ok := r.calls.Of(out); !ok || id != 7 {
			t.Errorf("whose client leaves is found: %d, %t", id, ok)
		}
		r.finish(done)
		if m := out.Outcome(); len(out.All()) != 1 || string(m.Result) != `{"content":[]}` ||
			m.ID != jsonrpc.IntID(1) || len(r.out.All()) != 1 {
			t.Errorf("the outcome: %v", out.All())
		}
		if r.calls.Busy() || r.there() {
			t.Error("the call is over, and something is remembered")
		}
		if replay := r.retry(r.state(r.out), `{"elicit-1":`+yes+`}`,
			`{}`); replay.Word() != int64(-32602) || len(r.answers()) != 2 {
			t.Errorf("a replay: %v, the server %v", replay.All(), r.answers())
		}
	})
}

// Answers that the client leaves out are asked for again, under another state, and the call waits
// anew. In between it counted as waiting once.
func TestMissingAnswersAreAskedForAgain(t *testing.T) {
	run(t, func(r *rig) {
		first := r.asked()
		time.Sleep(park - time.Minute)
		second := r.retry(first, `{"other":{}}`, `{}`)
		token := r.state(second)
		if token == first {
			t.Error("the same state again")
		}
		time.Sleep(park - time.Minute)
		third := r.retry(token, `{"elicit-1":`+yes+`}`, `{}`)
		if third.Word() != "none" || len(r.answers()) != 1 {
			t.Errorf("got %v, the server %v", third.All(), r.answers())
		}
		parked := 0
		for _, msg := range testrig.Of[any](&r.requests.Log) {
			switch msg.(type) {
			case *request.ExtendDeadline:
				parked++
			case *request.RestoreDeadline:
				parked--
			}
			if parked < 0 || parked > 1 {
				t.Errorf("it waits for its user %d times", parked)
			}
		}
		if parked != 0 {
			t.Error("it goes on, and waits for its user")
		}
	})
}

// A state is valid once: while its answers are processed, and afterwards, a replay is refused and
// changes nothing. The leaving of the replay's client changes nothing either. The leaving of the
// client whose request is processed ends the call.
func TestStateIsGoodOnce(t *testing.T) {
	run(t, func(r *rig) {
		token := r.asked()
		out := r.retry(token, `{"elicit-1":`+yes+`}`, `{"io.modelcontextprotocol/logLevel":"info"}`)
		replay := r.retry(token, `{"elicit-1":{"action":"decline"}}`, `{}`)
		if replay.Word() != int64(-32602) || out.Word() != "none" || len(r.answers()) != 1 {
			t.Errorf("the replay %v, the first %v, the server %v", replay.All(), out.All(), r.answers())
		}
		if _, ok := r.calls.Of(replay); ok {
			t.Error("the refused one is remembered")
		}
		r.say("notifications/message", `{"level":"info","data":1}`)
		if len(out.Sent()) != 1 {
			t.Errorf("the first one's log: %v", out.Sent())
		}
		r.send(&held.Gone{Out: replay})
		if r.cancelled() != 0 {
			t.Error("cancelled by a stranger")
		}
		r.send(&held.Gone{Out: out})
		if r.cancelled() != 1 || out.Word() != "cancelled" {
			t.Errorf("withdrawn %d times, %v", r.cancelled(), out.All())
		}
		if late := r.retry(token, `{}`, `{}`); late.Word() != int64(-32602) {
			t.Errorf("after the end: %v", late.All())
		}
	})
}

// A malformed answer is refused, and the state stays valid.
func TestMalformedAnswerIsRefused(t *testing.T) {
	run(t, func(r *rig) {
		token := r.asked()
		if out := r.retry(token, `{"elicit-1":12345}`, `{}`); out.Word() != int64(-32602) ||
			len(r.answers()) != 0 {
			t.Errorf("got %v, the server %v", out.All(), r.answers())
		}
		if out := r.retry(token, `{"elicit-1":`+yes+`}`, `{}`); out.Word() != "none" ||
			len(r.answers()) != 1 {
			t.Errorf("then %v, the server %v", out.All(), r.answers())
		}
	})
}

// A client that declares fewer capabilities when it comes back has declined those questions, and is
// not asked such questions again.
func TestCapabilityThatIsGoneIsADecline(t *testing.T) {
	run(t, func(r *rig) {
		out := r.retryAs(r.asked(), `{}`, `{}`, `{}`)
		if got := r.answers(); len(got) != 1 || string(got[0].Result) != `{"action":"decline"}` ||
			out.Word() != "none" {
			t.Errorf("the server %v, the client %v", got, out.All())
		}
		r.ask(2, "elicitation/create", form)
		if got := r.answers(); len(got) != 2 || got[1].Err == nil || got[1].Err.Code != -32601 {
			t.Errorf("asked again: %v", got)
		}
	})
}

// A client that leaves while its request is open cancels the call: the server is told, and its
// question gets an error.
func TestClientThatLeavesCancels(t *testing.T) {
	run(t, func(r *rig) {
		r.ask(1, "elicitation/create", form)
		r.ask(2, "sampling/createMessage", `{"messages":[],"maxTokens":1}`)
		r.send(&held.Gone{Out: r.out})
		if got := r.answers(); len(got) != 2 || string(got[0].Result) != `{"action":"cancel"}` ||
			got[1].Err == nil || got[1].Err.Code != -1 {
			t.Errorf("the server was answered %v", got)
		}
		if r.out.Word() != "cancelled" || r.cancelled() == 0 || r.there() {
			t.Errorf("got %v, withdrawn %d times, there %t", r.out.All(), r.cancelled(), r.there())
		}
	})
}

// Between its rounds a call cannot be cancelled, because no request is open. Only its time-out ends
// it.
func TestClientThatDoesNotComeBackEndsTheCall(t *testing.T) {
	run(t, func(r *rig) {
		token := r.asked()
		coming, late := r.coming(token, `{"elicit-1":`+yes+`}`, `{}`, every)
		r.send(&held.Gone{Out: r.out})
		if time.Sleep(park - 2*time.Second); r.cancelled() != 0 || len(r.answers()) != 0 {
			t.Errorf("withdrawn %d times, answered %v", r.cancelled(), r.answers())
		}
		time.Sleep(2 * time.Second)
		if got := r.answers(); len(got) != 1 || string(got[0].Result) != `{"action":"cancel"}` ||
			r.cancelled() == 0 || r.there() {
			t.Errorf("answered %v, withdrawn %d times, there %t", got, r.cancelled(), r.there())
		}
		err := r.actor.Send(coming)
		if coming.Fail(err); late.Word() != int64(-32602) || r.calls.Busy() {
			t.Errorf("late: %v", late.All())
		}
	})
}

// An outcome that comes meanwhile, from the server or from its end, is kept for the client and
// delivered once.
func TestOutcomeWaitsForTheClient(t *testing.T) {
	for name, tt := range map[string]struct {
		m    jsonrpc.Message
		want any
	}{
		"result": {done, "result"},
		"error": {jsonrpc.Failure(jsonrpc.IntID(99), &jsonrpc.Error{Code: -5, Message: "no"}),
			int64(-5)},
		"lost": {request.Failure(jsonrpc.IntID(99), protocol.UpstreamLost("files", true, nil),
			protocol.V20260728), int64(-32603)},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				token := r.asked()
				r.finish(tt.m)
				r.ask(2, "elicitation/create", form)
				if got := r.answers(); len(got) != 1 || got[0].Err == nil {
					t.Errorf("asked after its end: %v", got)
				}
				if out := r.retry(token, `{}`, `{}`); out.Word() != tt.want {
					t.Errorf("got %v, want %v", out.All(), tt.want)
				}
				if out := r.retry(token, `{}`, `{}`); out.Word() != int64(-32602) {
					t.Errorf("again: %v", out.All())
				}
				if r.cancelled() != 0 {
					t.Error("withdrawn")
				}
			})
		})
	}
}

// A question that the server withdraws is not asked. If it was asked already, its answer is
// dropped.
func TestQuestionIsTakenBack(t *testing.T) {
	run(t, func(r *rig) {
		r.ask(1, "elicitation/create", form)
		r.send(withdrawn(r, 1))
		if time.Sleep(time.Second); r.out.Word() != "none" {
			t.Errorf("got %v", r.out.All())
		}
		r.ask(2, "elicitation/create", form)
		time.Sleep(time.Second)
		token := r.state(r.out)
		r.send(withdrawn(r, 2))
		if out := r.retry(token, `{"elicit-2":`+yes+`}`, `{}`); out.Word() != "none" ||
			len(r.answers()) != 0 {
			t.Errorf("got %v, the server %v", out.All(), r.answers())
		}
	})
}

// The number of open questions of a call is bounded; further ones are refused.
func TestQuestionsAreBounded(t *testing.T) {
	run(t, func(r *rig) {
		for n := range uint64(mrtr.MaxInputs) {
			r.ask(n, "elicitation/create", form)
		}
		required, err := mrtr.Parse(r.out.Outcome().Result) // with so many it does not wait for more
		if err != nil || len(required.Inputs) != mrtr.MaxInputs {
			t.Errorf("asked %d: %v", len(required.Inputs), err)
		}
		for n := range uint64(1000) {
			r.ask(100+n, "elicitation/create", form)
		}
		if got := r.answers(); len(got) != 1000 || got[0].Err == nil {
			t.Errorf("%d refused", len(got))
		}
		r.ask(5000, "ping", "")
		if got := r.answers(); len(got) != 1001 || got[1000].Err.Code != -32601 {
			t.Errorf("what is no question: %v", got[1000:])
		}
	})
}

// A server that asked for progress of its question gets some.
func TestServerIsReassured(t *testing.T) {
	run(t, func(r *rig) {
		r.ask(1, "elicitation/create", `{"message":"m","requestedSchema":{},"_meta":{"progressToken":5}}`)
		time.Sleep(40 * time.Second)
		if got := tells(r); len(got) != 2 || got[1].Method != "notifications/progress" ||
			string(got[1].Params) != `{"progressToken":5,"progress":2}` {
			t.Errorf("heard %v", got)
		}
	})
}

// A state that cannot be made is an error of this host, and no question is asked.
func TestStateThatCannotBeMade(t *testing.T) {
	standWith(t, empty{}, func(r *rig) {
		r.start()
		r.ask(1, "elicitation/create", form)
		if time.Sleep(time.Second); r.out.Word() != int64(-32603) {
			t.Errorf("got %v", r.out.All())
		}
		if time.Sleep(park); len(r.answers()) != 1 || r.there() {
			t.Errorf("the server %v, there %t", r.answers(), r.there())
		}
	})
}
