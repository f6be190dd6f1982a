package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/server"
	"mcpd/gateway/quota"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// acme is the declaration of a client with the same extension as the server.
const acme = `{"extensions":{"acme/things":{"pages":true}}}`

// extends gives "files" an extension, and experimental capabilities from before extensions existed.
// Its method returns the params that it got.
func extends(r *rig) {
	silent(r)
	r.script["files"]["initialize"] = offers(
		`{"tools":{},"resources":{},"extensions":{"acme/things":{"n":1}},"experimental":{"acme/old":{}},"events":{}}`,
	)
	r.script["files"]["things/list"] = func(params jsontext.Value) string {
		return `{"things":[1],"asked":` + string(params) + `}`
	}
	r.script["files"]["things/wait"] = nil
}

// alone opens a session on the endpoint of "files".
func (r *rig) alone(principal, capabilities string) *user {
	r.T.Helper()
	u := r.open(principal, "files")
	u.shake(capabilities)
	return u
}

// An extension that both ends have declared is passed on: its requests are calls, with unchanged
// params.
func TestMethodsOfAnExtensionArePassedOn(t *testing.T) {
	run(t, extends, func(r *rig) {
		for _, caps := range []string{acme, `{"experimental":{"acme/old":{}}}`} {
			u := r.alone("ci", caps)
			out := u.ask("things/list", `{"cursor":"c"}`)
			if got := string(out.Outcome().Result); got != `{"things":[1],"asked":{"cursor":"c"}}` {
				t.Errorf("%s: %v", caps, out.All())
			}
			p := r.hearing("things/list")
			if got, _ := jsonedit.Get(p.heard("initialize")[0].Params, "capabilities"); string(got) != caps {
				t.Errorf("the server was told %s, want %s", got, caps)
			}
			if out := u.ask("things/unknown", `{}`); out.Word() != int64(-32601) ||
				len(p.heard("things/unknown")) != 1 {
				t.Errorf("the server's own refusal: %v", out.All())
			}
			if out := u.ask("things/list", `[]`); out.Word() != int64(-32602) {
				t.Errorf("params that are no object: %v", out.All())
			}
		}
		if out := r.alone("ci", `{"extensions":{"acme/others":{}}}`).ask("things/list",
			`{}`); out.Word() != int64(-32601) {
			t.Errorf("nothing in common: %v", out.All())
		}
		all := r.ready(acme)
		if out := all.ask("things/list", `{}`); out.Word() != int64(-32601) {
			t.Errorf("the list of all servers: %v", out.All())
		}
	})
}

// The same holds for a modern client, even with its first request.
func TestMethodsOfAnExtensionStandAlone(t *testing.T) {
	run(t, func(r *rig) {
		modern(r)
		r.script["files"]["server/discover"] = result(
			`{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"acme/things":{}}}}`,
		)
		r.script["files"]["things/list"] = result(`{"resultType":"acme","things":[1]}`)
	}, func(r *rig) {
		c := r.caller(acme)
		c.server = "files"
		out := c.ask("things/list", `{}`)
		if got, _ := jsonedit.Get(out.Outcome().Result, "things"); string(got) != "[1]" {
			t.Errorf("got %v", out.All())
		}
		p := r.peer("files")
		if got, _ := jsonedit.Get(p.heard("things/list")[0].Params, "_meta",
			"io.modelcontextprotocol/clientCapabilities"); string(got) != acme {
			t.Errorf("the server was told %s", got)
		}
		if kind, _ := jsonedit.GetString(out.Outcome().Result, "resultType"); kind != "acme" {
			t.Errorf("the type is %s", kind)
		}
		d := r.caller(`{}`)
		d.server = "files"
		if out := d.ask("things/list", `{}`); out.Word() != int64(-32601) {
			t.Errorf("nothing declared: %v", out.All())
		}
	})
}

