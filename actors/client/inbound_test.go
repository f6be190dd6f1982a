package client_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/drops"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	"mcpd/gateway/catalog"
	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
)

// F36: however often a server announces that a list has changed, one fetch is under way and at most
// one more is to come. Clients are told when the new list is there.
func TestChangedListIsFetchedAgain(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{"listChanged":true}}`)
		p.Notify(jsonrpc.ID{}, "notifications/tools/list_changed", "")
		first := p.Expect("tools/list")
		for range 100 {
			p.Notify(jsonrpc.ID{}, "notifications/tools/list_changed", "")
		}
		r.WaitIdle()
		p.Reply(first, `{"tools":[{"name":"old"}]}`)
		p.Reply(p.Expect("tools/list"), `{"tools":[{"name":"new"}]}`)
		p.ExpectNothing(time.Second)
		got := r.report()
		if len(got.Lists[catalog.Tools]) != 1 ||
			string(got.Lists[catalog.Tools][0]) != `{"name":"new"}` ||
			!slices.Equal(got.Changed, []catalog.Kind{catalog.Tools}) {
			t.Errorf("report: %s, changed %v", got.Lists[catalog.Tools], got.Changed)
		}
		p.Notify(jsonrpc.ID{}, "notifications/prompts/list_changed", "") // a list that it does not have
		p.ExpectNothing(time.Second)
	})
}

// Clients are told that a list has changed once the announced list is fetched, even if it is the
// same. Of resources and their templates they are told once.
func TestAnnouncedListMayBeTheSame(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.server()
		p.Handshake(`{"resources":{"listChanged":true}}`)
		answer := func() (told [][]catalog.Kind) {
			t.Helper()
			before := len(r.reports())
			for range 2 {
				m := p.Next()
				p.Reply(m, strings.Replace(`{"resources":[]}`, "resources", map[string]string{
					"resources/list": "resources", "resources/templates/list": "resourceTemplates",
				}[m.Method], 1))
			}
			r.WaitIdle()
			for _, report := range r.reports()[before:] {
				if len(report.Changed) > 0 {
					told = append(told, report.Changed)
				}
			}
			return told
		}
		if told := answer(); told != nil {
			t.Errorf("the first list: told %v", told)
		}
		p.Notify(jsonrpc.ID{}, "notifications/resources/list_changed", "")
		if told := answer(); len(told) != 1 || !slices.Equal(told[0], []catalog.Kind{catalog.Resources}) {
			t.Errorf("told %v", told)
		}
	})
}

// The last good list is kept when the next cannot be fetched.
func TestListThatCannotBeHadAgainStays(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{"listChanged":true}}`)
		p.Notify(jsonrpc.ID{}, "notifications/tools/list_changed", "")
		p.Refuse(p.Expect("tools/list"), -32603, "busy")
		r.WaitIdle()
		if got := r.report(); len(got.Lists[catalog.Tools]) != 2 {
			t.Errorf("tools: %s, want the two it had", got.Lists[catalog.Tools])
		}
		p.Close(nil)
		p = r.server()
		p.Handshake(`{"tools":{}}`)
		p.Refuse(p.Expect("tools/list"), -32603, "busy")
		r.WaitIdle()
		if got := r.report(); got.State != client.Ready || len(got.Lists[catalog.Tools]) != 2 {
			t.Errorf("after a restart: %s in state %s, want the two it had",
				got.Lists[catalog.Tools], got.State)
		}
	})
}

// A server that announces a change with every list that it sends is ready with the first list, and
// is asked less and less often.
func TestServerThatAlwaysAnnouncesIsReady(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.server()
		p.Handshake(`{"tools":{"listChanged":true}}`)
		start := time.Now()
		for range 8 {
			m := p.Expect("tools/list")
			p.Notify(jsonrpc.ID{}, "notifications/tools/list_changed", "")
			p.Reply(m, `{"tools":[{"name":"a"}]}`)
			r.WaitIdle()
			if got := r.report().State; got != client.Ready {
				t.Fatalf("state %s", got)
			}
		}
		if got, want := time.Since(start), (1+2+4+8+16+32+64)*client.FirstRelist; got != want {
			t.Errorf("took %v, want %v", got, want)
		}
		p.ExpectNothing(128*client.FirstRelist - time.Millisecond)
		p.Reply(p.Expect("tools/list"), `{"tools":[{"name":"a"}]}`)
		p.ExpectNothing(time.Hour)
		p.Notify(jsonrpc.ID{}, "notifications/tools/list_changed", "")
		start = time.Now()
		p.Expect("tools/list")
		if got := time.Since(start); got != 0 {
			t.Errorf("after a quiet hour it took %v", got)
		}
	})
}

