package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
	"mcpd/transport"
)

// S4-39, S4-51, S2-10, S4-104: dial, initialize, initialized, lists and ready follow in this order,
// and everybody who should is told of them. A list that a server does not declare is not asked for
// (S1-12).
func TestHandshakeLearnsTheServer(t *testing.T) {
	run(t, declares(`{"sampling":{}}`), func(r *rig) {
		p := r.server()
		params := p.Handshake(`{"tools":{"listChanged":true},"logging":{}}`)
		if v, _ := jsonedit.GetString(params, "protocolVersion"); v != "2025-11-25" {
			t.Errorf("proposed %s", params)
		}
		if _, ok := jsonedit.Get(params, "capabilities", "sampling"); !ok {
			t.Errorf("declared %s", params)
		}
		list := p.Expect("tools/list")
		p.Reply(list, `{"tools":[{"name":"a"}],"nextCursor":"x"}`)
		next := p.Expect("tools/list")
		if got, _ := jsonedit.GetString(next.Params, "cursor"); got != "x" {
			t.Errorf("second page asked with %s", next.Params)
		}
		p.Reply(next, `{"tools":[{"name":"b"}]}`)
		r.WaitIdle()
		got := r.report()
		if got.State != client.Ready || got.Facts.Version != protocol.V20251125 ||
			got.Facts.Server.Name != "peer" || !got.Facts.Capabilities.Has("logging") {
			t.Errorf("report: %+v", got)
		}
		if tools := got.Lists[catalog.Tools]; len(tools) != 2 || string(tools[1]) != `{"name":"b"}` {
			t.Errorf("tools: %s", tools)
		}
		if want := []client.State{client.Starting, client.Ready}; !slices.Equal(r.states(), want) {
			t.Errorf("states %v, want %v", r.states(), want)
		}
		if ready := testrig.Of[telemetry.UpstreamReady](&r.Events); len(ready) != 1 ||
			ready[0].Revision != "2025-11-25" || ready[0].Incarnation != 1 {
			t.Errorf("events: %+v", ready)
		}
		p.ExpectNothing(time.Minute)
	})
}

// F37: a server whose pages never end is listed up to the bound.
func TestListIsBounded(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.server()
		p.Handshake(`{"tools":{}}`)
		for n := range client.MaxPages {
			p.Reply(p.Expect("tools/list"),
				fmt.Sprintf(`{"tools":[{"name":"t%d"}],"nextCursor":"again"}`, n))
		}
		p.ExpectNothing(time.Second)
		if got := len(r.report().Lists[catalog.Tools]); got != client.MaxPages ||
			r.report().State != client.Ready {
			t.Errorf("%d tools in state %s", got, r.report().State)
		}
		r.cuts(catalog.Cut{Reason: catalog.ManyPages})
	})
}

// A list ends, and is marked as cut, when a page comes again with the same cursor. An empty cursor
// ends it too, as the clients of most SDKs read it.
func TestListEndsWhereItBeginsAnew(t *testing.T) {
	const a, b = `{"tools":[{"name":"a"}],"nextCursor":`, `{"tools":[{"name":"b"}],"nextCursor":`
	for name, tt := range map[string]struct {
		pages []string
		want  int
		cuts  []catalog.Cut
	}{
		"an empty cursor":       {[]string{a + `""}`}, 1, nil},
		"an empty cursor later": {[]string{a + `"x"}`, b + `""}`}, 2, nil},
		"the same again": {[]string{a + `"x"}`, a + `"x"}`}, 1, []catalog.Cut{
			{Reason: catalog.Loop},
		}},
		"the same after another": {[]string{a + `"x"}`, b + `"y"}`, a + `"x"}`}, 2, []catalog.Cut{
			{Reason: catalog.Loop},
		}},
		"the same cursor, other items": {[]string{a + `"x"}`, b + `"x"}`, `{"tools":[]}`}, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				p := r.server()
				p.Handshake(`{"tools":{}}`)
				for _, page := range tt.pages {
					p.Reply(p.Expect("tools/list"), page)
				}
				p.ExpectNothing(time.Second)
				got := r.report()
				if n := len(got.Lists[catalog.Tools]); n != tt.want || got.State != client.Ready {
					t.Errorf("%d tools in state %s, want %d", n, got.State, tt.want)
				}
				if len(tt.cuts) > 0 && !strings.Contains(got.Shortfalls[catalog.Tools].Words, "cursor") {
					t.Errorf("told %+v", got.Shortfalls[catalog.Tools])
				}
				r.cuts(tt.cuts...)
			})
		})
	}
}

