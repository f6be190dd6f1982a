package server_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/internal/fault"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// A call with an aggregate name reaches its server under the server's own name, and the client's id
// is returned byte for byte.
func TestCallReachesItsServer(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.ready(`{}`)
		id := jsonrpc.StringID("my id")
		out := u.askAs(id, "tools/call", `{"name":"files__read","arguments":{"n":12345678901234567890}}`)
		called, _ := jsonedit.Get(out.Outcome().Result, "called")
		if string(called) != `{"name":"read","arguments":{"n":12345678901234567890}}` ||
			out.Outcome().ID != id {
			t.Errorf("got %v", out.All())
		}
		if out := u.ask("tools/call", `{"name":"nowhere__nothing"}`); out.Word() != int64(-32602) {
			t.Errorf("unknown tool: %v", out.All())
		}
		if out := u.ask("tools/call", `{}`); out.Word() != int64(-32602) {
			t.Errorf("no name: %v", out.All())
		}
	})
}

// Invalid params are refused on every endpoint, and are not sent to any server.
func TestParamsOfTheWrongKindGoNowhere(t *testing.T) {
	run(t, nil, func(r *rig) {
		for _, endpoint := range []string{"", "files"} {
			u := r.open("ci", endpoint)
			u.shake(`{}`)
			for method, params := range map[string]string{
				"tools/call": `{"name":5}`, "prompts/get": `{"name":"greet","arguments":[1]}`,
				"resources/read":      `{"uri":{}}`,
				"resources/subscribe": `{}`, "resources/unsubscribe": `{"uri":7}`,
				"completion/complete": `{"ref":7}`,
			} {
				out := u.ask(method, params)
				if out.Word() != int64(-32602) || !strings.Contains(out.Outcome().Error.Message, "params.") {
					t.Errorf("%s at %q: %v", method, endpoint, out.All())
				}
			}
		}
		if out := r.peer("files").heard("resources/subscribe"); len(out) != 0 {
			t.Errorf("the server heard %v", out)
		}
	})
}

// S4-36, F46, I2: calls with the same id, as pooled clients send them, each get their own result.
func TestEqualIdsAreToldApart(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.ready(`{}`)
		for n := range 100 {
			out := u.askAs(jsonrpc.IntID(1), "tools/call",
				fmt.Sprintf(`{"name":"files__read","arguments":{"n":%d}}`, n))
			if got, _ := jsonedit.Get(out.Outcome().Result, "called", "arguments",
				"n"); string(got) != strconv.Itoa(n) || len(out.All()) != 1 {
				t.Errorf("call %d: %v", n, out.All())
			}
		}
	})
}

// S4-131: the requests in flight of one session are bounded.
func TestSessionIsBounded(t *testing.T) {
	run(t, silent, func(r *rig) {
		u, other := r.ready(`{}`), r.ready(`{}`)
		for range 5 {
			u.call()
		}
		if out := u.call(); out.Word() != int64(-32010) {
			t.Errorf("one too many: %v", out.All())
		}
		if out := other.ask("tools/list", `{}`); out.Word() != "result" {
			t.Errorf("another session: %v", out.All())
		}
	})
}

// S4-61, S0-59: a client cancels its call by the call's id. If several calls in flight have that
// id, the intended one is unknown, and none ends. A cancellation of an unknown id has no effect.
func TestClientCancelsItsCall(t *testing.T) {
	run(t, silent, func(r *rig) {
		u := r.ready(`{}`)
		one, two := u.askAs(jsonrpc.IntID(7), "tools/call",
			`{"name":"files__read"}`), u.askAs(jsonrpc.IntID(8), "tools/call", `{"name":"files__read"}`)
		for _, params := range []string{`{}`, `{"requestId":9}`, `{"requestId":"7"}`} {
			u.tell("notifications/cancelled", params)
		}
		if one.Word() != "none" || two.Word() != "none" {
			t.Errorf("cancelled by what is not theirs: %v, %v", one.All(), two.All())
		}
		u.tell("notifications/cancelled", `{"requestId":7,"reason":"enough"}`)
		if one.Word() != "cancelled" || two.Word() != "none" {
			t.Errorf("got %v, %v", one.All(), two.All())
		}
		a, b := u.askAs(jsonrpc.IntID(1), "tools/call",
			`{"name":"files__read"}`), u.askAs(jsonrpc.IntID(1), "tools/call", `{"name":"files__read"}`)
		u.tell("notifications/cancelled", `{"requestId":1}`)
		if a.Word() != "none" || b.Word() != "none" {
			t.Errorf("ambiguous: %v, %v", a.All(), b.All())
		}
	})
}

// S4-115, S4-79: a call whose server never answers times out.
func TestCallTimesOut(t *testing.T) {
	run(t, silent, func(r *rig) {
		out := r.ready(`{}`).call()
		time.Sleep(time.Minute)
		if out.Word() != int64(-32009) {
			t.Errorf("got %v", out.All())
		}
	})
}

// S4-117, S4-71: when the tenant stops, every call in flight is answered.
func TestStopAnswersWhatIsInFlight(t *testing.T) {
	run(t, silent, func(r *rig) {
		u := r.ready(`{}`)
		out := u.call()
		if err := r.Tree.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if got := out.Word(); got == "none" {
			t.Errorf("got %v", out.All())
		}
	})
}