// Clients are told of a changed list within about a second, however often the list has changed
// before. A large list is fetched less often.
func TestChangesOfListsAreToldSoon(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bytes int
		most  time.Duration // before the list is fetched once more
	}{
		{"small", 0, client.ChangedRelist + 10*time.Millisecond},
		{"large", client.RelistBytes, 2*client.ChangedRelist + 10*time.Millisecond},
		{"huge", 6 * client.RelistBytes, 7*client.ChangedRelist + 10*time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				p := r.ready(`{"tools":{"listChanged":true}}`)
				var longest time.Duration
				for i := range 20 {
					start := time.Now()
					p.Notify(jsonrpc.ID{}, "notifications/tools/list_changed", "")
					m := p.Expect("tools/list")
					longest = max(longest, time.Since(start))
					p.Reply(m, `{"tools":[{"name":"a","_meta":{"x":"`+strings.Repeat("x", tt.bytes)+
						strconv.Itoa(i)+`"}}]}`)
					r.WaitIdle()
				}
				if longest > tt.most || longest < tt.most/2 {
					t.Errorf("a change was fetched after %v, want about %v", longest, tt.most)
				}
			})
		})
	}
}

// A first list that cannot be fetched is asked for again, while the server works without it.
// Clients are told when the list is there. A server that does not know the method is not asked
// again.
func TestFirstListThatCannotBeHadIsFetchedLater(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.server()
		p.Handshake(`{"tools":{},"prompts":{}}`)
		p.Refuse(p.Expect("tools/list"), -32603, "warming up")
		p.Refuse(p.Expect("prompts/list"), -32601, "no such method")
		r.WaitIdle()
		if got := r.report(); got.State != client.Ready || len(got.Lists[catalog.Tools]) != 0 {
			t.Errorf("state %s with %s", got.State, got.Lists[catalog.Tools])
		}
		p.Refuse(p.Expect("tools/list"), -32603, "warming up")
		p.Expect("tools/list") // without an answer
		time.Sleep(50 * time.Second)
		p.Expect("notifications/cancelled")
		p.Reply(p.Expect("tools/list"), `{"tools":[{"name":"a"}]}`)
		r.WaitIdle()
		if got := r.report(); len(got.Lists[catalog.Tools]) != 1 ||
			!slices.Equal(got.Changed, []catalog.Kind{catalog.Tools}) {
			t.Errorf("tools %s, changed %v", got.Lists[catalog.Tools], got.Changed)
		}
		p.ExpectNothing(time.Hour)
	})
}

// F39: a list that differs after a restart of the server is announced as changed; one that is the
// same is not.
func TestRestartTellsWhatIsDifferent(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.ready(`{"tools":{}}`).Close(nil)
		r.ready(`{"tools":{}}`).Close(nil)
		if got := r.report().Changed; len(got) != 0 {
			t.Errorf("the same list: changed %v", got)
		}
		p := r.server()
		p.Handshake(`{"logging":{},"prompts":{}}`)
		p.Reply(p.Expect("prompts/list"), `{"prompts":[]}`)
		r.WaitIdle()
		if got := r.report(); !slices.Equal(got.Changed, []catalog.Kind{catalog.Tools}) ||
			len(got.Lists[catalog.Tools]) != 0 {
			t.Errorf("no list any more: changed %v", got.Changed)
		}
	})
}

// S4-63, S1-14, S1-16: an announcement of a server goes to the dispatcher, with the resource that
// it is about, unless the server had not declared that it would send such.
func TestAnnouncementsGoToTheDispatcher(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{},"resources":{"subscribe":true}}`)
		p.Reply(p.Expect("resources/list"), `{"resources":[]}`)
		p.Reply(p.Expect("resources/templates/list"), `{"resourceTemplates":[]}`)
		p.Notify(jsonrpc.ID{}, "notifications/message", `{"level":"info","data":"undeclared"}`)
		p.Notify(jsonrpc.ID{}, "notifications/unheard/of", `{}`)
		r.WaitIdle()
		r.forward("one", "resources/subscribe", `{"uri":"test://x"}`)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		p.Notify(jsonrpc.ID{}, "notifications/resources/updated", `{"uri":"test://x"}`)
		got := testrig.Of[*notification.Dispatch](&r.dispatcher.Log)
		if len(got) != 1 || got[0].URI != "test://x" || got[0].Server != "files" ||
			got[0].Method != "notifications/resources/updated" {
			t.Errorf("dispatched %+v", got)
		}
		if dropped := testrig.Of[telemetry.NotificationDropped](&r.Events); len(dropped) != 1 ||
			dropped[0].Reason != "undeclared" {
			t.Errorf("dropped %+v", dropped)
		}
	})
}

// Some servers announce every resource that changes to each of their sessions. Over a connection
// without a subscription to the resource the change would be told a second time to the clients of
// another.
func TestUpdatesNeedASubscriptionOfTheirConnection(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{},"resources":{"subscribe":true}}`)
		p.Reply(p.Expect("resources/list"), `{"resources":[]}`)
		p.Reply(p.Expect("resources/templates/list"), `{"resourceTemplates":[]}`)
		r.attach("one")
		tells := func(want ...string) {
			t.Helper()
			r.dispatcher.Forget()
			for _, uri := range []string{"test://x", "test://x/below", "test://xy", "test://y"} {
				p.Notify(jsonrpc.ID{}, "notifications/resources/updated", `{"uri":"`+uri+`"}`)
			}
			var got []string
			for _, n := range testrig.Of[*notification.Dispatch](&r.dispatcher.Log) {
				got = append(got, n.URI)
			}
			if !slices.Equal(got, want) {
				t.Errorf("dispatched %q, want %q", got, want)
			}
		}
		tells()
		r.forward("one", "resources/subscribe", `{"uri":"test://x"}`)
		subscribe := p.Expect("resources/subscribe")
		tells("test://x", "test://x/below") // a server may do so before it answers
		p.Reply(subscribe, `{}`)
		tells("test://x", "test://x/below")
		r.forward("one", "resources/unsubscribe", `{"uri":"test://x"}`)
		p.Reply(p.Expect("resources/unsubscribe"), `{}`)
		tells()
		if dropped := testrig.Of[telemetry.NotificationDropped](&r.Events); len(dropped) == 0 ||
			dropped[0].Reason != "unsubscribed" {
			t.Errorf("dropped %+v", dropped)
		}
	})
}