// A list of 5,000 items in pages of 20 is read completely, and nothing of it is left out.
func TestLongListIsReadToItsEnd(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.server()
		p.Handshake(`{"tools":{}}`)
		for n := range 250 {
			page := []string{}
			for i := range 20 {
				page = append(page, fmt.Sprintf(`{"name":"t%d"}`, 20*n+i))
			}
			more := `,"nextCursor":"more"`
			if n == 249 {
				more = ""
			}
			p.Reply(p.Expect("tools/list"), `{"tools":[`+strings.Join(page, ",")+`]`+more+`}`)
		}
		p.ExpectNothing(time.Second)
		if got := r.report(); len(got.Lists[catalog.Tools]) != 5000 || got.State != client.Ready {
			t.Errorf("%d tools in state %s", len(got.Lists[catalog.Tools]), got.State)
		}
		r.cuts()
	})
}

// No more of a list is asked for than will be shown, and no more is kept than a message may have.
func TestListIsNotReadToItsEnd(t *testing.T) {
	many := `{"name":"t"}` + strings.Repeat(`,{"name":"t"}`, catalog.MaxItems/2)
	item := `{"name":"t","x":"` + strings.Repeat("x", catalog.MaxItem/2) + `"}`
	large := item + strings.Repeat(","+item, client.MaxList/len(item)/2)
	for name, tt := range map[string]struct {
		page string
		cut  catalog.Cut
	}{
		"many items": {many, catalog.Cut{Reason: catalog.ManyItems, Count: 2, First: "t"}},
		"large ones": {large, catalog.Cut{Reason: catalog.ManyBytes}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				p := r.server()
				p.Handshake(`{"tools":{}}`)
				for n := range 2 {
					page := fmt.Sprintf(`{"tools":[%s],"nextCursor":"more%d"}`, tt.page, n)
					p.Reply(p.Expect("tools/list"), page)
				}
				p.ExpectNothing(time.Second)
				got := r.report()
				if n := len(got.Lists[catalog.Tools]); got.State != client.Ready ||
					n < client.MaxList/len(item) || n > catalog.MaxItems {
					t.Errorf("%d tools in state %s", n, got.State)
				}
				r.cuts(tt.cut)
			})
		})
	}
}

// cuts checks which cut lists an operator was told of.
func (r *rig) cuts(want ...catalog.Cut) {
	r.T.Helper()
	var got []catalog.Cut
	for _, e := range testrig.Of[telemetry.ListCut](&r.Events) {
		if e.Tenant != "acme" || e.Server != "files" || e.List != "tools" {
			r.T.Errorf("told %+v", e)
		}
		got = append(got, catalog.Cut{
			Reason: catalog.Reason(e.Reason), Count: int(e.Count), First: e.First,
		})
	}
	if !slices.Equal(got, want) {
		r.T.Errorf("told of %+v, want %+v", got, want)
	}
}

// A tool that says too much is cut or left out for clients that see many servers as one. Clients
// that see this server as it is get the tool as it is. The operator is told once, and again when
// the tool changes.
func TestToolsThatSayTooMuch(t *testing.T) {
	tools := func(n int) string {
		long := fmt.Sprintf(`{"description":%q,"name":"long"}`,
			strings.Repeat("é", catalog.MaxDescription/2+1))
		huge := `{"name":"huge","inputSchema":{"x":"` + strings.Repeat("x", catalog.MaxSchema) + `"}}`
		return `{"tools":[{"name":"ok" }` + strings.Repeat(","+long, n) + `,` + huge + `]}`
	}
	run(t, nil, func(r *rig) {
		p := r.server()
		p.Handshake(`{"tools":{}}`)
		p.Reply(p.Expect("tools/list"), tools(1))
		r.WaitIdle()
		long, huge := catalog.Cut{Reason: catalog.LongDescription, Count: 1, First: "long"}, catalog.Cut{
			Reason: catalog.LargeSchema, Count: 1, First: "huge",
		}
		list := r.report().Lists[catalog.Tools]
		if len(list) != 2 || string(list[0]) != `{"name":"ok" }` ||
			!strings.HasSuffix(string(list[1]), `é…","name":"long"}`) {
			t.Errorf("listed %.100s", list)
		}
		r.cuts(long, huge)
		for _, n := range []int{1, 2} {
			p.Notify(jsonrpc.ID{}, "notifications/tools/list_changed", "")
			p.Reply(p.Expect("tools/list"), tools(n))
			r.WaitIdle()
		}
		r.cuts(long, huge, catalog.Cut{Reason: catalog.LongDescription, Count: 2, First: "long"})
		x := r.forward("one", "tools/list", `{}`)
		p.Reply(p.Expect("tools/list"), tools(1))
		if got := r.outcome(x); got.Err != nil || string(got.Result) != tools(1) {
			t.Errorf("a client that sees this server as it is gets %.200s, %v", got.Result, got.Err)
		}
	})
}

