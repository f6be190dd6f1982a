package server_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
)

// S0-30, S0-31, S0-40, S4-116: before the handshake every request except initialize and ping is
// refused, with a code and a text that names the request. Afterwards the same requests are served.
func TestRequestsBeforeTheHandshakeAreRefused(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.open("ci", "")
		for method, action := range map[string]string{
			"resources/list": "Cannot list resources before server initialization",
			"tools/list":     "Cannot list tools before server initialization",
			"prompts/list":   "Cannot list prompts before server initialization",
			"tools/call":     "before server initialization",
		} {
			out := u.ask(method, `{}`)
			if out.Word() != int64(-32005) || !strings.Contains(out.Outcome().Error.Message, action) {
				t.Errorf("%s: %v", method, out.All())
			}
		}
		u.tell("notifications/roots/list_changed", "")
		u.shake(`{}`)
		for _, method := range []string{"resources/list", "tools/list", "prompts/list"} {
			if out := u.ask(method, `{}`); out.Word() != "result" {
				t.Errorf("%s afterwards: %v", method, out.All())
			}
		}
	})
}

// S0-32, S0-16: a second initialize is refused and has no effect, even if it comes while the first
// is in progress.
func TestSecondInitializeIsRefused(t *testing.T) {
	run(t, func(r *rig) { r.script["files"]["tools/list"] = nil }, func(r *rig) {
		u := r.open("ci", "")
		first := u.ask("initialize", greeting("2025-11-25", `{"sampling":{}}`))
		second := u.ask("initialize", greeting("2025-06-18", `{}`))
		if second.Word() != int64(-32005) {
			t.Errorf("while the first is being answered: %v", second.All())
		}
		time.Sleep(10 * time.Second)
		if first.Word() != "result" {
			t.Fatalf("first: %v", first.All())
		}
		u.tell("notifications/initialized", "")
		third := u.ask("initialize", greeting("2025-06-18", `{}`))
		if third.Word() != int64(-32005) ||
			third.Outcome().Error.Message !=
				"Server already initialized. Initialize must be called only once." {
			t.Errorf("third: %v", third.All())
		}
		if rec := u.h.Record(); rec.Version.String() != "2025-11-25" ||
			!rec.Capabilities.Has("sampling") {
			t.Errorf("record: %+v", rec)
		}
	})
}

// S0-58, S0-57, S0-13: a refused initialize has no effect and leaves nothing behind, and the client
// may try again.
func TestRefusedInitializeMayBeRepeated(t *testing.T) {
	run(t, nil, func(r *rig) {
		for _, params := range []string{`{}`, `{"protocolVersion":5,"capabilities":{}}`,
			`{"capabilities":{},"clientInfo":{"name":"x","version":"1"}}`,
			`{"protocolVersion":"2025-11-25","capabilities":[]}`,
			`{"protocolVersion":"2025-11-25","capabilities":{}}`} {
			u := r.open("ci", "")
			if out := u.ask("initialize", params); out.Word() != int64(-32602) {
				t.Errorf("%s: %v", params, out.All())
			}
			if u.h.Record() != nil {
				t.Errorf("%s: left a record", params)
			}
			u.left(params)
		}
		r.ready(`{}`)
	})
}

// S0-10 to S0-15, S0-26, S2-9, S4-88, S4-138: the handshake agrees on a revision, stores the
// client's declaration, and offers the servers' capabilities.
func TestInitializeOffersWhatTheServersHave(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.open("ci", "")
		end := u.ask("initialize",
			greeting("2025-03-26", `{"roots":{},"experimental":{"x":{"y":1}}}`)).Outcome()
		if v, _ := jsonedit.GetString(end.Result, "protocolVersion"); v != "2025-03-26" {
			t.Errorf("result %s", end.Result)
		}
		for _, path := range [][]string{{"tools", "listChanged"}, {"resources", "subscribe"}, {"prompts"},
			{"logging"}} {
			if _, ok := jsonedit.Get(end.Result, append([]string{"capabilities"}, path...)...); !ok {
				t.Errorf("not offered: %v in %s", path, end.Result)
			}
		}
		if name, _ := jsonedit.GetString(end.Result, "serverInfo", "name"); name != "mcpd" {
			t.Errorf("server %s", end.Result)
		}
		rec := u.h.Record()
		if !rec.Capabilities.Has("roots") || !rec.Capabilities.Has("experimental.x") ||
			rec.Client.Name != "user" || rec.Ready {
			t.Errorf("record %+v", rec)
		}
		if told := testrig.Of[telemetry.SessionOpened](&r.Events); len(told) != 1 ||
			told[0].Revision != "2025-03-26" {
			t.Errorf("events %+v", told)
		}
	})
}

// §10.0: a declared capability that the agreed revision does not define is not declared to
// servers, because a server would use it.
func TestClientCanDoWhatItsRevisionHasWordsFor(t *testing.T) {
	for version, want := range map[string]bool{"2025-03-26": false, "2025-06-18": true} {
		run(t, nil, func(r *rig) {
			u := r.open("ci", "")
			u.ask("initialize", greeting(version, `{"roots":{},"elicitation":{}}`)).Outcome()
			if got := u.h.Record().Capabilities; got.Has("elicitation") != want || !got.Has("roots") {
				t.Errorf("%s: declared %+v", version, got)
			}
		})
	}
}