// A request of an extension has a deadline, can be cancelled and is answered once, like a call.
func TestRequestsOfAnExtensionEnd(t *testing.T) {
	run(t, extends, func(r *rig) {
		u := r.alone("ci", acme)
		late := u.askAs(jsonrpc.IntID(70), "things/wait", `{}`)
		p := r.hearing("things/wait")
		time.Sleep(r.tenant.Limits.CallTimeout + time.Second)
		r.WaitIdle()
		if late.Word() == "none" || len(p.heard("notifications/cancelled")) != 1 {
			t.Errorf("at its deadline: %v, and the server heard %v", late.All(),
				p.heard("notifications/cancelled"))
		}
		gone := u.askAs(jsonrpc.IntID(71), "things/wait", `{}`)
		u.tell("notifications/cancelled", `{"requestId":71}`)
		if len(p.heard("notifications/cancelled")) != 2 {
			t.Errorf("cancelled: %v", gone.All())
		}
		cut := u.askAs(jsonrpc.IntID(72), "things/wait", `{}`)
		p.dies("")
		r.WaitIdle()
		if sent, _ := jsonedit.Get(cut.Outcome().Error.Data,
			"mayHaveExecuted"); cut.Outcome().Error == nil ||
			string(sent) == "false" {
			t.Errorf("its server died: %v", cut.All())
		}
	})
}

// A client's notification reaches the server, even if the server sleeps or has yet to start.
func TestNotificationsOfAnExtensionReachTheServer(t *testing.T) {
	run(t, extends, func(r *rig) {
		u := r.alone("ci", acme)
		u.tell("notifications/things/seen", `{"n":1}`)
		p := r.hearing("notifications/things/seen")
		u.tell("notifications/things/seen", `{"n":2}`)
		if got := p.heard("notifications/things/seen"); len(got) != 2 ||
			string(got[0].Params) != `{"n":1}` || string(got[1].Params) != `{"n":2}` {
			t.Errorf("the server heard %v", got)
		}
		r.ready(acme).tell("notifications/things/seen", `{"n":4}`)
		if got := p.heard("notifications/things/seen"); len(got) != 2 {
			t.Errorf("the server heard %v", got)
		}
		if n := r.kept.Account("acme").Holding().Kinds[0]; n != 0 {
			t.Errorf("%d bytes are counted", n)
		}
	})
}

// A notification of an extension reaches the only client that it can concern. One that may concern
// another principal is dropped and counted.
func TestNotificationsOfAnExtensionReachTheirOwner(t *testing.T) {
	const method = "notifications/things/changed"
	run(t, extends, func(r *rig) {
		alice, bob, plain := r.alone("alice", acme), r.alone("bob", acme), r.alone("alice", `{}`)
		during := alice.ask("things/wait", `{}`)
		p := r.hearing("things/wait")
		p.Notify(method, `{"n":1}`)
		if got := during.Sent(); len(got) != 1 || got[0].Method != method {
			t.Errorf("during her call alice heard %v", got)
		}
		p.answer("things/wait", `{}`)
		p.Notify(method, `{"n":2}`)
		if a, others := len(alice.heard(method)), len(bob.heard(method))+
			len(plain.heard(method)); a != 1 || others != 0 {
			t.Errorf("after it alice heard %d, the others %d", a, others)
		}
		first, second := alice.ask("things/wait", `{}`), bob.ask("things/wait", `{}`)
		p.Notify(method, `{"n":3}`)
		if got := fmt.Sprint(first.Sent(), second.Sent()); got != "[] []" {
			t.Errorf("what may be either's is told to %s", got)
		}
		if n := r.dropped("unowned"); n != 1 {
			t.Errorf("%d are counted", n)
		}
	})
}

// The aggregate endpoint gets no notifications of an extension, even if it shares a server with a
// client that does.
func TestTheAggregateHearsNothingOfExtensions(t *testing.T) {
	run(t, func(r *rig) {
		extends(r)
		one(r)
	}, func(r *rig) {
		alice, all := r.alone("ci", acme), r.ready(acme)
		during := all.call()
		p := r.hearing("tools/call")
		p.Notify("notifications/things/changed", `{}`)
		if got := len(during.Sent()) + len(all.heard("notifications/things/changed")); got != 0 {
			t.Errorf("it heard %d", got)
		}
		p.answer("tools/call", `{"content":[]}`)
		asked := alice.ask("things/wait", `{}`)
		p.Ask(jsonrpc.StringID("q"), "things/ask", `{"what":"?"}`)
		r.WaitIdle()
		if got := asked.Sent(); len(got) != 1 || got[0].Method != "things/ask" {
			t.Fatalf("the question reached %v; the server heard %v", got,
				testrig.Of[jsonrpc.Message](&p.got))
		}
		alice.answer(asked.Sent()[0].ID, `{"so":1}`)
		r.WaitIdle()
		if got := testrig.Of[jsonrpc.Message](&p.got); !answeredWith(got, `{"so":1}`) {
			t.Errorf("the server heard %v", got)
		}
	})
}