// A server that refuses a list, or never sends it, can be used without it (S2-3, S4-5).
func TestServerWithoutItsListIsReady(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.server()
		p.Handshake(`{"tools":{},"prompts":{}}`)
		p.Refuse(p.Expect("tools/list"), -32603, "broken")
		p.Expect("prompts/list")
		time.Sleep(client.ListGrace - time.Millisecond)
		r.WaitIdle()
		if got := r.report().State; got != client.Starting {
			t.Errorf("state %s", got)
		}
		time.Sleep(time.Millisecond)
		r.WaitIdle()
		if got := r.report().State; got != client.Ready {
			t.Errorf("state %s, want ready when the lists had their time", got)
		}
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`) // the list is asked for once more
		p.ExpectNothing(49*time.Second - time.Millisecond)
		time.Sleep(time.Millisecond)
		p.Expect("notifications/cancelled")
		r.WaitIdle()
		short := r.report().Shortfalls
		if got := short[catalog.Prompts]; got.State != client.Failed ||
			!strings.Contains(got.Words, "prompts/list: ") {
			t.Errorf("then %+v", got)
		}
	})
}

// A result that is no list is reported as a failure, and not as an empty list.
func TestResultThatIsNoList(t *testing.T) {
	for result, want := range map[string]string{
		`{}`:                 `tools/list: the result has no array "tools"`,
		`[]`:                 `tools/list: the result has no array "tools"`,
		`{"tools":"a"}`:      `tools/list: "tools" of the result is not an array`,
		`{"tools":{"a":{}}}`: `tools/list: "tools" of the result is not an array`,
		`{"tools":null}`:     `tools/list: "tools" of the result is not an array`,
		`{"tools":{}}`:       `tools/list: "tools" of the result is not an array`,
		`{"tools":[]}`:       "",
	} {
		run(t, nil, func(r *rig) {
			p := r.server()
			p.Handshake(`{"tools":{}}`)
			p.Reply(p.Expect("tools/list"), result)
			time.Sleep(client.ListGrace)
			r.WaitIdle()
			if got := r.report(); got.State != client.Ready || got.Lacks != want {
				t.Errorf("%s: state %s, lacks %q, want %q", result, got.State, got.Lacks, want)
			}
		})
	}
}

// A list that takes 7 s appears: calls are taken meanwhile, the lists that are known are reported,
// and the late list is announced when it is there.
func TestLateListIsAnnounced(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.server()
		p.Handshake(`{"tools":{},"prompts":{}}`)
		late := p.Expect("tools/list")
		p.Reply(p.Expect("prompts/list"), `{"prompts":[{"name":"p"}]}`)
		time.Sleep(client.ListGrace)
		r.WaitIdle()
		got := r.report()
		if got.State != client.Ready || len(got.Lists[catalog.Prompts]) != 1 ||
			got.Shortfalls[catalog.Tools].State != client.Waiting ||
			!strings.Contains(got.Lacks, "tools/list: no answer yet") ||
			got.Shortfalls[catalog.Prompts].State != client.Complete {
			t.Errorf("state %s, lacks %q, prompts %s", got.State, got.Lacks, got.Lists[catalog.Prompts])
		}
		x := r.call("one")
		p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		if got := r.outcome(x); got.Err != nil {
			t.Errorf("a call meanwhile: %v", got.Err)
		}
		time.Sleep(6 * time.Second)
		p.Reply(late, `{"tools":[{"name":"a"}]}`)
		r.WaitIdle()
		got = r.report()
		if len(got.Lists[catalog.Tools]) != 1 || got.Shortfalls != ([client.Kinds]client.Shortfall{}) ||
			got.Lacks != "" ||
			!slices.Equal(got.Changed, []catalog.Kind{catalog.Tools}) {
			t.Errorf("tools %s, short %+v, changed %v", got.Lists[catalog.Tools], got.Shortfalls,
				got.Changed)
		}
		p.ExpectNothing(time.Hour)
	})
}

// F17, S4-49: the ways in which a start fails. Each is reported with its cause, and the start is
// repeated.
func TestStartThatFailsIsTriedAgain(t *testing.T) {
	exit := &transport.ExitError{
		Cause: "exited before handshake", Code: 3, Stderr: []byte("no licence\n"),
	}
	for name, tt := range map[string]struct {
		play  func(r *rig)
		state client.State
		text  string
	}{
		"dial": {func(r *rig) {
			r.dials <- dial{err: errors.New("connection refused")}
		}, client.Backoff, "connection refused"},
		"dial without end": {func(*rig) {
			time.Sleep(time.Minute)
		}, client.Backoff, "not ready within 1m0s"},
		"exit": {func(r *rig) {
			p := r.server()
			p.Expect("initialize")
			p.Close(exit)
		}, client.Backoff, "no licence"},
		"refused": {func(r *rig) {
			p := r.server()
			p.Refuse(p.Expect("initialize"), -32603, "not today")
			p.Refuse(p.Expect("server/discover"), -32601, "no such method")
		}, client.Backoff, "not today"},
		"silence": {func(r *rig) {
			p := r.server()
			p.Expect("initialize")
			time.Sleep(time.Minute)
		}, client.Backoff, "no answer within 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				tt.play(r)
				r.WaitIdle()
				if got := r.Ref("conn").Incarnation(); got != 2 {
					t.Errorf("incarnation %d, want the second", got)
				}
				told := false
				for _, p := range testrig.Of[*client.Report](&r.catalog.Log) {
					told = told || p.State == tt.state &&
						(tt.text == "" || p.Cause != nil &&
							strings.Contains(client.EndingOf(p.Cause).Text+client.EndingOf(p.Cause).Stderr, tt.text))
				}
				if !told {
					t.Errorf("no report of %s that says %q", tt.state, tt.text)
				}
				r.ready(`{"tools":{}}`)
				if got := r.report().State; got != client.Ready {
					t.Errorf("the next try: state %s", got)
				}
			})
		})
	}
}

// Calls that come while the server starts wait for it, in order. Those given up meanwhile are not
// sent.
func TestCallsWaitForTheServer(t *testing.T) {
	run(t, nil, func(r *rig) {
		first, second, third := r.call("one"), r.call("one"), r.call("two")
		r.send(&request.Withdraw{ID: second.ID, Reason: "timeout"})
		r.WaitIdle()
		if refusal := first.WaitsFor(); refusal == nil ||
			!strings.Contains(string(refusal.Data), `"cause":"starting"`) {
			t.Errorf("a call that times out meanwhile is told %+v", refusal)
		}
		p := r.ready(`{"tools":{}}`)
		a, b := p.Expect("tools/call"), p.Expect("tools/call")
		p.Reply(b, `{"which":"third"}`)
		p.Reply(a, `{"which":"first"}`)
		if got := r.outcome(first); string(got.Result) != `{"which":"first"}` {
			t.Errorf("first: %s, %v", got.Result, got.Err)
		}
		if got := r.outcome(third); string(got.Result) != `{"which":"third"}` {
			t.Errorf("third: %s, %v", got.Result, got.Err)
		}
		if got := len(r.outcomes()); got != 2 {
			t.Errorf("%d outcomes", got)
		}
	})
}

// The number of calls that wait for a server is bounded.
func TestQueueIsBounded(t *testing.T) {
	run(t, nil, func(r *rig) {
		for range pending {
			r.call("one")
		}
		beyond := r.call("one")
		if got := r.outcome(beyond); !errors.Is(got.Err, protocol.ConditionOverloaded) {
			t.Errorf("got %v", got.Err)
		}
		if got := len(r.outcomes()); got != 1 {
			t.Errorf("%d outcomes, want the one refusal", got)
		}
	})
}

// The connection's own transport is closed for whatever reason the connection ends, also when it
// ends before there is a transport.
func TestTransportIsHandedOverForClosing(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		if err := r.Tree.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		p.ExpectClosed()
		if len(r.closed) != 1 {
			t.Errorf("%d transports were closed", len(r.closed))
		}
	})
}