// A transparent endpoint shows its server as it is, and nothing of the others.
func TestTransparentEndpointIsItsServer(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.open("ci", "files")
		end := u.ask("initialize", greeting("2025-11-25", `{}`)).Outcome()
		if name, _ := jsonedit.GetString(end.Result, "serverInfo", "name"); name != "peer" {
			t.Errorf("result %s", end.Result)
		}
		u.tell("notifications/initialized", "")
		out := u.ask("tools/call", `{"name":"read"}`)
		if got, _ := jsonedit.GetString(out.Outcome().Result, "called", "name"); got != "read" {
			t.Errorf("call: %v", out.All())
		}
	})
}

// S4-48, S4-49, S4-115: a session that is not initialized in time ends, both without any request
// and with an incomplete handshake.
func TestSessionThatIsNotInitializedInTimeEnds(t *testing.T) {
	run(t, nil, func(r *rig) {
		silent, half, done := r.open("ci", ""), r.open("ci", ""), r.ready(`{}`)
		if out := half.ask("initialize", greeting("2025-11-25", `{}`)); out.Word() != "result" {
			t.Fatal(out.All())
		}
		time.Sleep(30*time.Second - time.Millisecond)
		r.WaitIdle()
		if got := r.index.Len(); got != 3 {
			t.Errorf("%d sessions before the time", got)
		}
		time.Sleep(time.Second)
		r.WaitIdle()
		if _, there := r.index.Get(silent.h.ID()); there {
			t.Error("the silent one is there")
		}
		if _, there := r.index.Get(done.h.ID()); !there {
			t.Error("the one that is initialized is gone")
		}
		if closed := testrig.Of[telemetry.SessionClosed](&r.Events); len(closed) == 0 ||
			closed[0].Cause != telemetry.ClosedUninitialized {
			t.Errorf("events %+v", closed)
		}
		time.Sleep(time.Minute)
		r.WaitIdle()
		if _, there := r.index.Get(half.h.ID()); there {
			t.Error("the one that was half done is there")
		}
	})
}

// S1-15, S1-20, S4-82: a method that no server offers, or that the revision does not have, is
// refused.
func TestWhatIsNotOfferedIsRefused(t *testing.T) {
	run(t, func(r *rig) { r.script["files"]["initialize"] = offers(`{"tools":{}}`) }, func(r *rig) {
		u := r.ready(`{}`)
		for _, method := range []string{"prompts/list", "resources/list", "logging/setLevel",
			"nonsense/method", "sampling/createMessage"} {
			if out := u.ask(method, `{}`); out.Word() != int64(-32601) {
				t.Errorf("%s: %v", method, out.All())
			}
		}
		if out := u.ask("ping", ""); out.Word() != "result" {
			t.Errorf("ping: %v", out.All())
		}
	})
}

// S0-33 to S0-36, S0-45, C4: the opt-in policy requires client capabilities by method, for the
// tenant or for a server.
func TestPolicyAsksForClientCapabilities(t *testing.T) {
	run(t, func(r *rig) {
		r.tenant.Require = map[string]string{"prompts/list": "roots", "logging/setLevel": "roots"}
		r.tenant.Servers[0].Require = map[string]string{
			"tools/call": "sampling", "resources/list": "roots",
		}
	}, func(r *rig) {
		without, with := r.ready(`{}`), r.ready(`{"roots":{},"sampling":{}}`)
		for method, params := range map[string]string{"prompts/list": `{}`,
			"tools/call": `{"name":"files__read"}`, "logging/setLevel": `{"level":"info"}`} {
			if out := without.ask(method, params); out.Word() != int64(-32004) {
				t.Errorf("%s without: %v", method, out.All())
			}
			if out := with.ask(method, params); out.Word() != "result" {
				t.Errorf("%s with: %v", method, out.All())
			}
		}
		for u, want := range map[*user]int{without: 0, with: 1} {
			list, _ := jsonedit.Get(u.ask("resources/list", "").Outcome().Result, "resources")
			if got := len(slices.Collect(jsonedit.Elements(list))); got != want {
				t.Errorf("%d resources, want %d", got, want)
			}
		}
	})
}

// Lists come in pages whose cursors are the host's own.
func TestCursorsAreChecked(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.ready(`{}`)
		for _, cursor := range []string{`""`, `5`, `"forged"`} {
			if out := u.ask("tools/list", `{"cursor":`+cursor+`}`); out.Word() != int64(-32602) {
				t.Errorf("cursor %s: %v", cursor, out.All())
			}
		}
		if out := u.askAs(jsonrpc.StringID("l"), "tools/list", ""); out.Word() != "result" ||
			out.Outcome().ID != jsonrpc.StringID("l") {
			t.Errorf("without: %v", out.All())
		}
	})
}
