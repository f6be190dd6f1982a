package client_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/internal/drops"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
)

// S4-36, I2: calls go out under ids of ours, whatever the clients' ids are, and each answer goes to
// its own exchange. An answer to an id that is not in flight is dropped and counted.
func TestAnswersGoToTheirExchanges(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		a, b := r.call("one"), r.call("two")
		first, second := p.Expect("tools/call"), p.Expect("tools/call")
		if first.ID == second.ID {
			t.Errorf("both under %s", first.ID.Raw())
		}
		p.Reply(second, `{"n":2}`)
		p.Refuse(first, -31042, "theirs")
		p.Reply(second, `{"n":3}`)
		var answered *jsonrpc.Error
		if got := r.outcome(a); !errors.As(got.Err, &answered) || answered.Code != -31042 {
			t.Errorf("a: %v", got.Err)
		}
		if got := r.outcome(b); string(got.Result) != `{"n":2}` || got.ToolError {
			t.Errorf("b: %s", got.Result)
		}
		if dropped := testrig.Of[telemetry.ReplyDropped](&r.Events); len(dropped) != 1 ||
			dropped[0].Reason != "unknown" {
			t.Errorf("dropped: %v", dropped)
		}
	})
}

// F21: answers to no call make one event at first and one a second, however many they are.
func TestUnknownAnswersAreSummed(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		r.call("one")
		asked := p.Expect("tools/call")
		for range 50 {
			p.Reply(asked, `{"n":1}`)
		}
		r.WaitIdle()
		time.Sleep(drops.Every)
		r.WaitIdle()
		dropped := testrig.Of[telemetry.ReplyDropped](&r.Events)
		if len(dropped) != 2 || dropped[0].Count != 1 || dropped[1].Count != 48 ||
			dropped[1].Reason != "unknown" || dropped[1].Server != "files" {
			t.Errorf("dropped: %+v", dropped)
		}
	})
}

// The client of a call that ended while it waited for its server was told that it was not executed.
// So it is no longer written, however late its withdrawal comes.
func TestCallThatHasEndedIsNotWritten(t *testing.T) {
	run(t, nil, func(r *rig) {
		ended, goes := r.call("one"), r.call("one")
		if ended.BeginEnd() {
			t.Error("it was written to a server that is not there")
		}
		p := r.ready(`{"tools":{}}`)
		p.Reply(p.Expect("tools/call"), `{"n":1}`)
		if got := r.outcome(goes); string(got.Result) != `{"n":1}` {
			t.Errorf("the other: %v", got)
		}
		r.send(&request.Withdraw{ID: ended.ID})
		r.WaitIdle()
		if got := len(r.outcomes()); got != 1 {
			t.Errorf("%d outcomes", got)
		}
		if !goes.BeginEnd() {
			t.Error("the other was written, and does not say so")
		}
	})
}

// A result shows how it is to be counted, and may be rewritten for its client.
func TestResultIsRewrittenAndCounted(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		r.next++
		x := &request.Exchange{
			ID: r.next, Session: "one", Owner: r.Ref("one"), Method: "tools/call",
			Params: jsontext.Value(`{}`), Sink: &testrig.Sink{},
			Rewrite: func(v jsontext.Value) jsontext.Value { return jsontext.Value(`{"rewritten":true}`) },
		}
		r.take(x)
		r.send(&request.Forward{Exchange: x})
		time.Sleep(time.Second)
		p.Reply(p.Expect("tools/call"), `{"content":[],"isError":true}`)
		if got := r.outcome(x); !got.ToolError || string(got.Result) != `{"rewritten":true}` ||
			got.Waited != time.Second {
			t.Errorf("got %+v", got)
		}
	})
}