// F21: announcements that nobody gets make one event at first and one a second, however many they
// are. None is left out, also when the connection ends or crashes meanwhile.
func TestDroppedAnnouncementsAreSummed(t *testing.T) {
	const flood = 500
	for _, tt := range []struct {
		name string
		then func(r *rig, p *mcptest.Peer)
		want []uint32
	}{
		{"it goes on", func(*rig, *mcptest.Peer) { time.Sleep(drops.Every) }, []uint32{1, flood - 1}},
		{"less than a second", func(*rig, *mcptest.Peer) { time.Sleep(drops.Every - 1) }, []uint32{1}},
		{"once more, and quiet", func(r *rig, p *mcptest.Peer) {
			time.Sleep(drops.Every)
			r.WaitIdle()
			p.Notify(jsonrpc.ID{}, "notifications/message", `{"level":"info","data":1}`)
			time.Sleep(5 * drops.Every)
			p.Notify(jsonrpc.ID{}, "notifications/message", `{"level":"info","data":1}`)
			time.Sleep(5 * drops.Every)
		}, []uint32{1, flood - 1, 1, 1}},
		{"the server ends", func(_ *rig, p *mcptest.Peer) { p.Close(nil) }, []uint32{1, flood - 1}},
		{"the connection crashes", func(r *rig, _ *mcptest.Peer) {
			r.Break("conn", "client.Describe")
			r.Send("conn", client.Describe{})
			r.Struck()
		}, []uint32{1, flood - 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				p := r.ready(`{"tools":{}}`)
				for i := range flood {
					p.Notify(jsonrpc.ID{}, "notifications/made/up/"+strconv.Itoa(i), `{}`)
				}
				r.WaitIdle()
				tt.then(r, p)
				var got []uint32
				for _, e := range testrig.Of[telemetry.NotificationDropped](&r.Events) {
					if e.Server != "files" || e.Reason != "undeclared" {
						t.Errorf("told of %+v", e)
					}
					got = append(got, e.Count)
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("told of %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// S1-11, S2-23: a log line belongs to the call on whose stream it came, or to the only call in
// flight, and that call's session may want fewer lines. With several calls in flight it goes to
// everybody.
func TestLogLinesFindTheirCall(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{},"logging":{}}`)
		r.attach("one")
		r.setIntent(client.SubscriptionIntent{Session: "one", Level: "warning"})
		p.Reply(p.Expect("logging/setLevel"), `{}`)
		x := r.call("one")
		m := p.Expect("tools/call")
		p.Notify(jsonrpc.ID{}, "notifications/message", `{"level":"error","data":1}`)
		p.Notify(jsonrpc.ID{}, "notifications/message", `{"level":"debug","data":2}`)
		p.Notify(m.ID, "notifications/message", `{"level":"warning","data":3}`)
		if sent := x.Sink.(*testrig.Sink).Sent(); len(sent) != 2 ||
			string(sent[1].Params) != `{"level":"warning","data":3}` {
			t.Errorf("its own: %v", sent)
		}
		r.call("two")
		p.Expect("tools/call")
		p.Notify(jsonrpc.ID{}, "notifications/message", `{"level":"info","data":4}`)
		if got := testrig.Of[*notification.Dispatch](&r.dispatcher.Log); len(got) != 1 ||
			got[0].Method != "notifications/message" {
			t.Errorf("everybody's: %v", got)
		}
	})
}

// The status of a server's tasks is under the server's own ids, which nobody else knows: no session
// is told of it.
func TestNewsOfTasksIsNotPassedOn(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{},"tasks":{"list":{}},"logging":{}}`)
		r.attach("one")
		p.Notify(jsonrpc.ID{}, "notifications/tasks/status", `{"taskId":"own","status":"working"}`)
		p.Notify(jsonrpc.ID{}, "notifications/message", `{"level":"info","data":1}`)
		r.WaitIdle()
		got := testrig.Of[*notification.Dispatch](&r.dispatcher.Log)
		if len(got) != 1 || got[0].Method != "notifications/message" {
			t.Errorf("dispatched %+v", got)
		}
	})
}