// hearing is the server's end of the last connection on which the method arrived.
func (r *rig) hearing(method string) (last *peer) {
	r.T.Helper()
	r.WaitIdle()
	for _, p := range testrig.Of[*peer](&r.dialled) {
		if len(p.heard(method)) > 0 {
			last = p
		}
	}
	if last == nil {
		r.T.Fatalf("nobody heard %s", method)
	}
	return last
}

func answeredWith(all []jsonrpc.Message, result string) bool {
	for _, m := range all {
		if string(m.Result) == result {
			return true
		}
	}
	return false
}

// The aggregate declares only capabilities that the host can serve for all of its servers.
func TestTheAggregateDeclaresWhatItMerges(t *testing.T) {
	run(t, func(r *rig) {
		extends(r)
		r.script["search"]["initialize"] = offers(
			`{"tools":{},"extensions":{"io.modelcontextprotocol/ui":{}}}`,
		)
	}, func(r *rig) {
		declared := func(server string) string {
			out := r.open("ci", server).ask("initialize", greeting("2025-11-25", acme))
			caps, _ := jsonedit.Get(out.Outcome().Result, "capabilities")
			return string(caps)
		}
		if got, want := declared("files"),
			`{"tools":{},"resources":{},"extensions":{"acme/things":{"n":1}},"experimental":{"acme/old":{}},"events":{}}`; got != want {
			t.Errorf("one declares %s, want %s", got, want)
		}
		if got, want := declared(""),
			`{"tools":{"listChanged":true},"resources":{"listChanged":true},"extensions":{"io.modelcontextprotocol/ui":{}}}`; got != want {
			t.Errorf("all declare %s, want %s", got, want)
		}
	})
}

// Notifications that wait for a connection are bounded and counted, even if the session crashes.
func TestNotificationsThatWaitAreBounded(t *testing.T) {
	run(t, extends, func(r *rig) {
		u := r.alone("ci", acme)
		letGo := r.Stalls.Arm("catalog",
			"*otp.Call[mcpd/actors/catalog.ConnectRequest,mcpd/supervisor/otp.Ref]")
		counted := func() int64 { return r.kept.Account("acme").Holding().Kinds[quota.Requests] }
		for range server.MaxPendingNotifications + 2 {
			u.tell("notifications/things/seen", `{"n":10}`)
		}
		if want := int64(server.MaxPendingNotifications * len(`{"n":10}`)); counted() != want {
			t.Errorf("%d bytes count, want %d", counted(), want)
		}
		letGo()
		if p := r.hearing("notifications/things/seen"); len(p.heard("notifications/things/seen")) !=
			server.MaxPendingNotifications {
			t.Errorf("the server heard %d", len(p.heard("notifications/things/seen")))
		}
		if n := r.dropped("queue_full"); n != 2 || counted() != 0 {
			t.Errorf("%d are dropped, and %d bytes count afterwards", n, counted())
		}
		letGo = r.Stalls.Arm("catalog",
			"*otp.Call[mcpd/actors/catalog.ConnectRequest,mcpd/supervisor/otp.Ref]")
		v := r.alone("ci", acme)
		v.tell("notifications/things/seen", `{"n":10}`)
		r.Break("server_sup/*", "*session.Deliver")
		v.ask("ping", "")
		r.Struck()
		letGo()
		if r.WaitIdle(); counted() != 0 {
			t.Errorf("%d bytes count after a crash", counted())
		}
	})
}

// The same holds if MCP Apps, which the aggregate does declare, are a common extension.
func TestTheAggregateHearsNothingBesideApps(t *testing.T) {
	const both = `{"extensions":{"io.modelcontextprotocol/ui":{},"acme/things":{}}}`
	run(t, func(r *rig) {
		extends(r)
		r.script["files"]["initialize"] = offers(
			`{"tools":{},"extensions":{"io.modelcontextprotocol/ui":{},"acme/things":{}}}`,
		)
	}, func(r *rig) {
		all := r.ready(both)
		during := all.call()
		p := r.hearing("tools/call")
		if got, want := p.told(), `{"extensions":{"io.modelcontextprotocol/ui":{}}}`; got != want {
			t.Errorf("the server was told %s, want %s", got, want)
		}
		p.Notify("notifications/things/changed", `{}`)
		p.Ask(jsonrpc.StringID("q"), "things/ask", `{}`)
		r.WaitIdle()
		p.answer("tools/call", `{"content":[]}`)
		p.Notify("notifications/things/changed", `{}`)
		if got := len(during.Sent()) + len(all.heard("")); got != 0 {
			t.Errorf("it heard %v and %v", during.Sent(), all.heard(""))
		}
		refused := false
		for _, m := range testrig.Of[jsonrpc.Message](&p.got) {
			refused = refused || m.ID == jsonrpc.StringID("q") && m.Error != nil && m.Error.Code == -32601
		}
		if !refused {
			t.Error("the question is not refused")
		}
		if out := all.ask("things/list", `{}`); out.Word() != int64(-32601) {
			t.Errorf("got %v", out.All())
		}
	})
}