// I10, F35: progress reaches the call whose token it carries, under the client's own token, and
// starts the call's time-out anew. Other progress is dropped and counted.
func TestProgressReachesItsCall(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		quiet := r.call("one")
		r.next++
		out := &testrig.Sink{}
		x := &request.Exchange{
			ID: r.next, Session: "two", Owner: r.Ref("two"), Method: "tools/call", Sink: out,
			Params: jsontext.Value(`{"_meta":{"progressToken":"mine"}}`), Token: jsontext.Value(`"mine"`),
			Arrived: time.Now(), Timeout: 10 * time.Second, MaxTimeout: time.Minute,
		}
		r.take(x)
		begun := time.Now()
		r.send(&request.Forward{Exchange: x})
		plain, m := p.Expect("tools/call"), p.Expect("tools/call")
		token, _ := jsonedit.Get(m.Params, "_meta", "progressToken")
		if string(token) == `"mine"` || len(token) == 0 {
			t.Errorf("the server was given the token %s", token)
		}
		time.Sleep(time.Second)
		p.Notify(jsonrpc.ID{}, "notifications/progress",
			`{"progressToken":`+string(token)+`,"progress":1}`)
		p.Notify(jsonrpc.ID{}, "notifications/progress",
			`{"progressToken":`+plain.ID.Raw()+`,"progress":2}`)
		p.Notify(jsonrpc.ID{}, "notifications/progress", `{"progressToken":"unknown","progress":3}`)
		p.Notify(jsonrpc.ID{}, "notifications/progress", `{"progress":4}`)
		if sent := out.Sent(); len(sent) != 1 ||
			string(sent[0].Params) != `{"progressToken":"mine","progress":1}` {
			t.Errorf("sent %v", sent)
		}
		// The TypeScript SDK reads such a string as a number.
		p.Notify(jsonrpc.ID{}, "notifications/progress",
			`{"progressToken":"0`+string(token)+`","progress":5}`)
		if sent := out.Sent(); len(sent) != 2 ||
			string(sent[1].Params) != `{"progressToken":"mine","progress":5}` {
			t.Errorf("sent %v", sent)
		}
		if sent := quiet.Sink.(*testrig.Sink).Sent(); len(sent) != 0 {
			t.Errorf("a call that asked for none was sent %v", sent)
		}
		if got := r.deadline(x).Sub(begun); got != 11*time.Second {
			t.Errorf("its deadline is %v after it began, want that of the report", got)
		}
		if got := r.deadline(quiet).Sub(begun); got > protocol.RequestTimeout {
			t.Errorf("the deadline of the other is %v after it began", got)
		}
		time.Sleep(drops.Every)
		if dropped := testrig.Of[telemetry.NotificationDropped](&r.Events); len(dropped) != 2 ||
			dropped[0].Count+dropped[1].Count != 3 {
			t.Errorf("dropped: %v", dropped)
		}
	})
}

// S4-61, F29, F30: the server is told once that a call was given up, under the id that it knows.
// Its later answer is dropped.
func TestWithdrawnCallIsCancelledAtTheServer(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		x := r.call("one")
		m := p.Expect("tools/call")
		r.send(&request.Withdraw{ID: x.ID, Reason: "timeout"})
		r.send(&request.Withdraw{ID: x.ID, Reason: "timeout"})
		c := p.Expect("notifications/cancelled")
		if id, _ := jsonedit.Get(c.Params, "requestId"); string(id) != m.ID.Raw() {
			t.Errorf("cancelled %s, want %s", c.Params, m.ID.Raw())
		}
		if reason, _ := jsonedit.GetString(c.Params, "reason"); reason != "timeout" {
			t.Errorf("cancelled %s", c.Params)
		}
		p.ExpectNothing(time.Second)
		p.Reply(m, `{}`)
		if got := r.outcomes(); len(got) != 0 {
			t.Errorf("outcomes: %v", got)
		}
	})
}