// A session that is closed ends its calls.
func TestClosedSessionEndsItsCalls(t *testing.T) {
	run(t, silent, func(r *rig) {
		u, other := r.ready(`{}`), r.ready(`{}`)
		out, others := u.call(), other.call()
		if err := u.h.Close(r.T.Context()); err != nil {
			t.Error(err)
		}
		if out.Word() != int64(-32602) || others.Word() != "none" {
			t.Errorf("got %v, another session's %v", out.All(), others.All())
		}
	})
}

// S4-103, I1: a session crashes with calls in flight and others that wait for the catalogue. All
// but the one that it crashed on are answered. The next actor knows the negotiated terms.
func TestCallsOutliveTheirSessionsActor(t *testing.T) {
	run(t, func(r *rig) { silent(r); mute(r, "search") }, func(r *rig) {
		u := r.open("ci", "")
		shaking := u.ask("initialize", greeting("2025-11-25", `{}`))
		time.Sleep(10 * time.Second) // search does not answer
		if shaking.Word() != "result" {
			t.Fatal(shaking.All())
		}
		u.tell("notifications/initialized", "")
		flying := u.call()
		peer := r.peer("files")
		r.Break("server_sup/*", "*session.Deliver")
		hit := u.ask("ping", "")
		r.Struck()
		if hit.Word() != int64(-32603) {
			t.Errorf("the one it crashed on: %v", hit.All())
		}
		peer.Close()
		if got := flying.Outcome(); got.Error == nil ||
			!strings.Contains(string(got.Error.Data), `"maybeExecuted":true`) {
			t.Errorf("in flight: %v", flying.All())
		}
		if out := u.ask("tools/list", ""); out.Word() != "result" {
			t.Errorf("next: %v", out.All())
		}
		if out := u.ask("initialize", greeting("2025-11-25", `{}`)); out.Word() != int64(-32005) {
			t.Errorf("initialize again: %v", out.All())
		}
	})
}

// A request that waits for the catalogue when its session crashes is completed by the next actor.
func TestHeldRequestsOutliveTheirSessionsActor(t *testing.T) {
	run(t, func(r *rig) { mute(r, "search") }, func(r *rig) {
		u := r.open("ci", "files")
		u.shake(`{}`)
		late := r.open("ci", "")
		shaking := late.ask("initialize", greeting("2025-11-25", `{}`))
		time.Sleep(3 * time.Second)
		late.tell("notifications/initialized", "")
		waits := late.ask("tools/list", "")
		if shaking.Word() != "result" || waits.Word() != "none" {
			t.Fatalf("initialize %v, list %v; want one that waits for a server", shaking.All(), waits.All())
		}
		r.Break("server_sup/"+late.h.Row(), "*session.Deliver")
		if hit := late.ask("ping", ""); hit.Word() != int64(-32603) {
			t.Errorf("the one it crashed on: %v", hit.All())
		}
		time.Sleep(10 * time.Second)
		if waits.Word() != "result" {
			t.Errorf("the one that waited: %v", waits.All())
		}
	})
}

// An initialize in progress is answered when its session crashes, because there is no session yet
// that could be restored.
func TestCrashDuringTheHandshakeIsAnswered(t *testing.T) {
	run(t, func(r *rig) { mute(r, "files") }, func(r *rig) {
		u := r.open("ci", "")
		shaking := u.ask("initialize", greeting("2025-11-25", `{}`))
		r.Break("server_sup/*", "*session.Deliver")
		u.ask("ping", "")
		r.Struck()
		if got := shaking.Word(); got == "none" || got == "result" {
			t.Errorf("got %v, want an error", shaking.All())
		}
	})
}

// A request whose own effects crash its session is tried by one more actor, and then answered. It
// is not retried for ever.
func TestRequestThatCrashesItsSessionIsAnswered(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.ready(`{}`)
		f := fault.Fault{
			Action: fault.Panic, Point: fault.Point{Path: "top/server_sup/*", Kind: "server.looked"},
			Lease: time.Minute,
		}
		if _, err := r.Faults.Arm(f); err != nil {
			r.T.Fatal(err)
		}
		if out := u.ask("tools/list", ""); out.Word() != int64(-32603) {
			t.Errorf("got %v", out.All())
		}
		if got := r.Faults.Active(); len(got) != 1 || got[0].Struck != 2 {
			t.Errorf("struck %v, want two actors", got)
		}
		if out := u.ask("ping", ""); out.Word() != "result" {
			t.Errorf("next: %v", out.All())
		}
	})
}

// An error names a resource as the client does, whatever its origin. A name that leads to a
// resource of one server is kept.
func TestErrorsNameResourcesAsTheirClientDoes(t *testing.T) {
	const nope = "mcpd://files/nope"
	run(t, func(r *rig) { r.script["files"]["resources/read"] = result(unknown) }, func(r *rig) {
		u, c := r.ready(`{}`), r.caller(`{}`)
		for name, ask := range map[string]func(string, string) *testrig.Sink{"legacy": u.ask,
			"modern": c.ask} {
			out := ask("resources/read", `{"uri":"`+nope+`"}`)
			if got, _ := jsonedit.GetString(out.Outcome().Error.Data, "uri"); got != nope {
				t.Errorf("%s: %v", name, out.All())
			}
		}
		u = r.open("ci", "files")
		u.shake(`{}`)
		out := u.ask("resources/read", `{"uri":"nope"}`)
		if got, _ := jsonedit.GetString(out.Outcome().Error.Data, "uri"); got != "nope" {
			t.Errorf("alone: %v", out.All())
		}
	})
}