// Notifications that neither side declared pass between sides of one era, as on a direct
// connection: from the client to its one server, and from the server to the client that they can
// concern.
func TestUndeclaredNotificationsPass(t *testing.T) {
	const method = "acme/changed" // it need not begin with "notifications/"
	run(t, silent, func(r *rig) {
		alice, all := r.alone("alice", `{}`), r.ready(`{}`)
		alice.tell(method, `{"n":1}`)
		alice.tell(method, `[1]`)
		all.tell(method, `{"n":2}`)
		p := r.hearing(method)
		if got := p.heard(method); len(got) != 1 || string(got[0].Params) != `{"n":1}` {
			t.Errorf("the server heard %v", got)
		}
		bobs := r.alone("bob", `{}`)
		bobs.tell(method, `{"n":3}`)
		p.Notify(method, `{"early":true}`)
		if got := len(alice.heard(method)) + len(bobs.heard(method)); got != 0 {
			t.Errorf("before any call, with sessions of two principals, %d heard", got)
		}
		during := alice.ask("tools/call", `{"name":"read"}`)
		p.Notify(method, `{"n":4}`)
		p.Notify(method, `[4]`)
		if got := during.Sent(); len(got) != 1 || string(got[0].Params) != `{"n":4}` {
			t.Errorf("during her call alice heard %v", got)
		}
		p.answer("tools/call", `{"content":[]}`)
		p.Notify(method, `{"n":5}`)
		if got := alice.heard(method); len(got) != 1 || string(got[0].Params) != `{"n":5}` {
			t.Errorf("after it alice heard %v", got)
		}
		bob, hers := bobs.ask("tools/call", `{"name":"read"}`), alice.ask("tools/call", `{"name":"read"}`)
		p.Notify(method, `{"n":6}`)
		if got := len(bob.Sent()) + len(hers.Sent()) + len(bobs.heard(method)) +
			len(all.heard(method)); got != 0 {
			t.Errorf("what may be either's is told %d times", got)
		}
		if n := r.dropped("unowned"); n != 2 {
			t.Errorf("%d are counted", n)
		}
	})
}

// A single client gets them before its first call.
func TestUndeclaredNotificationsReachTheOnlyClient(t *testing.T) {
	run(t, silent, func(r *rig) {
		alice, hers := r.alone("alice", `{}`), r.alone("alice", `{}`)
		alice.tell("acme/begin", `{}`)
		r.hearing("acme/begin").Notify("acme/begun", `{"n":1}`)
		if got := alice.heard("acme/begun"); len(got) != 1 || string(got[0].Params) != `{"n":1}` {
			t.Errorf("alice heard %v", got)
		}
		if got := hers.heard("acme/begun"); len(got) != 0 {
			t.Errorf("her other session, which does not use the server, heard %v", got)
		}
	})
}

// Between different eras undeclared notifications do not pass, in either direction.
func TestUndeclaredNotificationsStayInTheirEra(t *testing.T) {
	run(t, func(r *rig) { modern(r); silent(r) }, func(r *rig) {
		old := r.alone("ci", `{}`)
		old.tell("acme/begin", `{}`)
		call := old.ask("tools/call", `{"name":"read"}`)
		p := r.hearing("tools/call")
		p.Notify("acme/changed", `{}`)
		p.answer("tools/call", `{"resultType":"complete","content":[]}`)
		p.Notify("acme/changed", `{}`)
		if heard, got := p.heard("acme/begin"), len(call.Sent())+
			len(old.heard("acme/changed")); len(heard) != 0 || got != 0 {
			t.Errorf("the server heard %v, the client %d", heard, got)
		}
	})
	run(t, silent, func(r *rig) {
		young := r.caller(`{}`)
		young.server = "files"
		call := young.ask("tools/call", `{"name":"read"}`)
		p := r.hearing("tools/call")
		p.Notify("acme/changed", `{}`)
		if got := call.Sent(); len(got) != 0 {
			t.Errorf("the client heard %v", got)
		}
	})
}