// F16, F25, I13: a server dies with calls in flight and others queued. The calls in flight are
// answered at once: they may have been executed. A call that changes nothing is sent to the next
// instance, once. Queued calls are sent there too, in order.
func TestServerDiesWithCallsInItsHands(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		x, read := r.call("one"), r.forward("one", "resources/read", `{"uri":"x"}`)
		p.Expect("tools/call")
		p.Expect("resources/read")
		p.Close(&transport.ExitError{Cause: "killed", Signal: "SIGKILL", Stderr: []byte("last words\n")})
		r.WaitIdle()
		waiting := r.call("two")
		got := r.outcome(x)
		if !errors.Is(got.Err, protocol.ConditionUpstreamLost) ||
			!strings.Contains(string(protocol.Translate(got.Err, protocol.V20251125).Data),
				`"maybeExecuted":true`) {
			t.Errorf("the one in its hands: %v", got.Err)
		}
		if !strings.Contains(string(protocol.Translate(got.Err, protocol.V20251125).Data), "last words") {
			t.Errorf("without its last words: %s", protocol.Translate(got.Err, protocol.V20251125).Data)
		}
		p = r.ready(`{"tools":{}}`)
		p.Expect("resources/read")
		p.Reply(p.Expect("tools/call"), `{"which":"waiting"}`)
		if got := r.outcome(waiting); string(got.Result) != `{"which":"waiting"}` {
			t.Errorf("the one that waited: %v", got.Err)
		}
		p.Close(nil)
		if got := r.outcome(read); !errors.Is(got.Err, protocol.ConditionUpstreamLost) {
			t.Errorf("the one that was sent twice: %v", got.Err)
		}
		if n := r.Ref("conn").Incarnation(); n != 3 {
			t.Errorf("incarnation %d", n)
		}
		exits := testrig.Of[telemetry.UpstreamExited](&r.Events)
		if len(exits) != 2 || exits[0].InFlight != 2 || exits[0].Cause != "killed" ||
			exits[0].Stderr != "last words" {
			t.Errorf("events: %+v", exits)
		}
	})
}

// F01: the actor itself crashes. For its calls that is the same as the death of the server, and the
// server does not go on running.
func TestCrashOfTheConnection(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		x := r.call("one")
		p.Expect("tools/call")
		r.Break("conn", "*client.ClientNotification")
		r.send(&client.ClientNotification{Method: "notifications/roots/list_changed"})
		r.Struck()
		if got := r.outcome(x); !errors.Is(got.Err, protocol.ConditionUpstreamLost) {
			t.Errorf("got %v", got.Err)
		}
		p.ExpectClosed()
		r.ready(`{"tools":{}}`)
		if got := r.report(); got.State != client.Ready || got.Incarnation != 2 {
			t.Errorf("report: %+v", got)
		}
	})
}

// Every call has an outcome when the connection is stopped for good. Calls that may have been
// executed are told apart from those that were not.
func TestStopAnswersEveryCall(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		written := r.call("one")
		p.Expect("tools/call")
		p.Close(nil)
		if got := r.outcome(written); !errors.Is(got.Err, protocol.ConditionUpstreamLost) {
			t.Errorf("the one that was written: %v", got.Err)
		}
		waiting := r.call("one")
		if err := r.Tree.Shutdown(r.T.Context()); err != nil {
			t.Error(err)
		}
		if end := waiting.Sink.(*testrig.Sink).Outcome(); end.Error == nil ||
			!strings.Contains(string(end.Error.Data), `"maybeExecuted":false`) {
			t.Errorf("the one that waited: %v", end)
		}
	})
}

// F30: an answer that comes after its call has ended is dropped and counted, with how late it is.
func TestLateAnswerIsCounted(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		x := r.call("one")
		m := p.Expect("tools/call")
		time.Sleep(time.Second)
		x.Settle(request.Outcome{Ending: request.TimedOut, Err: protocol.Timeout(time.Second)})
		p.Reply(m, `{"content":[]}`)
		told := testrig.Of[telemetry.ReplyDropped](&r.Events)
		if len(told) != 1 || told[0].Reason != "late" || told[0].After != time.Second ||
			told[0].Method != "tools/call" || told[0].Server != "files" {
			t.Errorf("told of %+v", told)
		}
		if got := r.outcome(x); got.Ending != request.TimedOut {
			t.Errorf("got %+v", got)
		}
	})
}

// An error that a transport reports for a single request concerns only that request: one that it
// refused, or that broke off.
func TestTransportThatCannotCarryOneCall(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		a, b := r.call("one"), r.call("one")
		first, second := p.Expect("tools/call"), p.Expect("tools/call")
		p.Send(transport.Inbound{RequestID: first.ID, Err: errors.New("http status 500"), Written: true})
		p.Send(transport.Inbound{RequestID: jsonrpc.IntID(99), Err: errors.New("nothing of ours")})
		p.Reply(second, `{}`)
		if got := r.outcome(a); !strings.Contains(string(protocol.Translate(got.Err,
			protocol.V20251125).Data), `"maybeExecuted":true`) {
			t.Errorf("a: %v", got.Err)
		}
		if got := r.outcome(b); got.Err != nil {
			t.Errorf("b: %v", got.Err)
		}
		if n := r.Ref("conn").Incarnation(); n != 1 {
			t.Errorf("incarnation %d", n)
		}
	})
}

// The metrics show the share of the ids that were given out.
func TestShareOfUsedIDsIsShown(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		used := func() (share float64) {
			r.System.Snapshot().Walk(func(n otp.Node) bool {
				if ids, ok := n.Extra.(telemetry.RequestIDUser); ok {
					share = ids.RequestIDUsage()
				}
				return true
			})
			return share * protocol.MaxRequestID
		}
		before := used()
		for range 3 {
			x := r.forward("one", "tools/call", `{"name":"a"}`)
			p.Reply(p.Expect("tools/call"), `{"content":[]}`)
			r.outcome(x)
		}
		if got := used(); before < 1 || got-before < 2.5 || got-before > 3.5 {
			t.Errorf("%v ids were used, and three calls later %v", before, got)
		}
	})
}

// F35: of a flood of progress a client is told some at once, and then the latest a few times a
// second. It is told the last before the answer, which does not wait. Progress that regresses
// replaces none.
func TestProgressFloodIsPaced(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		x := r.untaken("one", "tools/call", `{"name":"a","_meta":{"progressToken":"mine"}}`)
		x.Token, x.Timeout, x.MaxTimeout = jsontext.Value(`"mine"`), 10*time.Second, time.Hour
		r.take(x)
		r.send(&request.Forward{Exchange: x})
		m := p.Expect("tools/call")
		n := 0
		report := func(value int) {
			p.Notify(m.ID, "notifications/progress",
				`{"progressToken":`+m.ID.Raw()+`,"progress":`+strconv.Itoa(value)+`}`)
		}
		sent := func() []jsonrpc.Message { return x.Sink.(*testrig.Sink).Sent() }
		last := func(want int) {
			t.Helper()
			all := sent()
			if got, _ := jsonedit.Get(all[len(all)-1].Params,
				"progress"); string(got) != strconv.Itoa(want) {
				t.Errorf("the last of %d is %s, want %d", len(all), got, want)
			}
		}
		for range client.ProgressBurst {
			n++
			report(n)
		}
		if last(n); len(sent()) != client.ProgressBurst {
			t.Errorf("of the first %d it heard %d", client.ProgressBurst, len(sent()))
		}
		const seconds = 3
		for range seconds * 1000 {
			n++
			report(n)
			report(1)
			time.Sleep(time.Millisecond)
		}
		if got := len(sent()) - client.ProgressBurst; got < seconds*client.ProgressRate-1 ||
			got > seconds*client.ProgressRate+1 {
			t.Errorf("of the flood it heard %d in %d s", got, seconds)
		}
		if got := time.Until(r.deadline(x)); got > 10*time.Second || got < 9*time.Second {
			t.Errorf("its deadline is in %v", got)
		}
		time.Sleep(time.Second)
		last(n) // although nothing follows
		for range client.ProgressBurst + 5 {
			n++
			report(n)
		}
		start := time.Now()
		p.Reply(m, `{}`)
		r.outcome(x)
		if last(n); time.Since(start) != 0 {
			t.Errorf("the answer took %v", time.Since(start))
		}
		count := len(sent())
		report(n + 1)
		time.Sleep(time.Second)
		if got := len(sent()); got != count {
			t.Errorf("after the answer it heard %d", got-count)
		}
		for i, m := range sent()[1:] {
			before, _ := jsonedit.Get(sent()[i].Params, "progress")
			after, _ := jsonedit.Get(m.Params, "progress")
			if a, _ := strconv.Atoi(string(before)); a > 0 {
				if b, _ := strconv.Atoi(string(after)); b <= a {
					t.Errorf("%d after %d", b, a)
				}
			}
		}
	})
}
